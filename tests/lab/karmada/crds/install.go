package crds

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"text/template"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

//go:embed manifests/*.yaml
var manifests embed.FS

// kindNames fills the manifests that serve a namespaced kind and its cluster-scoped twin.
type kindNames struct {
	Kind, Singular, Plural, Short, Scope string
}

// sources lists every definition: the manifest it is made from and the names to put into it.
var sources = []struct {
	file  string
	names kindNames
}{
	{"bindings.yaml", kindNames{"ResourceBinding", "resourcebinding", "resourcebindings", "rb", "Namespaced"}},
	{"bindings.yaml", kindNames{"ClusterResourceBinding", "clusterresourcebinding", "clusterresourcebindings", "crb", "Cluster"}},
	{"policies.yaml", kindNames{"PropagationPolicy", "propagationpolicy", "propagationpolicies", "pp", "Namespaced"}},
	{"policies.yaml", kindNames{"ClusterPropagationPolicy", "clusterpropagationpolicy", "clusterpropagationpolicies", "cpp", "Cluster"}},
	{"clustertaintpolicies.yaml", kindNames{}},
	{"works.yaml", kindNames{}},
	{"clusters.yaml", kindNames{}},
}

// Definitions returns every definition, parsed.
func Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	shared, err := manifests.ReadFile("manifests/definitions.yaml")
	if err != nil {
		return nil, fmt.Errorf("read shared definitions: %w", err)
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, source := range sources {
		crd, err := parse(shared, source.file, source.names)
		if err != nil {
			return nil, err
		}
		all = append(all, crd)
	}
	return all, nil
}

func parse(shared []byte, file string, names kindNames) (*apiextensionsv1.CustomResourceDefinition, error) {
	manifest, err := template.ParseFS(manifests, "manifests/"+file)
	if err != nil {
		return nil, fmt.Errorf("parse manifest %s: %w", file, err)
	}
	document := bytes.NewBuffer(bytes.Clone(shared))
	if err := manifest.Execute(document, names); err != nil {
		return nil, fmt.Errorf("fill manifest %s: %w", file, err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(document.Bytes(), crd); err != nil {
		return nil, fmt.Errorf("decode manifest %s: %w", file, err)
	}
	return crd, nil
}

// Install creates or updates every definition and returns when the API server serves them all.
func Install(ctx context.Context, cfg *rest.Config) error {
	definitions, err := Definitions()
	if err != nil {
		return err
	}
	client, err := clientset.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, crd := range definitions {
		group.Go(func() error { return install(ctx, client, crd) })
	}
	return group.Wait()
}

func install(ctx context.Context, client clientset.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	api := client.ApiextensionsV1().CustomResourceDefinitions()
	_, err := api.Create(ctx, crd, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = update(ctx, client, crd)
	}
	if err != nil {
		return fmt.Errorf("install definition %s: %w", crd.Name, err)
	}
	established := func(ctx context.Context) (bool, error) {
		current, err := api.Get(ctx, crd.Name, metav1.GetOptions{})
		return err == nil && served(current), err
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, established); err != nil {
		return fmt.Errorf("wait for definition %s: %w", crd.Name, err)
	}
	return nil
}

func update(ctx context.Context, client clientset.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	api := client.ApiextensionsV1().CustomResourceDefinitions()
	current, err := api.Get(ctx, crd.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	current.Spec = crd.Spec
	_, err = api.Update(ctx, current, metav1.UpdateOptions{})
	return err
}

func served(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
