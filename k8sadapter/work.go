package k8sadapter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
)

// DecodeWork reads the metadata of a Work (work.karmada.io/v1alpha1), and whether it preserves its copy.
func DecodeWork(raw []byte) karmada.Work {
	var d decoding
	outline, meta := d.object(raw)
	work := karmada.Work{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID,
		Cluster:  strings.TrimPrefix(meta.Namespace, executionNamespacePrefix),
		Deleting: meta.DeletionTimestamp != nil,
	}
	d.section("spec", outline.Spec).read("preserveResourcesOnDeletion", &work.PreservesCopy)
	return work
}

// works reads Works, and ends them.
type works struct{ *requester }

// Work reads one Work. Only its metadata crosses the wire.
func (c *works) Work(ctx context.Context, namespace, name string) (karmada.Work, error) {
	r := request{resource: workResource, namespace: namespace, name: name, accept: acceptMetadata}
	return get(ctx, c.requester, r, DecodeWork)
}

// WorkOf finds the Work of a binding on a cluster by the binding's permanent id. It looks first under the name that
// Karmada gives it, for a list reads every Work of the cluster. Of several, one that is not being deleted wins. A
// binding without that label is an ErrInvalid: nothing else identifies its Work. The whole Work crosses the wire:
// whether its copy is preserved stands in its spec, whether the members of a Deployment keep their replicas in the manifest.
func (c *works) WorkOf(ctx context.Context, b *karmada.Binding, cluster string) (karmada.Work, error) {
	raw, err := c.workOf(ctx, b, cluster)
	if err != nil {
		return karmada.Work{}, err
	}
	work := DecodeWork(raw)
	meta, manifest := manifestOf(raw)
	work.RetainsReplicas = manifest != nil && b.Resource.GroupKind() == karmada.KindDeployment &&
		manifest.Metadata.Labels[karmada.LabelRetainReplicas] == "true"
	work.OverriddenReplicas = overriddenReplicas(meta, manifest)
	if manifest != nil {
		work.APIVersion = manifest.APIVersion
	}
	return work, nil
}

// overriddenReplicas are the replicas in the manifest of a Work where an override has put them there. Any other number may be
// an old one, which Karmada has yet to replace by that of spec.clusters.
func overriddenReplicas(work metaWire, manifest *manifestWire) *int64 {
	var spec struct {
		Replicas *int64 `json:"replicas"`
	}
	if manifest == nil || json.Unmarshal(manifest.Spec, &spec) != nil || spec.Replicas == nil {
		return nil
	}
	for _, annotation := range karmada.AppliedOverrides {
		var policies []struct {
			Overriders struct {
				Plaintext []struct {
					Path  string          `json:"path"`
					Value json.RawMessage `json:"value"`
				} `json:"plaintext"`
			} `json:"overriders"`
		}
		_ = json.Unmarshal([]byte(work.Annotations[annotation]), &policies) // one that cannot be read overrides nothing
		for _, policy := range policies {
			for _, o := range policy.Overriders.Plaintext {
				if o.Path == "/spec/replicas" && string(o.Value) == strconv.FormatInt(*spec.Replicas, 10) {
					return spec.Replicas
				}
			}
		}
	}
	return nil
}

// workOf is the Work that WorkOf finds.
func (c *works) workOf(ctx context.Context, b *karmada.Binding, cluster string) (json.RawMessage, error) {
	label, id := b.Key.Kind().PermanentIDLabel(), b.PermanentID
	if id == "" {
		return nil, fmt.Errorf("find work of %s on %s: %w: no label %s", b.Key, cluster, karmada.ErrInvalid, label)
	}
	raw, err := c.do(ctx, request{
		verb: "get", resource: workResource, namespace: executionNamespacePrefix + cluster, name: workName(b),
	})
	var named workWire
	if found := DecodeWork(raw); err == nil && json.Unmarshal(raw, &named) == nil && named.Metadata.Labels[label] == id && !found.Deleting {
		return raw, nil
	}
	items, err := c.listed(ctx, cluster, labels.Set{label: id}.String())
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("find work of %s on %s: %w", b.Key, cluster, karmada.ErrGone)
	}
	found := items[0]
	for _, item := range items[1:] {
		if DecodeWork(found).Deleting && !DecodeWork(item).Deleting {
			found = item
		}
	}
	return found, nil
}

// listed are the Works on a cluster that a label selector selects.
func (c *works) listed(ctx context.Context, cluster, selector string) ([]json.RawMessage, error) {
	page, err := c.listPage(ctx, request{
		verb: "list", resource: workResource, namespace: executionNamespacePrefix + cluster,
		query: url.Values{"labelSelector": {selector}},
	})
	return page.Items, err
}

