package deploy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// generated is the hash that kustomize puts behind a ConfigMap's name; the chart has a
// checksum in the pod template for it.
var generated = regexp.MustCompile(`(lifeboat-config|lifeboat-temporal)-[0-9a-z]{10}\b`)

// plain is a rendering as it can be compared: without what makes pods roll, and the
// files of ConfigMaps as what they say.
func plain(t *testing.T, all objects) objects {
	result := objects{}
	for _, object := range all {
		text, err := yaml.Marshal(object.Object)
		require.NoError(t, err)
		tree := map[string]any{}
		require.NoError(t, yaml.Unmarshal(generated.ReplaceAll(text, []byte("$1")), &tree))
		unstructured.RemoveNestedField(tree, "spec", "template", "metadata", "annotations")
		sortVolumes(t, tree)
		files, _, err := unstructured.NestedStringMap(tree, "data")
		require.NoError(t, err)
		for name, content := range files {
			var says any = withoutComments(content)
			if strings.HasSuffix(name, ".yaml") {
				require.NoError(t, yaml.Unmarshal([]byte(content), &says))
			}
			require.NoError(t, unstructured.SetNestedField(tree, says, "data", name))
		}
		result.add(t, tree)
	}
	return result
}

// sortVolumes puts the volumes of a pod template, whose order means nothing, into one.
func sortVolumes(t *testing.T, tree map[string]any) {
	volumes, found, err := unstructured.NestedSlice(tree, "spec", "template", "spec", "volumes")
	require.NoError(t, err)
	if !found {
		return
	}
	slices.SortFunc(volumes, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	require.NoError(t, unstructured.SetNestedSlice(tree, volumes, "spec", "template", "spec", "volumes"))
}

func withoutComments(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func requireSame(t *testing.T, want, got objects) {
	want, got = plain(t, want), plain(t, got)
	require.Equal(t, want.names(), got.names())
	for name, object := range want {
		require.Equal(t, object.Object, got[name].Object, name)
	}
}

func TestTheChartIsTheBase(t *testing.T) {
	base := kustomized(t, "base")
	delete(base, "Namespace/"+namespace) // helm install --create-namespace
	requireSame(t, base, rendered(t, ""))
}

func TestTheChartCanDoWhatTheExampleDoes(t *testing.T) {
	overlay := kustomized(t, "overlays/enforce")
	delete(overlay, "Namespace/"+namespace)
	for name := range overlay { // which nobody mounts there
		if strings.HasPrefix(name, "ConfigMap/lifeboat-temporal") {
			delete(overlay, name)
		}
	}
	requireSame(t, overlay, rendered(t, `
config: {mode: enforce, pace: {evictionRate: 0.5}}
worker: {replicas: 3}
temporal: {existingSecret: lifeboat-temporal}
priorityClassName: system-cluster-critical
networkPolicy: {enabled: true}`))
}

// written are the roles as they stand in deploy/rbac, which tests/rbac holds against what
// the programs need.
func written(t *testing.T) objects {
	files, err := filepath.Glob(filepath.Join(folder, "rbac", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := objects{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, document := range bytes.Split(content, []byte("\n---\n")) {
			object := map[string]any{}
			require.NoError(t, yaml.UnmarshalStrict(document, &object), file)
			all.add(t, object)
		}
	}
	return all
}

// What is deployed is what is tested: the same roles, and accounts for them.
func TestTheRolesAreThoseOfTheFolder(t *testing.T) {
	roles := written(t)
	fromKustomize := kustomized(t, "karmada/enforce")
	fromChart := rendered(t, "install: {pods: false, karmadaRoles: true}\nkarmadaRoles: {act: true}")
	delete(fromKustomize, "Namespace/"+namespace)
	requireSame(t, fromKustomize, fromChart)
	for _, account := range []string{"ServiceAccount/lifeboat-controller", "ServiceAccount/lifeboat-worker"} {
		require.Equal(t, namespace, fromChart[account].GetNamespace())
		delete(fromKustomize, account)
	}
	requireSame(t, roles, fromKustomize)
}

// Which fields the worker may change is said of the worker that is installed.
func TestThePolicyOfFieldsIsOfTheWorkerThatIsInstalled(t *testing.T) {
	const policy = "ValidatingAdmissionPolicy/lifeboat-worker-fields"
	all := kustomized(t, "karmada/enforce")
	for name, object := range kustomized(t, "karmada/fields") {
		all[name] = object
	}
	delete(all, "Namespace/"+namespace)
	const values = "install: {pods: false, karmadaRoles: true}\nkarmadaRoles: {act: true, fields: true}"
	requireSame(t, all, rendered(t, values))

	elsewhere := renderedIn(t, "elsewhere", values)[policy]
	conditions, _, err := unstructured.NestedSlice(elsewhere.Object, "spec", "matchConditions")
	require.NoError(t, err)
	require.Len(t, conditions, 1)
	who := conditions[0].(map[string]any)["expression"].(string)
	require.Contains(t, who, `"system:serviceaccount:elsewhere:lifeboat-worker"`)
	require.NotContains(t, who, namespace)
}

func TestWhoObservesIsGrantedNothingToActWith(t *testing.T) {
	observe := kustomized(t, "karmada/observe")
	fromChart := rendered(t, "install: {pods: false, karmadaRoles: true}")
	delete(observe, "Namespace/"+namespace)
	requireSame(t, observe, fromChart)
	var without []string
	for name := range written(t) {
		if _, ok := observe[name]; !ok {
			without = append(without, name)
		}
	}
	require.ElementsMatch(t, []string{
		"ClusterRole/lifeboat-controller-act", "ClusterRoleBinding/lifeboat-controller-act",
		"ClusterRole/lifeboat-worker-act", "ClusterRoleBinding/lifeboat-worker-act",
	}, without)
}

// The Lease of an instance has a name of its own, wherever it is.
func TestTheRolesFollowTheConfiguration(t *testing.T) {
	all := rendered(t, `
install: {pods: false, karmadaRoles: true}
config: {instance: eu, controller: {leaderElection: {namespace: leases}}}`)
	role := all["Role/lifeboat-controller-lease"]
	require.Equal(t, "leases", role.GetNamespace())
	require.Equal(t, "leases", all["RoleBinding/lifeboat-controller-lease"].GetNamespace())
	rules, _, err := unstructured.NestedSlice(role.Object, "rules")
	require.NoError(t, err)
	require.Len(t, rules, 2)
	require.Equal(t, []any{"lifeboat-controller-eu"}, rules[1].(map[string]any)["resourceNames"])
	require.NotContains(t, rules[0], "resourceNames")
}

// Who may scrape, and where the pods may go, is said by whoever installs.
func TestTheNetworkPolicySaysFromWhereAndWhereTo(t *testing.T) {
	policy := typed[networkingv1.NetworkPolicy](t, rendered(t, `
networkPolicy:
  enabled: true
  from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  to: [{ipBlock: {cidr: 10.0.0.0/8}}]
  dns: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}}]`), "NetworkPolicy/lifeboat")
	require.Len(t, policy.Spec.Ingress, 1)
	require.Len(t, policy.Spec.Ingress[0].From, 1)
	require.Equal(t, "monitoring", policy.Spec.Ingress[0].From[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
	require.Len(t, policy.Spec.Egress, 2)
	names, rest := policy.Spec.Egress[0], policy.Spec.Egress[1]
	require.Len(t, names.To, 1)
	require.Equal(t, "kube-system", names.To[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
	for _, port := range names.Ports {
		require.Equal(t, 53, port.Port.IntValue())
	}
	require.Len(t, rest.To, 1)
	require.Equal(t, "10.0.0.0/8", rest.To[0].IPBlock.CIDR)
}

func TestWrongValuesAreRefused(t *testing.T) {
	for _, values := range []string{
		"worker: {replicas: -1}", "worker: {replicsa: 3}", "temporal: {address: 7}", "nonsense: 1", "config: {listen: {address: \"-\"}}",
		"networkPolicy: {egressPorts: [http]}", "networkPolicy: {from: prometheus}", "networkPolicy: {dns: coredns}", "image: {pullPolicy: Sometimes}",
	} {
		_, err := render(namespace, values)
		require.Error(t, err, values)
	}
}
