package k8sadapter

import (
	"context"
	"embed"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

//go:embed crds/*.yaml
var definitions embed.FS

// establishedPoll is how often a new definition is asked whether it is served.
const establishedPoll = 200 * time.Millisecond

// Definitions are Lifeboat's own CustomResourceDefinitions.
func Definitions() ([]*unstructured.Unstructured, error) {
	files, err := definitions.ReadDir("crds")
	if err != nil {
		return nil, fmt.Errorf("read definitions: %w", err)
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		raw, err := definitions.ReadFile("crds/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("read definition %s: %w", file.Name(), err)
		}
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, &definition.Object); err != nil {
			return nil, fmt.Errorf("read definition %s: %w", file.Name(), err)
		}
		all = append(all, definition)
	}
	return all, nil
}

// InstallCRDs creates or updates Lifeboat's definitions by server-side apply and
// returns when the API server serves them. It may be repeated.
func (c *installation) InstallCRDs(ctx context.Context) error {
	all, err := Definitions()
	if err != nil {
		return err
	}
	for _, definition := range all {
		name := definition.GetName()
		r := request{verb: "patch", resource: crdResource, name: name}
		options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
		if _, err := c.dynamic.Resource(crdResource).Apply(ctx, name, definition, options); err != nil {
			return fmt.Errorf("install: %w", classify(r, err, 0))
		}
	}
	for _, definition := range all {
		if err := c.awaitEstablished(ctx, definition.GetName()); err != nil {
			return fmt.Errorf("install %s: %w", definition.GetName(), err)
		}
	}
	return nil
}

// awaitEstablished waits until a definition is served, as long as the context allows.
func (c *installation) awaitEstablished(ctx context.Context, name string) error {
	return wait.PollUntilContextCancel(ctx, establishedPoll, true, func(ctx context.Context) (bool, error) {
		raw, err := c.do(ctx, request{verb: "get", resource: crdResource, name: name})
		if err != nil {
			return false, err
		}
		var d decoding
		outline, _ := d.object(raw)
		var status struct {
			Conditions []metav1.Condition `json:"conditions"`
		}
		d.into("status", outline.Status, &status)
		for _, condition := range status.Conditions {
			if condition.Type == "Established" && condition.Status == metav1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}
