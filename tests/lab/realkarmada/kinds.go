package realkarmada

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// specOf is the spec of a binding's resource template, nil for kinds that need none.
func specOf(b *unstructured.Unstructured, kind, name string, slots bool) map[string]any {
	switch kind {
	case "Deployment", "StatefulSet":
		return podsOf(b, slots)
	case "Job":
		return jobOf(b)
	case "CustomResourceDefinition":
		return definitionOf(name)
	case "PersistentVolumeClaim":
		return map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		}
	case "Service":
		return map[string]any{"selector": map[string]any{"app": name}, "ports": []any{map[string]any{"port": int64(80)}}}
	}
	return nil
}

// jobOf is a Job that has nothing to do and completes at once. One that is said to be ready after
// some time has a pod for which there is no node: it runs for ever.
func jobOf(b *unstructured.Unstructured) map[string]any {
	pods, node := int64(0), map[string]any{}
	if _, runs := b.GetAnnotations()[api.FaultReadyAfter]; runs {
		pods, node = 1, map[string]any{"lab.lifeboat.dev/no-such-node": ""}
	}
	return map[string]any{
		"parallelism": pods, "completions": pods,
		"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "nodeSelector": node,
			"containers": []any{map[string]any{"name": "main", "image": "fake"}},
		}},
	}
}

// definitionOf is a CustomResourceDefinition of that name, "<plural>.<group>".
func definitionOf(name string) map[string]any {
	plural, group, _ := strings.Cut(name, ".")
	return map[string]any{
		"group": group, "scope": "Namespaced",
		"names": map[string]any{"plural": plural, "kind": strings.ToUpper(plural[:1]) + plural[1:]},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		}}},
	}
}
