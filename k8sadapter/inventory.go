package k8sadapter

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Inventory is what one resource holds, read as Lifeboat reads it.
type Inventory struct {
	Resource string // "clusters.cluster.karmada.io"
	Count    int
	// Malformed are those that cannot be understood.
	Malformed []MalformedObject
	// Absent tells that this API server does not serve the resource.
	Absent bool
	// Err is why it could not be read to its end; classified.
	Err error
}

// MalformedObject is one that cannot be understood, and why.
type MalformedObject struct {
	Name    string `json:"name"`
	Problem string `json:"problem"`
}

// reading is how one resource is read: problem says who an object is and what of it
// cannot be understood.
type reading struct {
	resource schema.GroupVersionResource
	accept   string
	problem  func(raw []byte) MalformedObject
}

func (c *Client) readings() []reading {
	windows := PolicyWindows{AddOnMatch: rules.DefaultAddOnMatch, RemoveOnMismatch: rules.DefaultRemoveOnMismatch}
	binding := func(raw []byte) MalformedObject {
		b := DecodeBinding(raw)
		return MalformedObject{b.Key.String(), b.Malformed}
	}
	return []reading{
		{clusterResource, "", func(raw []byte) MalformedObject {
			x := DecodeCluster(raw)
			return MalformedObject{x.Name, x.Malformed}
		}},
		{ruleResource, "", func(raw []byte) MalformedObject {
			x := DecodeRule(raw)
			return MalformedObject{x.Name, x.Malformed}
		}},
		{policyResource, "", func(raw []byte) MalformedObject {
			x := DecodePolicy(raw, windows)
			return MalformedObject{x.Name, x.Malformed}
		}},
		{rbResource, "", binding},
		{crbResource, "", binding},
		{workResource, acceptMetadataList, metadataProblem},
		{ppResource, acceptMetadataList, metadataProblem},
		{cppResource, acceptMetadataList, metadataProblem},
	}
}

// metadataProblem is for what Lifeboat reads the metadata of.
func metadataProblem(raw []byte) MalformedObject {
	var d decoding
	_, meta := d.object(raw)
	return MalformedObject{karmada.BindingKey{Namespace: meta.Namespace, Name: meta.Name}.String(), d.malformed()}
}

// May tells whether a verb ("list", "watch") is to be tried on a resource, as
// "clusters.cluster.karmada.io"; a nil one has everything tried.
type May func(verb, resource string) bool

func (may May) try(verb string, r schema.GroupVersionResource) bool {
	return may == nil || may(verb, r.GroupResource().String())
}

// Inventory reads every object of every resource that Lifeboat reads and that may be
// listed, and changes nothing. Every resource has its own answer.
func (c *Client) Inventory(ctx context.Context, may May) []Inventory {
	var all []Inventory
	for _, r := range c.readings() {
		if may.try("list", r.resource) {
			all = append(all, c.inventory(ctx, r))
		}
	}
	return all
}

func (c *Client) inventory(ctx context.Context, r reading) Inventory {
	out := Inventory{Resource: r.resource.GroupResource().String()}
	query := url.Values{"limit": {strconv.Itoa(pageLimit)}}
	for {
		page, err := c.listPage(ctx, request{verb: "list", resource: r.resource, query: query, accept: r.accept})
		if errors.Is(err, karmada.ErrGone) {
			out.Absent = true
			return out
		}
		if err != nil {
			out.Err = err
			return out
		}
		out.Count += len(page.Items)
		for _, item := range page.Items {
			if found := r.problem(item); found.Problem != "" {
				out.Malformed = append(out.Malformed, found)
			}
		}
		if page.Metadata.Continue == "" {
			return out
		}
		query.Set("continue", page.Metadata.Continue)
	}
}

// Watched is how the watch of one resource went.
type Watched struct {
	Resource string
	// Events came while it was open, bookmarks included.
	Events int
	// Absent tells that this API server does not serve the resource.
	Absent bool
	// Err is why it could not be opened, or broke; classified.
	Err error
}

// watchOpen is for how long a watch is held open to see that it stays so.
const watchOpen = time.Second

// Watches opens a watch on each resource that lifeboat controller follows and that may be
// watched, from the version of its list, and closes it after a moment.
func (c *Client) Watches(ctx context.Context, may May) []Watched {
	var all []Watched
	for _, r := range []schema.GroupVersionResource{clusterResource, ruleResource, policyResource, rbResource, crbResource} {
		if !may.try("watch", r) {
			continue
		}
		w := Watched{Resource: r.GroupResource().String()}
		w.Events, w.Err = c.watchOnce(ctx, r)
		if errors.Is(w.Err, karmada.ErrGone) {
			w.Absent, w.Err = true, nil
		}
		all = append(all, w)
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
	for {
		select {
		case <-ctx.Done():
			return events, nil // it was open all the time
		case e, open := <-w.ResultChan():
			switch {
			case !open:
				return events, nil
			case e.Type == watch.Error:
				return events, classify(request{verb: "watch", resource: r}, apierrors.FromObject(e.Object), 0)
			}
			events++
		}
	}
}

// syncPoll is how often InStep looks whether everything was listed.
const syncPoll = 50 * time.Millisecond

// Sight is how much a watch has seen.
type Sight struct{ Clusters, Rules, Bindings int }

// InStep runs the watch that lifeboat controller runs until it has seen everything once,
// and says what it saw.
func (c *Client) InStep(ctx context.Context) (Sight, error) {
	running, stop := context.WithCancel(ctx)
	w := NewWatch(WatchConfig{Client: c}, Handlers{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.Run(running) // what it cannot watch is never seen, and told below
	}()
	defer func() {
		stop()
		<-ended
	}()
	tick := time.NewTicker(syncPoll)
	defer tick.Stop()
	for !w.HasSynced() {
		select {
		case <-ctx.Done():
			return Sight{}, fmt.Errorf("the watch did not see everything: %w: %w", karmada.ErrUnreachable, ctx.Err())
		case <-tick.C:
		}
	}
	return Sight{len(w.Clusters()), len(w.Rules()), len(w.Bindings())}, nil
}
