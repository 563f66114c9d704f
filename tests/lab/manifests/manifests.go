// Package manifests applies YAML files to an API server, for instance grants and CRDs.
package manifests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Apply applies every object of the given YAML files and folders on the server side,
// namespaces first, and returns how many there were.
func Apply(ctx context.Context, config *rest.Config, paths []string) (int, error) {
	objects, err := Load(paths)
	if err != nil {
		return 0, err
	}
	return len(objects), ApplyObjects(ctx, config, objects)
}

// ApplyObjects applies objects on the server side, namespaces first.
func ApplyObjects(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) error {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return applyOrder(a) - applyOrder(b) })
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("create discovery client: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoveryClient))
	for _, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", kind.Kind, object.GetName(), err)
		}
		resource := client.Resource(mapping.Resource).Namespace(object.GetNamespace())
		if _, err := resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "lab", Force: true}); err != nil {
			return fmt.Errorf("apply %s %s: %w", kind.Kind, object.GetName(), err)
		}
	}
	return nil
}

func applyOrder(object *unstructured.Unstructured) int {
	if object.GetKind() == "Namespace" {
		return 0
	}
	return 1
}

// Load reads the objects of YAML files and folders.
func Load(paths []string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		} else if info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
				return nil, fmt.Errorf("list manifests in %s: %w", path, err)
			}
		}
		for _, file := range files {
			found, err := loadManifest(file)
			if err != nil {
				return nil, fmt.Errorf("read manifest %s: %w", file, err)
			}
			objects = append(objects, found...)
		}
	}
	return objects, nil
}

// loadManifest reads the documents of one file; empty ones are left out.
func loadManifest(file string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Decode(content)
}

// Decode reads the documents of a YAML text; empty ones are left out.
func Decode(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
