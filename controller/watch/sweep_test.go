package watch

import (
	"context"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// strewn is a Karmada in which things of Lifeboat's lie about. Read again a binding may be
// another: whoever was at work has just ended.
type strewn struct {
	activities.Reader
	clusters []karmada.Cluster
	bindings []karmada.Binding
	again    map[karmada.BindingKey]karmada.Binding
}

func (k strewn) Clusters(context.Context) ([]karmada.Cluster, error) { return k.clusters, nil }

// Bindings gives one binding to a page.
func (k strewn) Bindings(_ context.Context, page activities.Page) (activities.BindingPage, error) {
	at := len(page.Continue)
	out := activities.BindingPage{Bindings: k.bindings[at : at+1]}
	if at+1 < len(k.bindings) {
		out.Next = &activities.Page{Continue: page.Continue + "x"}
	}
	return out, nil
}

func (k strewn) Binding(_ context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	if b, changed := k.again[key]; changed {
		return b, nil
	}
	for _, b := range k.bindings {
		if b.Key == key {
			return b, nil
		}
	}
	return karmada.Binding{}, karmada.ErrGone
}

func holding(name string, tasks ...karmada.Task) karmada.Binding {
	return karmada.Binding{Key: karmada.BindingKey{Namespace: "shop", Name: name}, UID: "b", ResourceVersion: "1", Tasks: tasks}
}

// Rules: R4.9-55, R4.9-46, R4.9-49.
func TestASweepFindsWhatOfOursHasNoOwner(t *testing.T) {
	tainted := cluster("a", "1", corev1.ConditionTrue)
	tainted.Added = []karmada.AddedTaint{{Key: "down", Effect: corev1.TaintEffectNoExecute}}
	tainted.Drain, tainted.Ordered = &karmada.Drain{}, []karmada.OrderedTaint{{Key: "disks"}}
	owned := cluster("b", "1", corev1.ConditionTrue)
	owned.Stopped = &karmada.StoppedBy{}
	k := strewn{
		clusters: []karmada.Cluster{*tainted, *owned, *cluster("c", "1", corev1.ConditionFalse)},
		bindings: []karmada.Binding{
			holding("alone", task("b", "gone", karmada.TaskReason)),
			holding("both", task("a", "works", karmada.TaskReason), task("d", "", karmada.TaskReason)),
			holding("ended", task("a", "gone", karmada.TaskReason)),
			holding("kept", task("a", "gone", karmada.TaskReasonKept), task("b", "gone", karmada.TaskReasonNeedsOperator)),
			holding("others", karmada.Task{FromCluster: "a", Producer: "TaintManager", Message: "gone"}),
		},
		again: map[karmada.BindingKey]karmada.Binding{{Namespace: "shop", Name: "ended"}: holding("ended")},
	}
	run := runs{"works": true, "eu/cluster-failover/b": true}
	found, err := FindOrphans(t.Context(), k, run, "eu", "")
	require.NoError(t, err)
	require.Equal(t, 1, found.Owned)
	require.Equal(t, 2, found.Left)
	fact := func(name string) proof.BindingFact {
		return proof.BindingFact{Key: karmada.BindingKey{Namespace: "shop", Name: name}, UID: "b", ResourceVersion: "1"}
	}
	require.Equal(t, []Orphan{
		{Cluster: "a", OnCluster: []string{"taint down:NoExecute", "annotation " + karmada.AnnotationDrain, "annotation " + karmada.AnnotationOrderedTaints}},
		{Cluster: "b", Tasks: []OrphanTask{{Binding: fact("alone"), Owner: "gone"}}},
		{Cluster: "d", Tasks: []OrphanTask{{Binding: fact("both")}}},
	}, found.Orphans)

	one, err := FindOrphans(t.Context(), k, run, "eu", "d")
	require.NoError(t, err)
	require.Equal(t, []string{"d"}, []string{one.Orphans[0].Cluster})
	require.Len(t, one.Orphans, 1)
	require.Zero(t, one.Left+one.Owned)

	_, err = FindOrphans(t.Context(), k, runs(nil), "", "")
	require.ErrorContains(t, err, "no answer", "who cannot be asked is not taken for gone")
}

// letters is a Sender that keeps what it is given.
type letters struct{ adopts []workflows.Adopt }

func (*letters) Signal(context.Context, string, string, any) error { return ErrNotRunning }

func (l *letters) SignalWithStart(_ context.Context, _ Start, _ string, arg any) error {
	adopt, _ := arg.(workflows.Adopt)
	l.adopts = append(l.adopts, adopt)
	return nil
}

// Rules: R4.9-55.
func TestAnAdoptionByHandSaysWhoAndWhyAndKeepsSignalsSmall(t *testing.T) {
	by := workflows.Order{Who: "ada", Reason: "a drill"}
	for tasks, sizes := range map[int][]int{0: {0}, 1: {1}, 900: {400, 400, 100}} {
		l := &letters{}
		require.NoError(t, Adoption(t.Context(), l, "", Orphan{Cluster: "a", Tasks: make([]OrphanTask, tasks)}, by))
		var got []int
		for _, adopt := range l.adopts {
			require.Equal(t, by, adopt.By)
			require.Equal(t, "a", adopt.Cluster)
			got = append(got, len(adopt.Bindings))
		}
		require.Equal(t, sizes, got)
	}
}
