package placement

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"sort"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"k8s.io/apimachinery/pkg/types"
)

// share is what a division gives one cluster.
type share struct {
	name     string
	weight   int64
	had      int32
	replicas int32
}

// assign foresees which of the selected clusters get how many replicas. What has no
// replicas to assign goes to all of them.
func (in scheduler) assign(selected []candidate, fresh bool) (targets []karmada.TargetCluster, why string) {
	b := in.Binding
	switch {
	case !b.Assigned():
		for _, c := range selected {
			targets = append(targets, karmada.TargetCluster{Name: c.Name})
		}
		return targets, ""
	case !b.Placement.Divided():
		for _, c := range selected {
			targets = append(targets, karmada.TargetCluster{Name: c.Name, Replicas: b.Replicas})
		}
		return dropEmpty(targets), ""
	case b.Placement.ByRoom():
		return in.assignByRoom(selected, fresh)
	}
	return in.divide(in.weighted(selected), b.Replicas), ""
}

func dropEmpty(targets []karmada.TargetCluster) []karmada.TargetCluster {
	return slices.DeleteFunc(targets, func(t karmada.TargetCluster) bool { return t.Replicas <= 0 })
}

// weighted are the shares under static weights: the highest weight of the entries
// that select a cluster counts, clusters without weight get nothing unless none has any.
func (in scheduler) weighted(selected []candidate) []share {
	var some, equal []share
	for _, c := range selected {
		s := share{name: c.Name, weight: in.staticWeight(*c.Cluster), had: in.had(c.Name)}
		if s.weight > 0 {
			some = append(some, s)
		}
		equal = append(equal, share{name: c.Name, weight: 1})
	}
	if len(some) == 0 {
		return equal
	}
	return some
}

func (in scheduler) staticWeight(c karmada.Cluster) int64 {
	var most int64
	for _, w := range in.Binding.Placement.StaticWeights() {
		// Unsupported has shown that every selector can be understood.
		if selected, err := w.TargetCluster.SelectsIn(in.Karmada, c); err == nil && selected {
			most = max(most, w.Weight)
		}
	}
	return most
}

// assignByRoom divides as Karmada's dynamic strategies do. What clusters have already
// they keep; what is missing goes by room. When there is too much, what they have is
// cut in proportion.
func (in scheduler) assignByRoom(selected []candidate, fresh bool) (targets []karmada.TargetCluster, why string) {
	kept := slices.DeleteFunc(in.survivors(), func(t karmada.TargetCluster) bool {
		return !slices.ContainsFunc(selected, func(c candidate) bool { return c.Name == t.Name })
	})
	missing := in.Binding.Replicas - karmada.SumOf(kept)
	switch {
	case fresh:
		return in.shareOut(in.byFree(selected, true), nil, in.Binding.Replicas)
	case missing > 0:
		return in.shareOut(in.byFree(selected, false), kept, missing)
	case missing < 0:
		var shares []share
		for _, t := range kept {
			shares = append(shares, share{name: t.Name, weight: int64(t.Replicas)})
		}
		return in.shareOut(shares, nil, in.Binding.Replicas)
	}
	return dropEmpty(kept), ""
}

// byFree weighs the selected clusters by room; a fresh division adds what they have.
func (in scheduler) byFree(selected []candidate, fresh bool) []share {
	shares := make([]share, 0, len(selected))
	for _, c := range selected {
		s := share{name: c.Name, weight: c.free}
		if fresh {
			s.weight = c.credit
		}
		shares = append(shares, s)
	}
	return shares
}

// shareOut gives replicas out by room on top of what clusters keep. Aggregated takes as
// few clusters as have the room together, those that keep replicas first.
func (in scheduler) shareOut(shares []share, kept []karmada.TargetCluster, replicas int32) (targets []karmada.TargetCluster, why string) {
	keeps := func(name string) bool {
		return slices.ContainsFunc(kept, func(t karmada.TargetCluster) bool { return t.Name == name && t.Replicas > 0 })
	}
	// The scheduler's own sort, for it leaves equals in an order of its own.
	sort.Slice(shares, func(i, j int) bool { return shares[i].weight > shares[j].weight })
	if weigh(shares) < int64(replicas) {
		return nil, fmt.Sprintf("together they have no room for %d replicas", in.Binding.Replicas)
	}
	if in.Binding.Placement.Aggregated() {
		slices.SortStableFunc(shares, func(a, b share) int { return first(keeps(a.name), keeps(b.name)) })
		shares = shares[:fewest(shares, int64(replicas))]
	}
	targets = in.divide(shares, replicas)
	for _, t := range kept {
		if at := slices.IndexFunc(targets, func(x karmada.TargetCluster) bool { return x.Name == t.Name }); at >= 0 {
			targets[at].Replicas += t.Replicas
		} else {
			targets = append(targets, t)
		}
	}
	return dropEmpty(targets), ""
}

