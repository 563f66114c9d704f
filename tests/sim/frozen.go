package sim

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
	corev1 "k8s.io/api/core/v1"
)

// policyEdits are what step edit-policy makes of a binding's own policy, by its number. What
// a binding says of soft taints is edited only where it says something.
var policyEdits = []func(*karmada.Binding){
	tolerates(nil),
	tolerates(forSeconds(0)),
	tolerates(forSeconds(30)),
	tolerates(forSeconds(120)),
	tolerates(forSeconds(600)),
	tolerates(&corev1.Toleration{Operator: corev1.TolerationOpExists}),
	annotates(karmada.AnnotationPurgeMode, ""),
	annotates(karmada.AnnotationPurgeMode, string(karmada.PurgeGracefully)),
	annotates(karmada.AnnotationPurgeMode, string(karmada.PurgeDirectly)),
	annotates(karmada.AnnotationPurgeMode, string(karmada.PurgeNever)),
	func(b *karmada.Binding) { b.Priority += 5 },
	func(b *karmada.Binding) { b.Priority = max(0, b.Priority-5) },
	softens("0"),
	softens("600"),
}

func forSeconds(n int64) *corev1.Toleration {
	return &corev1.Toleration{Key: taintKey, Operator: corev1.TolerationOpExists, TolerationSeconds: &n}
}

func tolerates(t *corev1.Toleration) func(*karmada.Binding) {
	return func(b *karmada.Binding) {
		placement := *b.Placement
		if placement.ClusterTolerations = nil; t != nil {
			placement.ClusterTolerations = []corev1.Toleration{*t}
		}
		b.Placement = &placement
	}
}

func annotates(name, value string) func(*karmada.Binding) {
	return func(b *karmada.Binding) {
		b.Annotations = maps.Clone(b.Annotations)
		if b.Annotations == nil {
			b.Annotations = map[string]string{}
		}
		if b.Annotations[name] = value; value == "" {
			delete(b.Annotations, name)
		}
	}
}

func softens(seconds string) func(*karmada.Binding) {
	return func(b *karmada.Binding) {
		if b.Annotations[karmada.AnnotationTolerationSeconds] != "" {
			annotates(karmada.AnnotationTolerationSeconds, seconds)(b)
		}
	}
}

// editPolicy changes what a binding's author says of how it is moved: an attempt that has begun
// goes by what was said before.
func (s *sim) editPolicy(_ workflow.Context, x Step) {
	s.world.Edit(Binding{Name: x.Binding}.key(), func(b *karmada.Binding) {
		if b.Placement != nil {
			policyEdits[x.N%len(policyEdits)](b)
		}
	})
}

// frozen is what an attempt keeps of a binding's policy.
type frozen struct {
	tolerations []corev1.Toleration
	purge       karmada.PurgeMode
	softly      bool
	soft        string
	// until is when the attempt ended; zero while it lasts.
	until time.Time
}

func freezes(b *karmada.Binding) frozen {
	f := frozen{softly: b.HasClusterFailover, soft: b.Annotations[karmada.AnnotationTolerationSeconds], purge: b.PurgeMode}
	if own := b.Annotations[karmada.AnnotationPurgeMode]; own != "" {
		f.purge = karmada.PurgeMode(own)
	}
	if f.purge == "" {
		f.purge = karmada.PurgeGracefully
	}
	if b.Placement != nil {
		f.tolerations = b.Placement.ClusterTolerations
	}
	return f
}

// reads notes what an activity is given that says who is on a cluster: what a failover has
// heard of that is what its attempt freezes.
func (j *judge) reads(a *attempt, all []karmada.Binding) {
	if a != nil && (a.name == activities.NameListTargeting || a.name == activities.NameFindOrphans) {
		j.listing[a.id] = all
	}
}

// listed: a failover has heard who is on its cluster, or which holds there have no owner. Whom it did not know of, or who was not
// its concern meanwhile, is frozen as it was when that was read.
func (j *judge) listed(id, name string) {
	if name != activities.NameListTargeting && name != activities.NameFindOrphans {
		return
	}
	for n := range j.s.schedule.Fleet {
		if cluster := clusterName(n); id == workflows.ClusterFailoverID("", cluster) {
			j.freeze(cluster, j.listing[id], name == activities.NameFindOrphans)
		}
	}
}

