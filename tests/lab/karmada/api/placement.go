package api

import (
	"encoding/json"
	"reflect"

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

// PlacementChanged is Karmada's question whether a placement must be applied: the applied one differs, in more
// than affinity groups other than the observed one. Text that is no JSON counts as unchanged.
func PlacementChanged(applied, wanted, observedGroup string) bool {
	if applied == "" {
		return true
	}
	var before, after map[string]any
	if json.Unmarshal([]byte(applied), &before) != nil || json.Unmarshal([]byte(wanted), &after) != nil {
		return false
	}
	if reflect.DeepEqual(before, after) {
		return false
	}
	for _, field := range []string{"clusterAffinity", "clusterTolerations", "spreadConstraints", "replicaScheduling"} {
		if !reflect.DeepEqual(before[field], after[field]) {
			return true
		}
	}
	group := groupNamed(after, observedGroup)
	return group == nil || !reflect.DeepEqual(groupNamed(before, observedGroup), group)
}

// groupNamed is the affinity group of a name; nil without one.
func groupNamed(placement map[string]any, name string) map[string]any {
	groups, _ := placement["clusterAffinities"].([]any)
	for _, g := range groups {
		if group, _ := g.(map[string]any); name != "" && group["affinityName"] == name {
			return group
		}
	}
	return nil
}
