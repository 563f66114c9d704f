package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// chronicle has seen every version of every object of some resources, from a watch:
// what never stood, not even for a moment, is not in it.
type chronicle struct {
	client dynamic.Interface
	// patient: the server may go away; what it stored meanwhile is listed, not seen one by one.
	patient bool

	mu       sync.Mutex
	note     func(version)        // takes each version, and only the last of an object is kept; nil: all are kept
	versions map[string][]version // by resource and key
	broken   error
}

// version is one state of an object. Versions of different objects are ordered by
// their revision, which etcd counts.
type version struct {
	Revision int64
	Seen     time.Time
	Object   *unstructured.Unstructured
	Deleted  bool
}

func newChronicle(client dynamic.Interface) *chronicle {
	return &chronicle{client: client, versions: map[string][]version{}}
}

// follow records a resource until ctx ends, from everything that is there now.
func (c *chronicle) follow(ctx context.Context, resource schema.GroupVersionResource) error {
	list, err := c.client.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	c.listed(resource, list)
	go c.watch(ctx, resource, list.GetResourceVersion())
	return nil
}

// watch goes on where it was whenever the server ends it; a gap is an error.
func (c *chronicle) watch(ctx context.Context, resource schema.GroupVersionResource, from string) {
	for ctx.Err() == nil {
		var err error
		if from, err = c.stream(ctx, resource, from); err == nil {
			continue
		}
		if !c.patient {
			c.fail(ctx, fmt.Errorf("watch %s: %w", resource.Resource, err))
			return
		}
		from = c.again(ctx, resource)
	}
}

// stream records what one watch says, and returns how far that was.
func (c *chronicle) stream(ctx context.Context, resource schema.GroupVersionResource, from string) (string, error) {
	w, err := c.client.Resource(resource).Watch(ctx, metav1.ListOptions{ResourceVersion: from})
	if err != nil {
		return from, err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if event.Type == watch.Error || !ok {
			return from, apierrors.FromObject(event.Object)
		}
		from = u.GetResourceVersion()
		c.add(resource, u, event.Type == watch.Deleted)
	}
	return from, nil
}

// again lists what there is, as soon as the server answers.
func (c *chronicle) again(ctx context.Context, resource schema.GroupVersionResource) string {
	for {
		list, err := c.client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err == nil {
			c.listed(resource, list)
			return list.GetResourceVersion()
		}
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// listed takes a new list. An object that is missing from it has ended while nothing was watched.
func (c *chronicle) listed(resource schema.GroupVersionResource, list *unstructured.UnstructuredList) {
	standing, _ := c.latest(resource)
	gone := map[string]*unstructured.Unstructured{}
	for _, u := range standing {
		gone[keyOf(u)] = u
	}
	for i := range list.Items {
		delete(gone, keyOf(&list.Items[i]))
		c.add(resource, &list.Items[i], false)
	}
	for _, u := range gone {
		u = u.DeepCopy()
		u.SetResourceVersion(list.GetResourceVersion())
		c.add(resource, u, true)
	}
}

func (c *chronicle) fail(ctx context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() == nil {
		c.broken = errors.Join(c.broken, err)
	}
}

func (c *chronicle) add(resource schema.GroupVersionResource, u *unstructured.Unstructured, deleted bool) {
	revision, err := strconv.ParseInt(u.GetResourceVersion(), 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = errors.Join(c.broken, err)
	at := resource.Resource + " " + keyOf(u)
	if seen := c.versions[at]; len(seen) > 0 && seen[len(seen)-1].Revision >= revision {
		return // listed again
	}
	v := version{Revision: revision, Seen: time.Now(), Object: u, Deleted: deleted}
	if c.note != nil {
		c.note(v)
		c.versions[at] = nil
	}
	c.versions[at] = append(c.versions[at], v)
}

// noteOnly hands each version from now on to a function, and keeps only the last of each object.
func (c *chronicle) noteOnly(note func(version)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note = note
}

// of are all versions of one object so far, oldest first.
func (c *chronicle) of(resource schema.GroupVersionResource, key string) ([]version, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.versions[resource.Resource+" "+key]), c.broken
}

// latest are the objects of a resource as they stand, in no order.
func (c *chronicle) latest(resource schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*unstructured.Unstructured
	for at, versions := range c.versions {
		last := versions[len(versions)-1]
		if strings.HasPrefix(at, resource.Resource+" ") && !last.Deleted {
			all = append(all, last.Object)
		}
	}
	return all, c.broken
}

// uids counts the objects that ever were, by uid, and says whether one of them stands.
func (c *chronicle) uids(resource schema.GroupVersionResource, is func(version) bool) (count int, stands bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[types.UID]bool{}
	for at, versions := range c.versions {
		if !strings.HasPrefix(at, resource.Resource+" ") || !is(versions[0]) {
			continue
		}
		for _, v := range versions {
			seen[v.Object.GetUID()] = true
		}
		stands = stands || !versions[len(versions)-1].Deleted
	}
	return len(seen), stands
}

// audited is one line of the API server's audit log: a request, after it was answered.
type audited struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Agent    string    `json:"userAgent"`
	Received time.Time `json:"requestReceivedTimestamp"`
	// Annotations say who was let through by which role, and who was not.
	Annotations map[string]string `json:"annotations"`
}

func (a audited) String() string {
	return fmt.Sprintf("%s %s %s %s/%s %s -> %d", a.Received.Format(time.TimeOnly), a.User.Username, a.Verb,
		a.Object.Namespace, a.Object.Name, a.Object.Resource, a.Response.Code)
}

// changed: it was accepted and stored something, which reads and reviews of permissions
// do not. What timed out may have been stored.
func (a audited) changed() bool {
	reads := slices.Contains([]string{"get", "list", "watch"}, a.Verb)
	stored := a.Response.Code < http.StatusMultipleChoices || a.Response.Code == http.StatusGatewayTimeout
	return !reads && stored && !strings.HasSuffix(a.Object.Resource, "reviews")
}

func (a audited) byLifeboat() bool { return strings.HasPrefix(a.User.Username, "lifeboat-") }

// auditLog follows the API server's audit log, each line once.
type auditLog struct {
	file   string
	mu     sync.Mutex
	offset int64
	writes []audited
	rights rights
}

// newAuditLog holds what it reads against the roles in a folder.
func newAuditLog(file, roles string) (*auditLog, error) {
	granted, err := readRights(roles)
	return &auditLog{file: file, rights: granted}, err
}

// read are all writes so far. A line may come a moment after its answer.
func (l *auditLog) read() ([]audited, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.Open(l.file)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // read only
	content, err := io.ReadAll(io.NewSectionReader(file, l.offset, 1<<40))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(content) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // being written
		}
		var a audited
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		l.offset += int64(len(line))
		l.rights.note(a)
		if a.changed() {
			l.writes = append(l.writes, a)
		}
	}
	return slices.Clone(l.writes), nil
}

func TestChronicle_ListedAnewAfterALostWatch_WhatIsMissingHasEnded(t *testing.T) {
	c := newChronicle(nil)
	of := func(name, version string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetName(name)
		u.SetResourceVersion(version)
		return u
	}
	c.add(works, of("stays", "1"), false)
	c.add(works, of("ends", "2"), false)
	list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*of("stays", "1")}}
	list.SetResourceVersion("3")
	c.listed(works, list)
	standing, err := c.latest(works)
	require.NoError(t, err)
	require.Len(t, standing, 1)
	require.Equal(t, "stays", standing[0].GetName())
}
