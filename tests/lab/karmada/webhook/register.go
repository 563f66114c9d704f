package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	admissionv1 "k8s.io/api/admission/v1"
	admission "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	registrationName = "lab-karmada"
	callTimeout      = 10
)

func (s *Server) client(path string) admission.WebhookClientConfig {
	url := s.url + path
	return admission.WebhookClientConfig{URL: &url, CABundle: s.bundle}
}

func rule(operations []admission.OperationType, group, version string, resources ...string) admission.RuleWithOperations {
	return admission.RuleWithOperations{
		Operations: operations,
		Rule:       admission.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: resources},
	}
}

func (s *Server) hook(name, path string, r admission.RuleWithOperations) admission.MutatingWebhook {
	none, fail, timeout := admission.SideEffectClassNoneOnDryRun, admission.Fail, int32(callTimeout)
	return admission.MutatingWebhook{
		Name: name, ClientConfig: s.client(path), Rules: []admission.RuleWithOperations{r},
		SideEffects: &none, FailurePolicy: &fail, TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
	}
}

func (s *Server) clustersHook() admission.MutatingWebhook {
	writes := []admission.OperationType{admission.Create, admission.Update}
	return s.hook("clusters.lab.lifeboat.dev", "/clusters", rule(writes, "cluster.karmada.io", "v1alpha1", "clusters"))
}

func (s *Server) bindingsHook() admission.MutatingWebhook {
	return s.hook("bindings.lab.lifeboat.dev", "/bindings", rule([]admission.OperationType{admission.Create},
		"work.karmada.io", "v1alpha2", "resourcebindings", "clusterresourcebindings"))
}

func (s *Server) installMutating(ctx context.Context, client kubernetes.Interface, hooks ...admission.MutatingWebhook) error {
	wanted := &admission.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: registrationName}, Webhooks: hooks}
	at := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	current, err := at.Get(ctx, registrationName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = at.Create(ctx, wanted, metav1.CreateOptions{})
	} else if err == nil { // an earlier run left it
		wanted.SetResourceVersion(current.GetResourceVersion())
		_, err = at.Update(ctx, wanted, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("register webhooks: %w", err)
	}
	return nil
}

// awaitStamping tries with a dry run until the API server calls the webhook: it learns of a
// registration only after a moment.
func awaitStamping(ctx context.Context, cfg *rest.Config) error {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
		"metadata": map[string]any{"name": "webhook-probe"},
		"spec": map[string]any{"syncMode": "Push", "taints": []any{
			map[string]any{"key": "probe", "effect": "NoExecute"},
		}},
	}}
	var last error
	stamps := func(ctx context.Context) (bool, error) {
		created, err := client.Resource(api.Clusters).Create(ctx, probe.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if last = err; err != nil {
			return false, nil //nolint:nilerr // tried again until the time is up
		}
		cluster, err := api.From[api.Cluster](created.Object)
		return err == nil && len(cluster.Spec.Taints) == 1 && cluster.Spec.Taints[0].TimeAdded != nil, err
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, stamps); err != nil {
		return fmt.Errorf("wait for the webhook: %w (last answer: %v)", err, last)
	}
	return nil
}

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

// admitBinding gives a new binding its permanent id, and one with a placement the label of a policy: the lab has
// none that would make it.
func admitBinding(_ context.Context, request *admissionv1.AdmissionRequest) ([]Patch, error) {
	binding := struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			Placement map[string]any `json:"placement"`
		} `json:"spec"`
	}{}
	if err := json.Unmarshal(request.Object.Raw, &binding); err != nil {
		return nil, fmt.Errorf("decode binding: %w", err)
	}
	id, policy := api.LabelBindingID, api.LabelPolicyID
	if request.Kind.Kind == api.KindClusterResourceBinding {
		id, policy = api.LabelClusterBindingID, api.LabelClusterPolicyID
	}
	labels := map[string]string{}
	if maps.Copy(labels, binding.Metadata.Labels); labels[id] == "" {
		labels[id] = string(uuid.NewUUID())
	}
	if binding.Spec.Placement != nil && !api.Claimed(labels) {
		labels[policy] = "lab"
	}
	if len(labels) == len(binding.Metadata.Labels) {
		return nil, nil
	}
	return []Patch{{"add", "/metadata/labels", labels}}, nil
}
