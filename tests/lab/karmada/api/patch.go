package api

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// MergePatch writes a JSON merge patch. With a resourceVersion in it a stale writer gets a conflict; without, the last
// writer wins.
func MergePatch(ctx context.Context, client dynamic.ResourceInterface, name string, body map[string]any, subresource ...string) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode patch of %s: %w", name, err)
	}
	return client.Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{}, subresource...)
}
