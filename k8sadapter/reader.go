package k8sadapter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// pageLimit is how many objects a page of a list holds by default.
const pageLimit = 500

// Cluster reads one member cluster.
func (c *Client) Cluster(ctx context.Context, name string) (karmada.Cluster, error) {
	return get(ctx, c.requester, request{resource: clusterResource, name: name}, c.decodeCluster)
}

// decodeCluster is DecodeCluster as the options say.
func (c *Client) decodeCluster(raw []byte) karmada.Cluster {
	cluster := DecodeCluster(raw)
	if c.drainDeleting {
		cluster.Drain = karmada.DrainedByDeletion(cluster)
	}
	return cluster
}

// Clusters reads every member cluster. Those of which the last list had the same version are not decoded again, and
// of many not read again either: a list of their metadata says which have changed. So the caller must not change what
// a cluster refers to.
func (c *Client) Clusters(ctx context.Context) ([]karmada.Cluster, error) {
	last := map[objectVersion]karmada.Cluster{}
	if before := c.clusters.Load(); before != nil {
		last = *before
	}
	all, whole, err := c.changedClusters(ctx, last)
	if err == nil && !whole {
		all, err = listAll(ctx, c.requester, clusterResource, func(raw []byte) karmada.Cluster {
			_, meta := new(decoding).object(raw)
			if known, same := last[meta.version()]; same {
				return known
			}
			return c.decodeCluster(raw)
		})
	}
	if err != nil {
		return nil, err
	}
	read := make(map[objectVersion]karmada.Cluster, len(all))
	for _, cluster := range all {
		if cluster.ResourceVersion != "" {
			read[objectVersion{cluster.UID, cluster.ResourceVersion}] = cluster
		}
	}
	c.clusters.Store(&read)
	return all, nil
}

const (
	// manyClusters is from how many on their metadata are listed: each cluster has kilobytes of API enablements.
	manyClusters = 20
	// mostChanged is how many that have changed are read one by one. Of more the whole list is read.
	mostChanged = 5
)

// changedClusters lists the metadata of many clusters and reads those that have changed; whole is false where the
// whole list has to be read.
func (c *Client) changedClusters(ctx context.Context, last map[objectVersion]karmada.Cluster) (all []karmada.Cluster, whole bool, _ error) {
	if len(last) < manyClusters {
		return nil, false, nil
	}
	var changed []string
	// A server that cannot list metadata alone sends all, which says the same.
	err := c.each(ctx, request{resource: clusterResource, accept: acceptMetadataList + ",application/json"}, func(raw json.RawMessage) {
		_, meta := new(decoding).object(raw)
		if known, same := last[meta.version()]; same {
			all = append(all, known)
			return
		}
		changed = append(changed, meta.Name)
	})
	if err != nil || len(changed) > mostChanged {
		return nil, false, err
	}
	for _, name := range changed {
		switch cluster, err := c.Cluster(ctx, name); {
		case err == nil:
			all = append(all, cluster)
		case !errors.Is(err, karmada.ErrGone): // the whole list may still be read
			return nil, false, nil
		}
	}
	slices.SortFunc(all, func(a, b karmada.Cluster) int { return strings.Compare(a.Name, b.Name) })
	return all, true, nil
}

// objectVersion is one version of an object.
type objectVersion struct {
	uid     types.UID
	version string
}

func (m metaWire) version() objectVersion { return objectVersion{m.UID, m.ResourceVersion} }

// Rules reads every ClusterTaintRule and, where honoured, every ClusterTaintPolicy. A missing
// definition of ClusterTaintRule is an error (ErrGone), not an empty list.
func (c *Client) Rules(ctx context.Context) ([]rules.Rule, error) {
	rules, err := listAll(ctx, c.requester, ruleResource, DecodeRule)
	if errors.Is(err, karmada.ErrGone) {
		return nil, fmt.Errorf("the definition of ClusterTaintRule is not installed (run lifeboat setup): %w", err)
	}
	if err != nil {
		return nil, err
	}
	policies, err := c.policyRules(ctx)
	return append(rules, policies...), err
}

// Binding reads one binding.
func (c *Client) Binding(ctx context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	r := request{resource: bindingResource(key.Kind()), namespace: key.Namespace, name: key.Name}
	return get(ctx, c.requester, r, DecodeBinding)
}

// Bindings reads one page: first all ResourceBindings, then all
// ClusterResourceBindings. For an expired page token (410) the error is an ErrConflict: start
// again from the first page.
func (c *Client) Bindings(ctx context.Context, page activities.Page) (activities.BindingPage, error) {
	page.Kind = cmp.Or(page.Kind, karmada.KindResourceBinding)
	query := url.Values{"limit": {strconv.Itoa(pageLimit)}}
	if page.Continue != "" {
		query.Set("continue", page.Continue)
	}
	list, err := c.listPage(ctx, request{verb: "list", resource: bindingResource(page.Kind), query: query})
	if err != nil {
		return activities.BindingPage{}, err
	}
	out := activities.BindingPage{Bindings: make([]karmada.Binding, 0, len(list.Items))}
	for _, item := range list.Items {
		out.Bindings = append(out.Bindings, DecodeBinding(item))
	}
	switch next := list.Metadata.Continue; {
	case next != "":
		out.Next = &activities.Page{Kind: page.Kind, Continue: next}
	case page.Kind == karmada.KindResourceBinding:
		out.Next = &activities.Page{Kind: karmada.KindClusterResourceBinding}
	}
	return out, nil
}