// first orders what holds before what does not.
func first(a, b bool) int {
	rank := map[bool]int{true: 0, false: 1}
	return cmp.Compare(rank[a], rank[b])
}

// weigh sums the weights of shares.
func weigh(shares []share) (sum int64) {
	for _, s := range shares {
		sum += s.weight
	}
	return sum
}

// fewest counts the shares from the front that together have the room.
func fewest(shares []share, want int64) int {
	var room int64
	for i, s := range shares {
		if room += s.weight; room >= want {
			return i + 1
		}
	}
	return len(shares)
}

// divide gives replicas out by weight, and drops clusters that get none.
func (in scheduler) divide(shares []share, replicas int32) []karmada.TargetCluster {
	shares = slices.Clone(shares)
	if in.Karmada.Before(karmada.DividesByWebster) {
		in.divideByFractions(shares, replicas)
	} else {
		divideByWebster(shares, replicas, namesDescend(in.Binding.Resource.UID))
	}
	var targets []karmada.TargetCluster
	for _, s := range shares {
		targets = append(targets, karmada.TargetCluster{Name: s.name, Replicas: s.replicas})
	}
	return dropEmpty(targets)
}

// namesDescend reports in which order of names ties are broken: by the uid of the
// resource, so that it is the same each time and differs from resource to resource.
func namesDescend(uid types.UID) bool {
	if uid == "" {
		return false
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(uid))
	return hash.Sum32()%2 == 1
}

// divideByWebster gives each replica to the cluster with the largest weight/(2n+1),
// n being what it has been given. Of equals the one with fewer replicas comes first,
// then the order of names decides.
func divideByWebster(shares []share, replicas int32, descend bool) {
	left := int64(replicas) - begin(shares, int64(replicas))
	before := func(a, b share) bool {
		pa, pb := float64(a.weight)/float64(2*int64(a.replicas)+1), float64(b.weight)/float64(2*int64(b.replicas)+1)
		switch {
		case pa != pb:
			return pa > pb
		case a.replicas != b.replicas:
			return a.replicas < b.replicas
		}
		return (a.name > b.name) == descend
	}
	for ; left > 0 && len(shares) > 0; left-- {
		next := 0
		for i := range shares[1:] {
			if before(shares[i+1], shares[next]) {
				next = i + 1
			}
		}
		shares[next].replicas++
	}
}

// begin gives every cluster at once what it is sure of, so that a division takes as
// long as there are clusters and not replicas. No cluster ends more than half of their
// number below its proportion.
func begin(shares []share, replicas int64) (given int64) {
	sum := weigh(shares)
	sure := replicas - int64(len(shares))
	if sum <= 0 || sure <= 0 {
		return 0
	}
	for i, s := range shares {
		part := max(0, int64(float64(s.weight)/float64(sum)*float64(sure))-2)
		shares[i].replicas = int32(part) //nolint:gosec // no more than replicas
		given += part
	}
	return given
}

// divideByFractions is Karmada's division before 1.16: fractions are cut, and what is
// left goes one each to the heaviest, of equals to those that have most. The order
// among the rest is chance there: clusters that are no target come first.
func (in scheduler) divideByFractions(shares []share, replicas int32) {
	slices.SortFunc(shares, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.had, a.had),
			first(in.unfit(a.name), in.unfit(b.name)), strings.Compare(a.name, b.name))
	})
	sum := weigh(shares)
	if sum == 0 {
		return
	}
	left := int64(replicas)
	for i := range shares {
		part := shares[i].weight * int64(replicas) / sum
		shares[i].replicas = int32(part) //nolint:gosec // no more than replicas
		left -= part
	}
	for i := 0; left > 0 && i < len(shares); i++ {
		shares[i].replicas++
		left--
	}
}

// unfit reports whether a cluster of the fleet is no target.
func (in PreCheckInput) unfit(name string) bool {
	at := slices.IndexFunc(in.Fleet, func(c karmada.Cluster) bool { return c.Name == name })
	return at < 0 || in.Distrusted(in.Fleet[at]) != ""
}
