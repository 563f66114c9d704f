package k8sadapter

import (
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
)

// Whoever writes an object says how much of it is wrong. The words about it go into one
// answer with everybody else's.
func TestWhatIsWrongWithAnObjectIsToldWithinBounds(t *testing.T) {
	nameless := func(path string) []byte {
		return []byte(`{"metadata":{"name":"x","namespace":"n","uid":"u"},"spec":{` + path + `[` + strings.TrimSuffix(strings.Repeat(`{"name":""},`, 50_000), ",") + `]}}`)
	}
	long := strings.Repeat("9", 300_000)
	for name, malformed := range map[string]string{
		"targets without a name":   DecodeBinding(nameless(`"clusters":`)).Malformed,
		"a number of many digits":  DecodeBinding([]byte(`{"metadata":{"name":"x","uid":"u"},"spec":{"replicas":` + long + `}}`)).Malformed,
		"a resource of long names": DecodeBinding([]byte(`{"metadata":{"name":"x","uid":"u"},"spec":{"resource":{"apiVersion":"v1","kind":"K","name":"` + long + `"}}}`)).Malformed,
		"taints that are none":     DecodeCluster([]byte(`{"metadata":{"name":"m","uid":"u"},"spec":{"taints":[` + long + `]}}`)).Malformed,
		"soft taints without key": DecodeCluster([]byte(`{"metadata":{"name":"m","uid":"u","annotations":{"` + karmada.AnnotationSoftTaints +
			`":"[` + strings.TrimSuffix(strings.Repeat(`{},`, 50_000), ",") + `]"}}}`)).SoftMalformed,
		"a rule's taints": DecodeRule([]byte(`{"metadata":{"name":"r","uid":"u"},"spec":{"taints":[{"key":"` + long + `","effect":"NoExecute"}]}}`)).Malformed,
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEmpty(t, malformed)
			require.LessOrEqual(t, len(malformed), reason.MaxConditionText)
		})
	}
}

// A member's own agent reports its capacity, and to reckon with such a number takes all
// time and memory that there is.
func TestAnAmountThatNobodyMeansIsNotReckonedWith(t *testing.T) {
	for _, immense := range []string{`"1e100000"`, `1E+100000`, `"0e2000000000"`, `"1234567890123456789012e-200000"`, `"` + strings.Repeat("9", 100) + `"`} {
		t.Run(immense, func(t *testing.T) {
			c := clusterWith(`{}`, `{"allocatable":{"cpu":`+immense+`}}`)
			require.Nil(t, c.Capacity, "its room is not known")
			require.Empty(t, c.Malformed)
			c = clusterWith(`{"resourceModels":[{"ranges":[{"name":"cpu","min":`+immense+`}]}]}`, `{"allocatableModelings":[{"count":1}]}`)
			require.True(t, c.Capacity.ModelsUnknown)
			b := DecodeBinding([]byte(`{"metadata":{"name":"b","namespace":"n","uid":"u"},"spec":{"resource":{"apiVersion":"v","kind":"K","name":"x"},
				"replicaRequirements":{"resourceRequest":{"cpu":` + immense + `}}}}`))
			require.Contains(t, b.Malformed, "is not a valid amount")
		})
	}
	c := clusterWith(`{}`, `{"allocatable":{"cpu":"4","memory":"16Gi","pods":110,"storage":"1e12","nvidia.com/gpu":"2E"}}`)
	require.Equal(t, "4", c.Capacity.Allocatable.Cpu().String())
	require.EqualValues(t, 110, c.Capacity.Allocatable.Pods().Value())
	require.Len(t, c.Capacity.Allocatable, 5)
}

// Whoever writes a binding's annotations names its policy. A name that none can have is
// asked for nowhere: the error would be that of everybody who is judged with it.
func TestAPolicyOfAnImpossibleNameDoesNotExist(t *testing.T) {
	for _, name := range []string{"../../nodes", "a/b", "..", "100%", strings.Repeat("x", 10_000)} {
		for _, annotations := range []map[string]string{
			{karmada.AnnotationPolicyNamespace: "shop", karmada.AnnotationPolicyName: name},
			{karmada.AnnotationPolicyNamespace: name, karmada.AnnotationPolicyName: "cart"},
			{karmada.AnnotationClusterPolicyName: name},
		} {
			_, found := policyOf(&karmada.Binding{Annotations: annotations})
			require.False(t, found, name[:min(20, len(name))])
		}
	}
	policy, found := policyOf(&karmada.Binding{Annotations: map[string]string{karmada.AnnotationPolicyNamespace: "shop", karmada.AnnotationPolicyName: "cart"}})
	require.True(t, found)
	require.Equal(t, "propagationpolicies shop/cart", policy.object())
}
