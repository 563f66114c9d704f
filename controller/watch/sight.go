package watch

import (
	"encoding/json"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// clusterPrint is what the workflows react to of a cluster, as a text to compare.
// Heartbeats and capacity are not in it: they change all the time.
func clusterPrint(c karmada.Cluster) string {
	return encode(struct {
		UID        types.UID
		Deleting   bool
		Conditions []rules.FactCondition
		Taints     []corev1.Taint
		Added      []karmada.AddedTaint
		Stopped    *karmada.StoppedBy
		Drain      *karmada.Drain
		Ordered    []karmada.OrderedTaint
		Enabled    string
		Labels     map[string]string
		Place      []string
		Malformed  []string
	}{
		c.UID, c.Deleting, rules.FactOf(c).Conditions, c.Taints, c.Added, c.Stopped, c.Drain, c.Ordered,
		c.Annotations[karmada.AnnotationEnabled], c.Labels, append([]string{c.Provider, c.Region}, c.Zones...),
		[]string{c.Malformed, c.SoftMalformed},
	})
}

// bindingPrint is what of a binding its cluster's queue reacts to. Scheduling and
// health are not in it: they are for the owner of its hold task.
func bindingPrint(b *karmada.Binding) string {
	return encode(struct {
		UID        types.UID
		Generation int64
		Deleting   bool
		Enabled    string
		Purge      string
	}{
		b.UID, b.Generation, b.Deleting,
		b.Annotations[karmada.AnnotationEnabled], b.Annotations[karmada.AnnotationPurgeMode],
	})
}

func encode(v any) string {
	encoded, err := json.Marshal(v)
	if err != nil {
		return "" // not of these types
	}
	return string(encoded)
}

// hold is a Lifeboat hold task.
type hold struct {
	cluster string
	owner   string
	// free tasks were kept or left to an operator: no workflow owns them.
	free bool
	// parent: it holds a dependent, or bans its cluster; its changes are nothing to it.
	parent bool
	// news is what its owner reacts to, as a text to compare.
	news string
}

// sight is what the router reads of a binding.
type sight struct {
	fact    proof.BindingFact
	print   string
	targets []string
	holds   []hold
	// evicted are the clusters for which a task of Karmada's own taint manager stands.
	evicted []string
}

// worked are the holds that a workflow should work on.
func (s sight) worked() []hold {
	return slices.DeleteFunc(slices.Clone(s.holds), func(h hold) bool { return h.free })
}

// workedFor reports whether a migration should be moving it off a cluster.
func (s sight) workedFor(cluster string) bool {
	return slices.ContainsFunc(s.holds, func(h hold) bool { return h.cluster == cluster && !h.free && !h.parent })
}

// isNews reports whether the owner of a hold reacts to how it stands now. A version that is the
// first one with the hold was written by the owner itself.
func (s sight) isNews(h hold) bool {
	at := slices.IndexFunc(s.holds, func(was hold) bool { return was.owner == h.owner && was.cluster == h.cluster })
	return at >= 0 && s.holds[at].news != h.news
}

func sightOf(b *karmada.Binding) sight {
	s := sight{
		fact:  proof.BindingFact{Key: b.Key, UID: b.UID, ResourceVersion: b.ResourceVersion},
		print: bindingPrint(b),
	}
	for _, target := range b.Clusters {
		s.targets = append(s.targets, target.Name)
	}
	for _, task := range b.Tasks {
		if task.Producer == karmada.TaintManager {
			s.evicted = append(s.evicted, task.FromCluster)
		}
		if task.Ours() {
			free := task.LeftForGood()
			if owner := task.Owner(); owner != "" || !task.ForDependent() {
				s.holds = append(s.holds, hold{
					cluster: task.FromCluster, owner: owner, free: free, parent: task.Bans(), news: encode(proof.NewsOf(b, task.FromCluster)),
				})
			}
			for _, holder := range task.Others() {
				s.holds = append(s.holds, hold{cluster: task.FromCluster, owner: holder, free: free, parent: true})
			}
		}
	}
	return s
}
