package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// admitCluster canonicalizes a cluster as Karmada's aggregated API server does.
func admitCluster(_ context.Context, request *admissionv1.AdmissionRequest) ([]Patch, error) {
	cluster := struct {
		Spec map[string]any `json:"spec"`
	}{}
	if err := json.Unmarshal(request.Object.Raw, &cluster); err != nil {
		return nil, fmt.Errorf("decode cluster: %w", err)
	}
	var operations []Patch
	if taints, changed := stamped(cluster.Spec["taints"], time.Now()); changed {
		operations = append(operations, Patch{"replace", "/spec/taints", taints})
	}
	zone, _ := cluster.Spec["zone"].(string)
	if zones, _ := cluster.Spec["zones"].([]any); zone != "" && len(zones) == 0 {
		operations = append(operations,
			Patch{"add", "/spec/zones", []string{zone}}, Patch{"add", "/spec/zone", ""})
	}
	return operations, nil
}

// stamped gives NoExecute taints without timeAdded the current time; NoSchedule taints keep none.
func stamped(taints any, now time.Time) ([]any, bool) {
	list, _ := taints.([]any)
	changed := false
	for _, item := range list {
		taint, ok := item.(map[string]any)
		if !ok || taint["effect"] != "NoExecute" || taint["timeAdded"] != nil {
			continue
		}
		taint["timeAdded"] = now.UTC().Format(time.RFC3339)
		changed = true
	}
	return list, changed
}

// admitBinding gives a new binding its permanent id.
func admitBinding(_ context.Context, request *admissionv1.AdmissionRequest) ([]Patch, error) {
	binding := metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(request.Object.Raw, &binding); err != nil {
		return nil, fmt.Errorf("decode binding: %w", err)
	}
	label := api.LabelBindingID
	if request.Kind.Kind == api.KindClusterResourceBinding {
		label = api.LabelClusterBindingID
	}
	if binding.Labels[label] != "" {
		return nil, nil
	}
	labels := map[string]string{label: string(uuid.NewUUID())}
	for name, value := range binding.Labels {
		labels[name] = value
	}
	return []Patch{{"add", "/metadata/labels", labels}}, nil
}
