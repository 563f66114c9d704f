package webhook

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