// ClusterNow is Cluster for a user that may list clusters but not get one.
func (c *Client) ClusterNow(ctx context.Context, name string) (karmada.Cluster, error) {
	return only(ctx, c.requester, request{resource: clusterResource}, name, c.decodeCluster)
}

// BindingNow is Binding for a user that may list bindings but not get one.
func (c *Client) BindingNow(ctx context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	r := request{resource: bindingResource(key.Kind()), namespace: key.Namespace}
	return only(ctx, c.requester, r, key.Name, DecodeBinding)
}

// get reads one object.
func get[T any](ctx context.Context, c *requester, r request, decode func([]byte) T) (out T, _ error) {
	r.verb = "get"
	raw, err := c.do(ctx, r)
	if err != nil {
		return out, err
	}
	return decode(raw), nil
}

// only reads the one object of a list that has this name.
func only[T any](ctx context.Context, c *requester, r request, name string, decode func([]byte) T) (out T, _ error) {
	r.verb, r.query = "list", url.Values{"fieldSelector": {"metadata.name=" + name}}
	page, err := c.listPage(ctx, r)
	if err != nil {
		return out, err
	}
	if len(page.Items) != 1 {
		return out, fmt.Errorf("list %s: no %s: %w", r.object(), name, karmada.ErrGone)
	}
	return decode(page.Items[0]), nil
}

// listWire is the outline of a list.
type listWire struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

func (c *requester) listPage(ctx context.Context, r request) (listWire, error) {
	raw, err := c.do(ctx, r)
	if err != nil {
		return listWire{}, err
	}
	var page listWire
	if err := json.Unmarshal(raw, &page); err != nil {
		return listWire{}, fmt.Errorf("list %s: answer is no list: %w: %w", r.object(), karmada.ErrUnreachable, err)
	}
	return page, nil
}

// listAll reads all pages of a resource.
func listAll[T any](
	ctx context.Context, c *requester, resource schema.GroupVersionResource, decode func([]byte) T,
) ([]T, error) {
	all := []T{}
	err := c.each(ctx, request{resource: resource}, func(raw json.RawMessage) { all = append(all, decode(raw)) })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// each reads all pages of a list, and calls do for every object.
func (c *requester) each(ctx context.Context, r request, do func(raw json.RawMessage)) error {
	r.verb, r.query = "list", url.Values{"limit": {strconv.Itoa(pageLimit)}}
	for {
		page, err := c.listPage(ctx, r)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			do(item)
		}
		if page.Metadata.Continue == "" {
			return nil
		}
		r.query.Set("continue", page.Metadata.Continue)
	}
}

// surroundings reads the annotations of namespaces and policies.
type surroundings struct{ *requester }

// OptedOut reads the binding's namespace and its policy. by names the object that opts the
// binding out ("namespace shop", "propagationpolicies shop/cart"), and is empty when none
// does. An object that does not exist opts nothing out.
func (c *surroundings) OptedOut(ctx context.Context, b *karmada.Binding) (by string, err error) {
	if b.Key.Namespace != "" {
		annotations, err := c.annotations(ctx, request{verb: "get", resource: namespaceResource, name: b.Key.Namespace})
		if err != nil {
			return "", err
		}
		if rules.OptedOut(annotations) {
			return "namespace " + b.Key.Namespace, nil
		}
	}
	policy, found := policyOf(b)
	if !found {
		return "", nil
	}
	annotations, err := c.annotations(ctx, policy)
	if err != nil || !rules.OptedOut(annotations) {
		return "", err
	}
	return policy.object(), nil
}

// PolicyAnnotation is one annotation of the binding's policy, empty when there is
// no such policy or annotation.
func (c *surroundings) PolicyAnnotation(ctx context.Context, b *karmada.Binding, name string) (string, error) {
	policy, found := policyOf(b)
	if !found {
		return "", nil
	}
	annotations, err := c.annotations(ctx, policy)
	return annotations[name], err
}

// policyOf is the request for the policy that a binding comes from. Karmada keeps its name in
// annotations, which any writer of the binding can change: a name that no object can have
// counts as no policy, because a request for it would be an error.
func policyOf(b *karmada.Binding) (policy request, found bool) {
	if name := b.Annotations[karmada.AnnotationPolicyName]; name != "" {
		policy = request{verb: "get", resource: ppResource, namespace: b.Annotations[karmada.AnnotationPolicyNamespace], name: name}
	} else {
		policy = request{verb: "get", resource: cppResource, name: b.Annotations[karmada.AnnotationClusterPolicyName]}
	}
	if len(policy.namespace) > reason.MaxName || len(policy.name) > reason.MaxName || policy.check() != nil {
		return request{}, false
	}
	return policy, true
}

// annotations reads those of one object; none when the object does not exist.
func (c *surroundings) annotations(ctx context.Context, r request) (map[string]string, error) {
	r.accept = acceptMetadata
	raw, err := c.do(ctx, r)
	if errors.Is(err, karmada.ErrGone) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	var d decoding
	_, meta := d.object(raw)
	return meta.Annotations, nil
}
