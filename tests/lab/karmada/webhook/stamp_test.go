package webhook

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

func admitRaw(t *testing.T, object string) string {
	operations, err := admitCluster(t.Context(), &admissionv1.AdmissionRequest{Object: runtime.RawExtension{Raw: []byte(object)}})
	require.NoError(t, err)
	text, err := json.Marshal(operations)
	require.NoError(t, err)
	return string(text)
}

func TestOnlyNoExecuteTaintsWithoutATimeAreStamped(t *testing.T) {
	got := admitRaw(t, `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"},{"key":"b","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"},{"key":"c","effect":"NoExecute"}]}}`)
	require.Regexp(t, `^\[\{"op":"replace","path":"/spec/taints","value":\[\{"effect":"NoSchedule","key":"a"\},\{"effect":"NoExecute","key":"b","timeAdded":"2026-01-01T00:00:00Z"\},\{"effect":"NoExecute","key":"c","timeAdded":"20\d\d-[^"]+Z"\}\]\}\]$`, got)
	require.Equal(t, "null", admitRaw(t, `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`))
}

func TestAZoneBecomesZones(t *testing.T) {
	require.JSONEq(t, `[{"op":"add","path":"/spec/zones","value":["z1"]},{"op":"add","path":"/spec/zone","value":""}]`, admitRaw(t, `{"spec":{"zone":"z1"}}`))
}

func TestABindingGetsItsIDAndWithAPlacementThatOfAPolicy(t *testing.T) {
	stamps := func(kind, object string) map[string]string {
		request := &admissionv1.AdmissionRequest{Object: runtime.RawExtension{Raw: []byte(object)}}
		request.Kind.Kind = kind
		operations, err := admitBinding(t.Context(), request)
		require.NoError(t, err)
		if operations == nil {
			return nil
		}
		require.Len(t, operations, 1)
		labels, is := operations[0].Value.(map[string]string)
		require.True(t, is)
		return labels
	}
	placed := stamps(api.KindResourceBinding, `{"metadata":{"labels":{"a":"b"}},"spec":{"placement":{}}}`)
	require.Len(t, placed, 3)
	require.NotEmpty(t, placed[api.LabelBindingID])
	require.Equal(t, "lab", placed[api.LabelPolicyID])
	require.Equal(t, "lab", stamps(api.KindClusterResourceBinding, `{"spec":{"placement":{}}}`)[api.LabelClusterPolicyID])
	require.Len(t, stamps(api.KindResourceBinding, `{"spec":{}}`), 1, "an attached binding follows its parents")
	require.Nil(t, stamps(api.KindResourceBinding, `{"metadata":{"labels":{"resourcebinding.karmada.io/permanent-id":"1","binding.karmada.io/managed-by":"x"}},"spec":{"placement":{}}}`))
}
