package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Headroom derives reservations from the bindings of the fleet, one by one: those that a migration of
// their own works on. What was kept or left to an operator reserves nothing.
type Headroom struct {
	holders []holder
	of      map[karmada.BindingKey]bool
	// all are the reservations of the first holders; those that came since are added to it.
	all   summed
	taken int
}

// holder is what one binding on its way still lacks.
type holder struct {
	key     karmada.BindingKey
	placed  map[string]corev1.ResourceList
	missing corev1.ResourceList
	// waiting is the binding itself while something is missing; left is the cluster that it has left.
	waiting *karmada.Binding
	left    string
	// may are its candidates, once they were computed.
	may   []string
	asked bool
}

// NewHeadroom begins with nothing reserved.
func NewHeadroom() *Headroom { return &Headroom{of: map[karmada.BindingKey]bool{}, all: newSummed()} }

// Add takes one binding into account.
func (h *Headroom) Add(b *karmada.Binding) {
	held := slices.IndexFunc(b.Tasks, karmada.Task.OnItsWay)
	if held < 0 || b.Malformed != "" || b.Deleting || b.Placement == nil {
		return
	}
	own := holder{key: b.Key, placed: map[string]corev1.ResourceList{}}
	for _, t := range b.Clusters {
		if need := b.Lacks(t); need != nil {
			own.placed[t.Name] = need
		}
	}
	if own.missing = b.Missing(); own.missing != nil {
		own.waiting, own.left = b, b.Tasks[held].FromCluster
	}
	if len(own.placed) > 0 || own.waiting != nil {
		h.holders, h.of[own.key] = append(h.holders, own), true
	}
}

// For are the reservations in a fleet as one binding sees them: its own are none to
// it. The fleet is the same each time, and the answer good until the next Add. Without
// a headroom nothing is reserved.
func (h *Headroom) For(key karmada.BindingKey, fleet []karmada.Cluster) Reservations {
	if h == nil {
		return newSummed().Reservations
	}
	if !h.of[key] {
		for ; h.taken < len(h.holders); h.taken++ {
			h.all.add(&h.holders[h.taken], fleet)
		}
		return h.all.Reservations
	}
	others := newSummed()
	for i := range h.holders {
		if h.holders[i].key != key {
			others.add(&h.holders[i], fleet)
		}
	}
	return others.Reservations
}

// summed are the reservations of some holders, and where those of each set of
// candidates stand.
type summed struct {
	Reservations
	together map[string]int
}

func newSummed() summed {
	return summed{Reservations: Reservations{Placed: map[string]corev1.ResourceList{}}, together: map[string]int{}}
}

func (s *summed) add(own *holder, fleet []karmada.Cluster) {
	for cluster, need := range own.placed {
		if s.Placed[cluster] == nil {
			s.Placed[cluster] = corev1.ResourceList{}
		}
		karmada.Plus(s.Placed[cluster], need)
	}
	candidates := own.candidates(fleet)
	if len(candidates) == 0 {
		return
	}
	id := strings.Join(candidates, "\n")
	at, found := s.together[id]
	if !found {
		at = len(s.Unplaced)
		s.together[id] = at
		s.Unplaced = append(s.Unplaced, Unplaced{Candidates: candidates, Need: corev1.ResourceList{}})
	}
	karmada.Plus(s.Unplaced[at].Need, own.missing)
}

// candidates are the clusters that a binding without a place may still go to, sorted.
func (own *holder) candidates(fleet []karmada.Cluster) []string {
	if own.waiting == nil || own.asked {
		return own.may
	}
	in := PreCheckInput{Binding: own.waiting, Failing: own.left, Fleet: fleet}
	names := sets.New[string]()
	for _, g := range in.groups() {
		names.Insert(karmada.ClusterNames(in.trusted(in.SeenByScheduler(g)))...)
	}
	own.may, own.asked = sets.List(names), true
	return own.may
}

// pooled checks whether the candidates have room for this binding and for every
// unplaced one that could come to them, all of it together.
func (in PreCheckInput) pooled(v reason.Verdict, candidates []karmada.Cluster) reason.Verdict {
	own := sets.New(karmada.ClusterNames(candidates)...)
	pool, shared := own.Clone(), false
	need := in.Binding.Outstanding(in.survivors())
	for _, u := range in.Reserved.Unplaced {
		if own.HasAny(u.Candidates...) {
			shared = true
			pool.Insert(u.Candidates...)
			karmada.Plus(need, u.Need)
		}
	}
	if !shared {
		return v
	}
	if name := in.short(pool, need); name != "" {
		return reason.Verdict{Reason: reason.NoCapacity, Candidates: sets.List(pool), Message: fmt.Sprintf(
			"%s have not enough %s for it and for what waits for a place", reason.List(sets.List(pool)), name)}
	}
	return v
}

// short names a resource that some clusters together have not enough of. What is not
// known counts as nothing, or as plenty where the config says so.
func (in PreCheckInput) short(pool sets.Set[string], need corev1.ResourceList) corev1.ResourceName {
	left := corev1.ResourceList{}
	for _, c := range in.Fleet {
		if !pool.Has(c.Name) {
			continue
		}
		if !sized(c.Capacity, need) {
			if in.RoomUnknownOK {
				return ""
			}
			continue
		}
		for name := range need {
			if free := free(c.Capacity, name, in.Reserved.promised(c.Name)); free.Sign() > 0 {
				karmada.Plus(left, corev1.ResourceList{name: *free})
			}
		}
	}
	for _, name := range karmada.Asked(need) {
		have, want := left[name], need[name]
		if have.Cmp(want) < 0 {
			return name
		}
	}
	return ""
}

// Outstanding is what a binding needs once a cluster is out of it.
func Outstanding(b *karmada.Binding, cluster string) corev1.ResourceList {
	in := PreCheckInput{Binding: b, Failing: cluster}
	if b.Placement == nil {
		return nil
	}
	return b.Outstanding(in.survivors())
}
