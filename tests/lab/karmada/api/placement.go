package api

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// placementJSON renders spec.placement with sorted keys, so that equal placements give equal text.
func placementJSON(content map[string]any) string {
	placement, found, err := unstructured.NestedFieldNoCopy(content, "spec", "placement")
	if err != nil || !found || placement == nil {
		return ""
	}
	text, err := json.Marshal(placement)
	if err != nil {
		return ""
	}
	return string(text)
}

// SamePlacement compares two placements as JSON values; the order of keys does not matter.
func SamePlacement(a, b string) bool {
	if a == b {
		return true
	}
	left, leftOK := canonical(a)
	right, rightOK := canonical(b)
	return leftOK && rightOK && left == right
}

func canonical(text string) (string, bool) {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return "", false
	}
	sorted, err := json.Marshal(value)
	return string(sorted), err == nil
}
