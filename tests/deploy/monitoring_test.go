package deploy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

func read(t *testing.T, name string) []byte {
	content, err := os.ReadFile(filepath.Join(folder, "monitoring", name))
	require.NoError(t, err)
	return content
}

// The alerts that are deployed are those that deploy/monitoring tests, their templates
// untouched; nothing of it is there unless it is asked for.
func TestTheChartBringsTheAlertsAsTheyAre(t *testing.T) {
	all := rendered(t, `
monitoring:
  podMonitor: {enabled: true}
  alerts: {enabled: true, labels: {release: prometheus}}
  dashboard: {enabled: true}`)
	rule := all["PrometheusRule/lifeboat"]
	require.NotNil(t, rule)
	require.Equal(t, "prometheus", rule.GetLabels()["release"])
	want := map[string]any{}
	require.NoError(t, yaml.Unmarshal(read(t, "alerts.yaml"), &want))
	require.NotEmpty(t, want["groups"])
	require.Equal(t, want, rule.Object["spec"])
	dashboard := typed[corev1.ConfigMap](t, all, "ConfigMap/lifeboat-dashboard")
	require.JSONEq(t, string(read(t, "dashboard.json")), dashboard.Data["lifeboat.json"])
	require.Equal(t, "1", dashboard.Labels["grafana_dashboard"])
	plain := rendered(t, "")
	for _, name := range []string{"PrometheusRule/lifeboat", "PodMonitor/lifeboat", "ConfigMap/lifeboat-dashboard"} {
		require.Contains(t, all, name)
		require.NotContains(t, plain, name)
	}
}

// What is scraped is a port that the pods have, of both programs.
func TestBothProgramsAreScraped(t *testing.T) {
	all := rendered(t, "monitoring: {podMonitor: {enabled: true}}")
	monitor := all["PodMonitor/lifeboat"].Object
	chosen, _, err := unstructured.NestedStringMap(monitor, "spec", "selector", "matchLabels")
	require.NoError(t, err)
	endpoints, _, err := unstructured.NestedSlice(monitor, "spec", "podMetricsEndpoints")
	require.NoError(t, err)
	require.Len(t, endpoints, 1)
	for _, program := range []string{"controller", "worker"} {
		p := podOf(t, all, program)
		require.True(t, labels.SelectorFromSet(chosen).Matches(labels.Set(p.Spec.Template.Labels)))
		require.Equal(t, p.container.Ports[0].Name, endpoints[0].(map[string]any)["port"])
	}
}

// With a certificate everything that asks a pod asks by TLS.
func TestProbesAndScrapesFollowTheCertificate(t *testing.T) {
	all := rendered(t, `
config: {listen: {address: ":9090", tlsCertFile: /tls/tls.crt, tlsKeyFile: /tls/tls.key, tlsClientCaFile: /tls/ca.crt}}
monitoring: {podMonitor: {enabled: true, tlsConfig: {serverName: lifeboat}}}`)
	endpoints, _, err := unstructured.NestedSlice(all["PodMonitor/lifeboat"].Object, "spec", "podMetricsEndpoints")
	require.NoError(t, err)
	require.Equal(t, "https", endpoints[0].(map[string]any)["scheme"])
	require.Equal(t, map[string]any{"serverName": "lifeboat"}, endpoints[0].(map[string]any)["tlsConfig"])
	for _, program := range []string{"controller", "worker"} {
		c := podOf(t, all, program).container
		for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			require.Equal(t, corev1.URISchemeHTTPS, probe.HTTPGet.Scheme)
		}
	}
}
