package ledger

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/members"
)

// Journal keeps what was seen, in order of arrival. Its methods may be called at the same time.
type Journal struct {
	mu       sync.Mutex
	bindings map[string]*bindingState // by api.Binding.Ref
	works    map[string]*api.Work     // by workKey
	clusters map[string]*api.Cluster
	members  map[string]memberState
	// ran are the uids of Works whose copy has run.
	ran map[string]bool
	// optedOut are namespaces whose bindings are never moved.
	optedOut map[string]bool
	// ruled are taints that a rule or an annotation of Lifeboat's named, as "key:effect", by cluster;
	// those of rules are under "".
	ruled map[string]map[string]bool

	failures []*Failure
	moves    []*Move
	gaps     []*Gap
	bare     []Bare
	timeline []Entry
	changed  chan struct{}
}

type bindingState struct {
	*api.Binding
	// established: a copy of it has run.
	established bool
	gap         *Gap
}

type memberState struct {
	alive  bool
	since  time.Time                   // of the last change of alive
	copies map[string]members.Workload // by uid of their Work
}

// NewJournal is empty.
func NewJournal() *Journal {
	return &Journal{
		bindings: map[string]*bindingState{}, works: map[string]*api.Work{}, clusters: map[string]*api.Cluster{},
		members: map[string]memberState{}, ran: map[string]bool{}, optedOut: map[string]bool{},
		ruled: map[string]map[string]bool{}, changed: make(chan struct{}),
	}
}

func workKey(ref, cluster string) string { return ref + "@" + cluster }

// nameOf is how a report names a binding: "<namespace>/<name>", "-/<name>" without a namespace.
func nameOf(b *api.Binding) string {
	if b.Kind == api.KindClusterResourceBinding {
		return "-/" + b.Name
	}
	return b.Namespace + "/" + b.Name
}

// note appends to the timeline and wakes who waits for it.
func (j *Journal) note(e Entry) {
	e.Seq = len(j.timeline) + 1
	j.timeline = append(j.timeline, e)
	close(j.changed)
	j.changed = make(chan struct{})
}

// Timeline is every entry after a sequence number, and a channel that closes with the next one.
func (j *Journal) Timeline(after int) ([]Entry, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.timeline[min(max(after, 0), len(j.timeline)):]), j.changed
}

// SeeWork takes a Work as it stands; gone says that it was deleted.
func (j *Journal) SeeWork(at time.Time, w *api.Work, gone bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	ref := w.BindingRef()
	if ref == "" {
		return
	}
	key := workKey(ref, w.Cluster())
	old := j.works[key]
	switch {
	case gone && old != nil && old.UID == w.UID:
		delete(j.works, key)
		j.purged(at, ref, w)
	case !gone:
		j.works[key] = w
	}
	j.cover(at, ref)
}

// purged tells of an old Work's end, where a move was after it.
func (j *Journal) purged(at time.Time, ref string, w *api.Work) {
	for _, m := range j.moves {
		if m.OldWork == string(w.UID) && m.Cluster == w.Cluster() && m.End == EndReleased {
			j.note(Entry{At: at, Kind: Purged, Cluster: m.Cluster, Binding: m.Binding, Text: "the old copy's Work is gone"})
			return
		}
	}
}

// SeeNamespace takes whether a namespace opts its bindings out.
func (j *Journal) SeeNamespace(name string, annotations map[string]string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.optedOut[name] = annotations[annotationEnabled] == "false"
}

// SeeRuleTaints takes the taints that Lifeboat's rules ask for, as "key:effect". They are never forgotten.
func (j *Journal) SeeRuleTaints(taints []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rule("", taints)
}

func (j *Journal) rule(cluster string, taints []string) {
	if j.ruled[cluster] == nil {
		j.ruled[cluster] = map[string]bool{}
	}
	for _, taint := range taints {
		j.ruled[cluster][taint] = true
	}
}

// SeeMembers takes the members as they really are.
func (j *Journal) SeeMembers(at time.Time, statuses []karmada.MemberStatus) {
	j.mu.Lock()
	defer j.mu.Unlock()
	seen := map[string]bool{}
	for _, s := range statuses {
		seen[s.Name] = true
		j.seeMember(at, s)
	}
	for name := range j.members {
		if !seen[name] {
			delete(j.members, name)
		}
	}
	for ref := range j.bindings {
		j.cover(at, ref)
	}
}

func (j *Journal) seeMember(at time.Time, s karmada.MemberStatus) {
	old, known := j.members[s.Name]
	now := memberState{alive: s.Alive, since: old.since, copies: make(map[string]members.Workload, len(s.Workloads))}
	if known && old.alive != s.Alive {
		now.since = at
		if s.Alive {
			j.note(Entry{At: at, Kind: MemberRevived, Cluster: s.Name, Text: "answers again"})
		} else {
			j.note(Entry{At: at, Kind: MemberKilled, Cluster: s.Name, Text: "stopped answering"})
		}
	}
	for _, c := range s.Workloads {
		now.copies[c.WorkUID] = c
		if s.Alive && runs(c) {
			j.ran[c.WorkUID] = true
			if before, was := old.copies[c.WorkUID]; known && c.Running && (!was || !before.Running) {
				j.noteRunning(at, s.Name, c)
			}
		}
	}
	j.members[s.Name] = now
}

// runs: at least one replica is ready; for kinds without replicas, the copy exists.
func runs(c members.Workload) bool { return c.ReadyReplicas > 0 || c.Running }

func (j *Journal) noteRunning(at time.Time, cluster string, c members.Workload) {
	for _, m := range j.moves {
		if m.End != Standing || m.Cluster == cluster {
			continue
		}
		for ref, b := range j.bindings {
			w := j.works[workKey(ref, cluster)]
			if nameOf(b.Binding) == m.Binding && w != nil && string(w.UID) == c.WorkUID {
				text := "runs on " + cluster
				if c.Replicas > 0 {
					text += fmt.Sprintf(" (%d of %d ready)", c.ReadyReplicas, c.Replicas)
				}
				j.note(Entry{At: at, Kind: Running, Cluster: m.Cluster, Binding: m.Binding, Text: text})
				return
			}
		}
	}
}

// Lifeboat's are the clusters that a hold task of Lifeboat's holds, with the task's reason.
func holdsOf(b *api.Binding) map[string]string {
	held := map[string]string{}
	if b == nil {
		return held
	}
	for _, raw := range b.RawTasks {
		task, _ := raw.(map[string]any)
		if task["producer"] == producer {
			cluster, _ := task["fromCluster"].(string)
			held[cluster], _ = task["reason"].(string)
		}
	}
	return held
}

func targets(b *api.Binding) []string {
	var names []string
	if b != nil {
		for _, t := range b.Spec.Clusters {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}

func taintName(t corev1.Taint) string { return t.Key + ":" + string(t.Effect) }

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
