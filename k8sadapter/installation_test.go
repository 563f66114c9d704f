package k8sadapter

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
)

// Rules: R4.15-16.
func TestWhatIsNotServedIsNamed(t *testing.T) {
	server := &apiServer{objects: map[string]string{
		"/apis/cluster.karmada.io/v1alpha1":    `{"resources":[{"name":"clusters"},{"name":"clusters/status"}]}`,
		"/apis/work.karmada.io/v1alpha2":       `{"resources":[{"name":"resourcebindings"},{"name":"clusterresourcebindings"}]}`,
		"/apis/work.karmada.io/v1alpha1":       `{"resources":[{"name":"works"}]}`,
		"/apis/policy.karmada.io/v1alpha1":     `{"resources":[{"name":"propagationpolicies"}]}`,
		"/apis/failover.lifeboat.dev/v1alpha1": `{"resources":[{"name":"clustertaintrules"}]}`,
	}}
	client := connect(t, server, Options{})
	missing, err := client.Undefined(t.Context())
	require.NoError(t, err)
	require.Empty(t, missing)
	delete(server.objects, "/apis/failover.lifeboat.dev/v1alpha1")
	server.objects["/apis/work.karmada.io/v1alpha2"] = `{"resources":[{"name":"resourcebindings"}]}`
	missing, err = client.Undefined(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"clusterresourcebindings.work.karmada.io", "clustertaintrules.failover.lifeboat.dev"}, missing)
}

// Rules: R4.15-17.
func TestKarmadasPurgeModesAreReadFromItsDefinition(t *testing.T) {
	const path = "/openapi/v3/apis/work.karmada.io/v1alpha2"
	definition := func(purge string) string {
		return `{"components":{"schemas":{"io.karmada.work.v1alpha2.ResourceBindingList":{},"io.karmada.work.v1alpha2.ResourceBinding":{"properties":{"spec":{"properties":{
			"gracefulEvictionTasks":{"items":{"properties":{"purgeMode":` + purge + `}}}}}}}}}}`
	}
	server := &apiServer{objects: map[string]string{path: definition(`{"enum":["Immediately","Graciously","Never"]}`)}}
	client := connect(t, server, Options{})
	modes, err := client.PurgeModes(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"Immediately", "Graciously", "Never"}, modes)
	server.objects[path] = definition(`{}`)
	modes, err = client.PurgeModes(t.Context())
	require.NoError(t, err)
	require.Empty(t, modes)
	delete(server.objects, path)
	_, err = client.PurgeModes(t.Context())
	require.ErrorIs(t, err, karmada.ErrGone)
}

// Rules: R4.15-20, R4.15-22.
func TestKarmadasPoliciesAndFlagsAreFound(t *testing.T) {
	server := &apiServer{objects: map[string]string{
		"/apis/policy.karmada.io/v1alpha1/clustertaintpolicies": `{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`,
		"/apis/apps/v1/namespaces/karmada-system/deployments/karmada-controller-manager": `{"kind":"Deployment","apiVersion":"apps/v1","spec":{"template":{"spec":{"containers":[
			{"command":["/bin/karmada-controller-manager","--feature-gates=Failover=true"],"args":["--controllers=*"]}]}}}}`,
	}}
	client := connect(t, server, Options{})
	policies, err := client.ClusterTaintPolicies(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, policies)
	flags, err := client.ControllerManagerFlags(t.Context(), "karmada-system", "karmada-controller-manager")
	require.NoError(t, err)
	require.Equal(t, []string{"/bin/karmada-controller-manager", "--feature-gates=Failover=true", "--controllers=*"}, flags)
	server.objects = map[string]string{}
	policies, err = client.ClusterTaintPolicies(t.Context())
	require.NoError(t, err, "a Karmada without that definition has none")
	require.Empty(t, policies)
}
