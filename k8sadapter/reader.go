package k8sadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pageLimit is how many objects a page of a list holds when the caller does not say.
const pageLimit = 500

// Cluster reads one member cluster.
func (c *Client) Cluster(ctx context.Context, name string) (karmada.Cluster, error) {
	raw, err := c.do(ctx, request{verb: "get", resource: clusterResource, name: name})
	if err != nil {
		return karmada.Cluster{}, err
	}
	return DecodeCluster(raw), nil
}

// Clusters reads every member cluster.
func (c *Client) Clusters(ctx context.Context) ([]karmada.Cluster, error) {
	return listAll(ctx, c.requester, clusterResource, DecodeCluster)
}

// Rules reads every ClusterTaintRule and, where that source is on, every
// ClusterTaintPolicy. A missing definition of Lifeboat's own is an error (ErrGone), not an
// empty list: no rule and no answer are different things.
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
	raw, err := c.do(ctx, request{
		verb: "get", resource: bindingResource(key.Kind()), namespace: key.Namespace, name: key.Name,
	})
	if err != nil {
		return karmada.Binding{}, err
	}
	return DecodeBinding(raw), nil
}

// Bindings reads one page: first all ResourceBindings, then all
// ClusterResourceBindings. When the list moved on under a page token (410) the
// error is an ErrConflict: start again from the first page.
func (c *Client) Bindings(ctx context.Context, page activities.Page) (activities.BindingPage, error) {
	if page.Kind == "" {
		page.Kind = karmada.KindResourceBinding
	}
	items, next, err := c.list(ctx, bindingResource(page.Kind), page.Limit, page.Continue)
	if err != nil {
		return activities.BindingPage{}, err
	}
	out := activities.BindingPage{Bindings: make([]karmada.Binding, 0, len(items))}
	for _, item := range items {
		out.Bindings = append(out.Bindings, DecodeBinding(item))
	}
	switch {
	case next != "":
		out.Next = &activities.Page{Kind: page.Kind, Continue: next, Limit: page.Limit}
	case page.Kind == karmada.KindResourceBinding:
		out.Next = &activities.Page{Kind: karmada.KindClusterResourceBinding, Limit: page.Limit}
	}
	return out, nil
}

// ClusterNow is Cluster for who may list clusters and not get one.
func (c *Client) ClusterNow(ctx context.Context, name string) (karmada.Cluster, error) {
	raw, err := c.only(ctx, request{verb: "list", resource: clusterResource}, name)
	return decodeOnly(raw, err, DecodeCluster)
}

// BindingNow is Binding for who may list bindings and not get one.
func (c *Client) BindingNow(ctx context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	raw, err := c.only(ctx, request{verb: "list", resource: bindingResource(key.Kind()), namespace: key.Namespace}, key.Name)
	return decodeOnly(raw, err, DecodeBinding)
}

// only is the one object of a list that has this name.
func (c *requester) only(ctx context.Context, r request, name string) (json.RawMessage, error) {
	r.query = url.Values{"fieldSelector": {"metadata.name=" + name}}
	page, err := c.listPage(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(page.Items) != 1 {
		return nil, fmt.Errorf("list %s: no %s: %w", r.object(), name, karmada.ErrGone)
	}
	return page.Items[0], nil
}

func decodeOnly[T any](raw json.RawMessage, err error, decode func([]byte) T) (out T, _ error) {
	if err != nil {
		return out, err
	}
	return decode(raw), nil
}

// listWire is the outline of a list.
type listWire struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// list reads one page of a cluster-wide list, items as they came.
func (c *requester) list(
	ctx context.Context, resource schema.GroupVersionResource, limit int64, token string,
) (items []json.RawMessage, next string, err error) {
	if limit <= 0 {
		limit = pageLimit
	}
	r := request{verb: "list", resource: resource, query: url.Values{"limit": {strconv.FormatInt(limit, 10)}}}
	if token != "" {
		r.query.Set("continue", token)
	}
	page, err := c.listPage(ctx, r)
	return page.Items, page.Metadata.Continue, err
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
	for token := ""; ; {
		items, next, err := c.list(ctx, resource, 0, token)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			all = append(all, decode(item))
		}
		if next == "" {
			return all, nil
		}
		token = next
	}
}
