package k8sadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
)

// Inventory is the content of one resource, read as Lifeboat reads it.
type Inventory struct {
	Resource string // "clusters.cluster.karmada.io"
	Count    int
	// Malformed are the objects that Lifeboat cannot read.
	Malformed []MalformedObject
	// Absent: this API server does not serve the resource.
	Absent bool
	// Err is why the list could not be read to its end; classified.
	Err error
}

// MalformedObject is an object that Lifeboat cannot read, and why.
type MalformedObject struct {
	Name    string `json:"name"`
	Problem string `json:"problem"`
}

// reading is how one resource is read: decode returns an object's name and problem.
type reading struct {
	resource schema.GroupVersionResource
	accept   string
	decode   func(raw []byte) MalformedObject
}

var readings = []reading{
	{resource: clusterResource, decode: func(raw []byte) MalformedObject {
		x := DecodeCluster(raw)
		return MalformedObject{x.Name, x.Malformed}
	}},
	{resource: ruleResource, decode: func(raw []byte) MalformedObject {
		x := DecodeRule(raw)
		return MalformedObject{x.Name, x.Malformed}
	}},
	{resource: policyResource, decode: func(raw []byte) MalformedObject {
		x := DecodePolicy(raw, PolicyWindows{AddOnMatch: rules.DefaultAddOnMatch, RemoveOnMismatch: rules.DefaultRemoveOnMismatch})
		return MalformedObject{x.Name, x.Malformed}
	}},
	{resource: rbResource, decode: bindingProblem},
	{resource: crbResource, decode: bindingProblem},
	{resource: workResource, accept: acceptMetadataList, decode: metadataProblem},
	{resource: ppResource, accept: acceptMetadataList, decode: metadataProblem},
	{resource: cppResource, accept: acceptMetadataList, decode: metadataProblem},
}

func bindingProblem(raw []byte) MalformedObject {
	b := DecodeBinding(raw)
	return MalformedObject{b.Key.String(), b.Malformed}
}

// metadataProblem is for resources of which Lifeboat reads only the metadata.
func metadataProblem(raw []byte) MalformedObject {
	var d decoding
	_, meta := d.object(raw)
	return MalformedObject{karmada.BindingKey{Namespace: meta.Namespace, Name: meta.Name}.String(), d.malformed()}
}

// May reports whether to try a verb ("list", "watch") on a resource such as
// "clusters.cluster.karmada.io"; nil means always.
type May func(verb, resource string) bool

func (may May) try(verb string, r schema.GroupVersionResource) bool {
	return may == nil || may(verb, r.GroupResource().String())
}

// Inventory reads every object of every resource that Lifeboat reads and that the user may
// list.
func (c *Client) Inventory(ctx context.Context, may May) []Inventory {
	var all []Inventory
	for _, r := range readings {
		if may.try("list", r.resource) {
			all = append(all, c.inventory(ctx, r))
		}
	}
	return all
}

func (c *Client) inventory(ctx context.Context, r reading) (out Inventory) {
	out.Resource = r.resource.GroupResource().String()
	err := c.each(ctx, request{resource: r.resource, accept: r.accept}, func(raw json.RawMessage) {
		out.Count++
		if found := r.decode(raw); found.Problem != "" {
			out.Malformed = append(out.Malformed, found)
		}
	})
	out.Absent, out.Err = absence(err)
	return out
}

// absence separates "the resource is not served" from other errors.
func absence(err error) (absent bool, other error) {
	if errors.Is(err, karmada.ErrGone) {
		return true, nil
	}
	return false, err
}

// Watched is the result of a trial watch of one resource.
type Watched struct {
	Resource string
	// Events counts those received, bookmarks included.
	Events int
	// Absent: this API server does not serve the resource.
	Absent bool
	// Err is why the watch could not be opened, or broke; classified.
	Err error
}

// watchOpen is how long a trial watch stays open.
const watchOpen = time.Second

// Watches opens a watch on each resource that lifeboat controller follows and that the user
// may watch, from the version of its list, and closes it after watchOpen.
func (c *Client) Watches(ctx context.Context, may May) []Watched {
	var all []Watched
	for _, r := range []schema.GroupVersionResource{clusterResource, ruleResource, policyResource, rbResource, crbResource} {
		if !may.try("watch", r) {
			continue
		}
		events, err := c.watchOnce(ctx, r)
		absent, err := absence(err)
		all = append(all, Watched{Resource: r.GroupResource().String(), Events: events, Absent: absent, Err: err})
	}
	return all
}

func (c *Client) watchOnce(ctx context.Context, r schema.GroupVersionResource) (events int, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	list, err := c.dynamic.Resource(r).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, classify(request{verb: "list", resource: r}, err, 0)
	}
	short := int64(watchOpen.Seconds())
	w, err := c.dynamic.Resource(r).Watch(ctx, metav1.ListOptions{
		ResourceVersion: list.GetResourceVersion(), AllowWatchBookmarks: true, TimeoutSeconds: &short,
	})
	if err != nil {
		return 0, classify(request{verb: "watch", resource: r}, err, 0)
	}
	defer w.Stop()
	for e := range w.ResultChan() { // closed by the server, or when ctx ends
		if e.Type == watch.Error && ctx.Err() == nil {
			return events, classify(request{verb: "watch", resource: r}, apierrors.FromObject(e.Object), 0)
		}
		events++
	}
	return events, nil
}

// syncPoll is how often InStep checks whether everything was listed.
const syncPoll = 50 * time.Millisecond

// Sight counts the objects that a watch has seen; Applications are the bindings with spec.failover.application.
type Sight struct{ Clusters, Rules, Bindings, Applications int }

// InStep runs the watch of lifeboat controller until it has listed everything once, and
// returns the counts.
func (c *Client) InStep(ctx context.Context) (Sight, error) {
	running, stop := context.WithCancel(ctx)
	w := NewWatch(c, Handlers{})
	var ended sync.WaitGroup
	ended.Go(func() { _ = w.Run(running) }) // resources that it cannot watch never sync
	defer ended.Wait()
	defer stop()
	err := wait.PollUntilContextCancel(ctx, syncPoll, true, func(context.Context) (bool, error) { return w.HasSynced(), nil })
	if err != nil {
		return Sight{}, fmt.Errorf("the watch did not see everything: %w: %w", karmada.ErrUnreachable, err)
	}
	bindings := w.Bindings()
	seen := Sight{Clusters: len(w.Clusters()), Rules: len(w.Rules()), Bindings: len(bindings)}
	for n := range bindings {
		if bindings[n].Application != nil {
			seen.Applications++
		}
	}
	return seen, nil
}