// Revision is a hash of the workload as a cluster gets it: of the pod template of the first manifest in its Work, or
// of the whole spec but the replicas where the kind has none. Scaling does not change it.
func (c *works) Revision(ctx context.Context, b *karmada.Binding, cluster string) (string, error) {
	raw, err := c.workOf(ctx, b, cluster)
	if err != nil {
		return "", err
	}
	spec := workloadSpec(raw)
	if spec == nil {
		return "", nil
	}
	delete(spec, "replicas")
	hashed := any(spec)
	if template, has := spec["template"]; has {
		hashed = template
	}
	text, _ := json.Marshal(hashed) // it cannot fail: it was decoded from JSON
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// workName is the name that Karmada gives the Works of a binding (names.GenerateWorkName): the resource's name, and a
// hash of its namespace, name and kind.
func workName(b *karmada.Binding) string {
	r := b.Resource
	name := strings.ToLower(strings.ReplaceAll(r.Name, ":", "."))
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, strings.TrimPrefix(strings.ToLower(r.Namespace)+"-"+name+"-"+strings.ToLower(r.Kind), "-")) // it never fails
	return name + "-" + rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// workWire is the part of a whole Work that is decoded.
type workWire struct {
	Metadata metaWire `json:"metadata"`
	Spec     struct {
		Workload struct {
			Manifests []manifestWire `json:"manifests"`
		} `json:"workload"`
	} `json:"spec"`
}

type manifestWire struct {
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec json.RawMessage `json:"spec"`
}

// manifestOf is the first manifest in a Work, nil where there is none, and the metadata of the Work.
func manifestOf(raw []byte) (metaWire, *manifestWire) {
	var work workWire
	if json.Unmarshal(raw, &work) != nil || len(work.Spec.Workload.Manifests) == 0 {
		return metaWire{}, nil
	}
	return work.Metadata, &work.Spec.Workload.Manifests[0]
}

// workloadSpec is the spec of the first manifest in a Work, nil where there is none.
func workloadSpec(raw []byte) (spec map[string]any) {
	_, manifest := manifestOf(raw)
	if manifest == nil || json.Unmarshal(manifest.Spec, &spec) != nil {
		return nil
	}
	return spec
}

// idsPerList bounds the permanent ids in the selector of one list: about 4 kB of its URL.
const idsPerList = 100

// WorkloadLabels reads the labels of the first manifest in the Work of each binding on a
// cluster. It reads whole Works, and keeps only the labels. It omits a binding without
// permanent id, or without a Work there. Of several Works, one that is not being deleted wins.
func (c *works) WorkloadLabels(ctx context.Context, bindings []*karmada.Binding, cluster string) (map[karmada.BindingKey]map[string]string, error) {
	out := map[karmada.BindingKey]map[string]string{}
	for _, kind := range bindingKinds {
		label, keys := kind.PermanentIDLabel(), map[string]karmada.BindingKey{}
		for _, b := range bindings {
			if id := b.PermanentID; b.Key.Kind() == kind && len(validation.IsValidLabelValue(id)) == 0 && id != "" {
				keys[id] = b.Key
			}
		}
		for ids := range slices.Chunk(slices.Sorted(maps.Keys(keys)), idsPerList) {
			items, err := c.listed(ctx, cluster, label+" in ("+strings.Join(ids, ",")+")")
			if err != nil {
				return nil, err
			}
			workloadLabels(items, label, keys, out)
		}
	}
	return out, nil
}

// workloadLabels adds the labels in some Works, whose own label names the binding by its permanent id.
func workloadLabels(
	items []json.RawMessage, label string, bindings map[string]karmada.BindingKey, out map[karmada.BindingKey]map[string]string,
) {
	going := map[karmada.BindingKey]bool{}
	for _, item := range items {
		work, manifest := manifestOf(item)
		if manifest == nil {
			continue // the labels of a malformed Work are unknown
		}
		key, wanted := bindings[work.Labels[label]]
		if _, known := out[key]; !wanted || known && !going[key] {
			continue
		}
		found := map[string]string{} // never nil: nil would mean unknown labels
		maps.Copy(found, manifest.Metadata.Labels)
		out[key], going[key] = found, work.DeletionTimestamp != nil
	}
}

// EndWork changes the generation of a Work that is being deleted, so that Karmada's execution
// controller retries the deletion at once. That deletion failed while the cluster was away, and
// would be retried only after up to 1000 s. EndWork changes spec.suspendDispatching, which the
// controller ignores on a Work that is being deleted. Karmada sets it to false, so it becomes
// true; where it is true already, false.
func (c *works) EndWork(ctx context.Context, w karmada.Work) error {
	r := request{verb: "get", resource: workResource, namespace: w.Namespace, name: w.Name, accept: acceptMetadata}
	raw, err := c.do(ctx, r)
	if err != nil {
		return fmt.Errorf("read work %s/%s: %w", w.Namespace, w.Name, err)
	}
	var d decoding
	_, before := d.object(raw)
	r.verb = "patch"
	for _, suspend := range []bool{true, false} {
		_, meta := d.object(raw)
		if meta.UID != w.UID || meta.DeletionTimestamp == nil {
			return fmt.Errorf("end work %s/%s: %w: it is another one, or is not being deleted", w.Namespace, w.Name, karmada.ErrConflict)
		}
		if meta.Generation != before.Generation {
			return nil
		}
		r.body, _ = json.Marshal(map[string]any{ // it cannot fail
			"metadata": map[string]any{"uid": meta.UID, "resourceVersion": meta.ResourceVersion},
			"spec":     map[string]any{"suspendDispatching": suspend},
		})
		if raw, err = c.do(ctx, r); err != nil {
			return fmt.Errorf("end work %s/%s: %w", w.Namespace, w.Name, err)
		}
	}
	return nil
}
