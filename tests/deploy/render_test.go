package deploy

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	folder    = "../../deploy"
	namespace = "lifeboat-system"
)

// objects are rendered manifests by "<kind>/<name>".
type objects map[string]*unstructured.Unstructured

func (o objects) add(t *testing.T, object map[string]any) {
	u := &unstructured.Unstructured{Object: object}
	key := u.GetKind() + "/" + u.GetName()
	require.NotEqual(t, "/", key, "no object: %v", object)
	require.NotContains(t, o, key, "rendered twice")
	o[key] = u
}

func (o objects) names() []string { return slices.Sorted(maps.Keys(o)) }

// kustomized is what `kubectl apply -k` would send.
func kustomized(t *testing.T, path string) objects {
	found, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(
		filesys.MakeFsOnDisk(), filepath.Join(folder, "kustomize", path))
	require.NoError(t, err)
	all := objects{}
	for _, resource := range found.Resources() {
		text, err := resource.AsYAML()
		require.NoError(t, err)
		object := map[string]any{}
		require.NoError(t, yaml.Unmarshal(text, &object))
		all.add(t, object)
	}
	return all
}

// theChart is read once: each time it tells of the links in it.
var theChart = sync.OnceValues(func() (*chart.Chart, error) { return loader.Load(filepath.Join(folder, "helm", "lifeboat")) })

// rendered is what `helm template` would print with values on top of the chart's own.
func rendered(t *testing.T, values string) objects {
	return renderedIn(t, namespace, values)
}

// renderedIn is rendered, for a release in a namespace.
func renderedIn(t *testing.T, in, values string) objects {
	files, err := render(in, values)
	require.NoError(t, err)
	all := objects{}
	for name, content := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, document := range regexp.MustCompile(`(?m)^---$`).Split(content, -1) {
			object := map[string]any{}
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), &object), "%s:\n%s", name, document)
			if len(object) > 0 {
				all.add(t, object)
			}
		}
	}
	return all
}

// render is every file of the chart; the error says what the values do wrong.
func render(in, values string) (map[string]string, error) {
	read, err := theChart()
	if err != nil {
		return nil, err
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: "lifeboat", Namespace: in, IsInstall: true}
	all, err := chartutil.ToRenderValues(read, given, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(read, all)
}