func (j *judge) freeze(cluster string, all []karmada.Binding, orphans bool) {
	for n := range all {
		b := &all[n]
		if b.Placement == nil || !orphans && !targets(b, cluster) || orphans && held(b, cluster) == nil {
			continue
		}
		of := id(cluster, b)
		lasts := slices.ContainsFunc(j.froze[of], func(f frozen) bool { return f.until.IsZero() })
		if lasts && !j.anew[of] {
			continue
		}
		j.froze[of] = append(j.froze[of], freezes(b))
		delete(j.anew, of)
		j.concerns(cluster, b)
	}
}

// concerns notes that a binding is none of a failover's concern now: when it is once more, it
// is frozen anew.
func (j *judge) concerns(cluster string, b *karmada.Binding) {
	of := id(cluster, b)
	if len(j.froze[of]) > 0 && (!targets(b, cluster) || b.Malformed != "" || b.Annotations[karmada.AnnotationEnabled] != "") {
		j.anew[of] = true
	}
}

// thaws: the attempt of a cluster has ended, and the next freezes everything anew.
func (j *judge) thaws(cluster string) {
	for of, list := range j.froze {
		for n := range list {
			if strings.HasPrefix(of, cluster+" ") && list[n].until.IsZero() {
				list[n].until = j.s.now()
			}
		}
	}
}

// outlived: whoever a terminated failover has sent out goes on by what that one had frozen.
func (j *judge) outlived(cluster string) {
	for of := range j.froze {
		if strings.HasPrefix(of, cluster+" ") {
			j.anew[of] = true
		}
	}
}

// thawsWith: the evacuation taint stands for as long as an attempt has whom to move, unless an operator
// stops it.
func (j *judge) thawsWith(cluster string, before, after karmada.Cluster) {
	if carries(before, karmada.EvacuatingTaintKey) && !carries(after, karmada.EvacuatingTaintKey) && before.Stopped == nil && after.Stopped == nil {
		j.thaws(cluster)
	}
}

// kept are the policies that the writer of the write at hand may go by.
func (j *judge) kept(cluster string, b *karmada.Binding) []frozen {
	var out []frozen
	for _, f := range j.froze[id(cluster, b)] {
		if f.until.IsZero() || !f.until.Before(j.readAt) {
			out = append(out, f)
		}
	}
	if e := j.evicted[id(cluster, b)]; e != nil && held(b, cluster) != nil {
		out = append(out, e.kept...) // what is taken out again is moved by its own migration
	}
	if len(out) == 0 {
		return []frozen{freezes(b)} // nothing is known of it, and nothing has been edited
	}
	return out
}

// purgedAs judges that an eviction goes by the purge mode that was frozen.
func (j *judge) purgedAs(w world.Write, before, after *karmada.Binding) karmada.PurgeMode {
	task := held(after, w.Cluster)
	if task == nil {
		return freezes(before).purge
	}
	if j.applications.writes {
		return j.applications.purges(w, before, task)
	}
	kept := j.kept(w.Cluster, before)
	if !slices.ContainsFunc(kept, func(f frozen) bool { return f.purge == task.PurgeMode }) {
		j.violates("4.3: %s is evicted %s from %s, and its attempt goes by %s", w.Binding, task.PurgeMode, w.Cluster, kept[0].purge)
	}
	now := freezes(before)
	if !slices.ContainsFunc(kept, now.same) {
		j.s.count["evicted by a policy that was edited since"]++
	}
	return task.PurgeMode
}

func (f frozen) same(x frozen) bool {
	x.until, f.until = time.Time{}, time.Time{}
	return reflect.DeepEqual(f, x)
}

// moves tells whether a taint moves what goes by a policy, by when it was put.
func (f frozen) moves(t corev1.Taint, now time.Time) bool {
	for _, x := range f.tolerations {
		if x.Key == "" {
			return false // stoic
		}
		if x.Key == t.Key && x.TolerationSeconds != nil {
			return !now.Before(t.TimeAdded.Add(time.Duration(*x.TolerationSeconds) * time.Second))
		}
	}
	return true
}

// movesSoftly: a soft taint moves what asks for it, once its own time has run out.
func (f frozen) movesSoftly(t corev1.Taint, now time.Time) bool {
	seconds := 300
	if own, err := strconv.Atoi(f.soft); err == nil {
		seconds = own
	}
	return f.softly && !now.Before(t.TimeAdded.Add(time.Duration(seconds)*time.Second))
}
