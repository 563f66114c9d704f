package karmada_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestReadyIsKarmadasWord(t *testing.T) {
	require.True(t, fixtures.Cluster("m1").Ready())
	require.False(t, fixtures.Cluster("m1", fixtures.NotReady).Ready())
	unknown := fixtures.Cluster("m1", func(c *karmada.Cluster) { c.Conditions[0].Status = corev1.ConditionUnknown })
	require.False(t, unknown.Ready())
}

// Rules: R4.8-15, R4.8-16.
func TestEffectivePurge_PreservedCopyIsKeptInsteadOfReleased(t *testing.T) {
	for mode, want := range map[karmada.PurgeMode]karmada.PurgeMode{
		"": karmada.PurgeNever, karmada.PurgeGracefully: karmada.PurgeNever, karmada.PurgeNever: karmada.PurgeNever,
		karmada.PurgeDirectly: karmada.PurgeDirectly, "Softly": "Softly",
	} {
		require.Equal(t, want, fixtures.With(fixtures.Duplicated("m1"), fixtures.Preserves).EffectivePurge(mode), mode)
		require.Equal(t, mode, fixtures.Duplicated("m1").EffectivePurge(mode), mode)
	}
}

// Rules: R4.12-5.
func TestDrainSelects_ReadsLabelsOfTheWorkload(t *testing.T) {
	front := map[string]string{"tier": "front"}
	id := map[string]string{"resourcebinding.karmada.io/permanent-id": "4"}
	for name, c := range map[string]struct {
		drain   *karmada.Drain
		binding karmada.Binding
		want    bool
	}{
		"no drain":                        {binding: karmada.Binding{}, want: true},
		"no selector":                     {drain: &karmada.Drain{}, binding: karmada.Binding{}, want: true},
		"a label of the workload":         {drain: &karmada.Drain{Selector: "tier in (front,back)"}, binding: karmada.Binding{WorkloadLabels: front}, want: true},
		"another value":                   {drain: &karmada.Drain{Selector: "tier=back"}, binding: karmada.Binding{WorkloadLabels: front}, want: false},
		"not this value":                  {drain: &karmada.Drain{Selector: "tier!=back"}, binding: karmada.Binding{WorkloadLabels: front}, want: true},
		"a label of the binding":          {drain: &karmada.Drain{Selector: "resourcebinding.karmada.io/permanent-id=4"}, binding: karmada.Binding{Labels: id, WorkloadLabels: front}, want: true},
		"the workload's label goes first": {drain: &karmada.Drain{Selector: "tier=back"}, binding: karmada.Binding{Labels: map[string]string{"tier": "back"}, WorkloadLabels: front}, want: false},
		"labels that are not known":       {drain: &karmada.Drain{Selector: "tier!=back"}, binding: karmada.Binding{Labels: front}, want: false},
		"a workload without labels":       {drain: &karmada.Drain{Selector: "tier!=back"}, binding: karmada.Binding{WorkloadLabels: map[string]string{}}, want: true},
		"a selector that cannot be read":  {drain: &karmada.Drain{Selector: "tier in ("}, binding: karmada.Binding{WorkloadLabels: front}, want: false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.drain.Selects(&c.binding)) })
	}
}

func TestATaintIsReadAsKubectlWritesIt(t *testing.T) {
	for text, want := range map[string]karmada.OrderedTaint{
		"maintenance:NoExecute":              {Key: "maintenance", Effect: "NoExecute"},
		"a.b/degraded=net:PreferNoExecute":   {Key: "a.b/degraded", Value: "net", Effect: "PreferNoExecute"},
		"maintenance":                        {},
		"maintenance:NoSchedule":             {},
		":NoExecute":                         {},
		"a b:NoExecute":                      {},
		"a=b c:NoExecute":                    {},
		karmada.DrainTaintKey + ":NoExecute": {},
	} {
		got, wrong := karmada.ParseTaint(text)
		if want.Key == "" {
			require.NotEmpty(t, wrong, text)
			continue
		}
		require.Empty(t, wrong, text)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
}

// Rules: R4.1-28, R4.2-2.
func TestLifeboatTaintIsOnlyWhatTheAnnotationLists(t *testing.T) {
	own, theirs := fixtures.NoExecute("own", fixtures.T0), fixtures.NoExecute("theirs", fixtures.T0)
	c := fixtures.Cluster("m1", fixtures.Tainted(own, theirs, fixtures.NoSchedule("own"), fixtures.SoftTaint("soft", fixtures.T0)), func(c *karmada.Cluster) {
		c.Added = []karmada.AddedTaint{{Key: "own", Effect: corev1.TaintEffectNoExecute}}
	})
	require.True(t, karmada.IsLifeboatTaint(c, own))
	require.False(t, karmada.IsLifeboatTaint(c, fixtures.NoSchedule("own")), "another effect is another taint")
	require.Equal(t, []corev1.Taint{theirs, fixtures.SoftTaint("soft", fixtures.T0)}, karmada.Foreign(c), "an operator's soft taint triggers like an operator's NoExecute")
	hard, soft := karmada.Triggering(c.Taints)
	require.Equal(t, []corev1.Taint{own, theirs}, hard)
	require.Equal(t, []corev1.Taint{fixtures.SoftTaint("soft", fixtures.T0)}, soft)
	require.Len(t, c.Taints, 4, "the cluster's own list is left alone")
}
