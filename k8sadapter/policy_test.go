package k8sadapter

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const (
	rulesPath    = "/apis/failover.lifeboat.dev/v1alpha1/clustertaintrules"
	policiesPath = "/apis/policy.karmada.io/v1alpha1/clustertaintpolicies"
	policySpec   = `{"targetClusters":{"clusterNames":["m1"]},
      "addOnConditions":[{"conditionType":"Ready","operator":"In","statusValues":["False"]}],
      "removeOnConditions":[{"conditionType":"Ready","operator":"In","statusValues":["True"]}],
      "taints":[{"key":"example.com/down","effect":"NoExecute"},{"key":"soft","value":"v","effect":"PreferNoExecute"}]}`
)

var configured = PolicyWindows{AddOnMatch: 7 * time.Minute, RemoveOnMismatch: time.Minute}

func policyJSON(annotations, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"policy.karmada.io/v1alpha1","kind":"ClusterTaintPolicy",
      "metadata":{"name":"p","uid":"u","resourceVersion":"1","generation":3,"annotations":{%s}},"spec":%s}`, annotations, spec)
}

// Rules: R4.1-10, R4.1-11.
func TestAClusterTaintPolicyIsReadAsARule(t *testing.T) {
	plain := DecodePolicy([]byte(policyJSON("", policySpec)), configured)
	require.Empty(t, plain.Malformed)
	assert.Equal(t, "ClusterTaintPolicy/p", plain.Name)
	assert.True(t, plain.Policy)
	assert.False(t, plain.RequireExternalProbe)
	assert.Equal(t, []string{"m1"}, plain.TargetClusters.ClusterNames)
	assert.Equal(t, []corev1.ConditionStatus{"True"}, plain.RemoveConditions[0].StatusValues)
	require.Len(t, plain.Taints, 2)
	for _, taint := range plain.Taints {
		assert.Equal(t, 7*time.Minute, taint.AddOnMatch, "the configured default")
		assert.Equal(t, time.Minute, taint.RemoveOnMismatch)
	}
	own := DecodePolicy([]byte(policyJSON(`"failover.lifeboat.dev/add-on-match-seconds":"0",
      "failover.lifeboat.dev/remove-on-mismatch-seconds":"30","failover.lifeboat.dev/require-external-probe":"true"`, policySpec)), configured)
	require.Empty(t, own.Malformed)
	assert.Zero(t, own.Taints[0].AddOnMatch)
	assert.Equal(t, 30*time.Second, own.Taints[1].RemoveOnMismatch)
	assert.True(t, own.RequireExternalProbe)

	for want, raw := range map[string]string{
		"add-on-match-seconds]: \"soon\" is no number":    policyJSON(`"failover.lifeboat.dev/add-on-match-seconds":"soon"`, policySpec),
		"remove-on-mismatch-seconds]: -1 is outside":      policyJSON(`"failover.lifeboat.dev/remove-on-mismatch-seconds":"-1"`, policySpec),
		"require-external-probe]: \"perhaps\" is neither": policyJSON(`"failover.lifeboat.dev/require-external-probe":"perhaps"`, policySpec),
		"priority":                            policyJSON("", `{"priority":1,"taints":[{"key":"a","effect":"NoExecute"}]}`),
		"spec: missing":                       policyJSON("", `null`),
		"addOnConditions[0]: operator \"Is\"": policyJSON("", `{"addOnConditions":[{"conditionType":"Ready","operator":"Is","statusValues":["True"]}],"taints":[{"key":"a","effect":"NoExecute"}]}`),
		"cluster.karmada.io/not-ready:NoSchedule belongs":   policyJSON("", `{"taints":[{"key":"cluster.karmada.io/not-ready","effect":"NoSchedule"}]}`),
		"effect \"PreferNoSchedule\" is none of NoSchedule": policyJSON("", `{"taints":[{"key":"a","effect":"PreferNoSchedule"}]}`),
	} {
		assert.Contains(t, DecodePolicy([]byte(raw), configured).Malformed, want)
	}
}

// Rules: R4.1-12.
func TestPoliciesAreReadWhereTheyAreHonouredAndKnown(t *testing.T) {
	rules := `{"items":[{"metadata":{"name":"r","uid":"u"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}]}`
	both := map[string]string{rulesPath: rules, policiesPath: `{"items":[` + policyJSON("", policySpec) + `]}`}
	read := func(objects map[string]string, windows *PolicyWindows) []string {
		all, err := connect(t, &apiServer{objects: objects}, Options{Policies: windows}).Rules(t.Context())
		require.NoError(t, err)
		var names []string
		for _, r := range all {
			names = append(names, r.Name)
		}
		return names
	}
	assert.Equal(t, []string{"r", "ClusterTaintPolicy/p"}, read(both, &configured))
	assert.Equal(t, []string{"r"}, read(both, nil), "the source is off")
	assert.Equal(t, []string{"r"}, read(map[string]string{rulesPath: rules}, &configured), "a Karmada that does not know the kind")
	_, err := connect(t, &apiServer{objects: map[string]string{policiesPath: both[policiesPath]}}, Options{Policies: &configured}).Rules(t.Context())
	require.ErrorIs(t, err, karmada.ErrGone, "Lifeboat's own definition must be there")
}
