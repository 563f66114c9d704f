package k8sadapter

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

func unstructuredOf(t *testing.T, raw string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(raw), &u.Object))
	return u
}

const (
	clusterJSON = `{"apiVersion":"cluster.karmada.io/v1alpha1","kind":"Cluster","metadata":{"name":"m1","uid":"u","resourceVersion":"1",
      "managedFields":[{"manager":"x"}]},"status":{"conditions":[{"type":"Ready","status":"True","reason":"ClusterReady","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`
	rbJSON = `{"apiVersion":"work.karmada.io/v1alpha2","kind":"ResourceBinding","metadata":{"name":"b","namespace":"n","uid":"u","resourceVersion":"1",
      "annotations":{"policy.karmada.io/applied-placement":"{}","keep":"this"}},
      "spec":{"resource":{"apiVersion":"v1","kind":"ConfigMap","name":"x"},"clusters":[{"name":"m1"}],
      "placement":{"clusterAffinity":{"clusterNames":["m1"]}}}}`
	crbJSON = `{"apiVersion":"work.karmada.io/v1alpha2","kind":"ClusterResourceBinding","metadata":{"name":"c","uid":"u","resourceVersion":"1"},"spec":{"replicas":"many"}}`
)

func ruleJSON(name string) string {
	return `{"apiVersion":"failover.lifeboat.dev/v1alpha1","kind":"ClusterTaintRule","metadata":{"name":"` + name + `","uid":"u","resourceVersion":"1"},
          "spec":{"matchConditions":[{"conditionType":"Ready","operator":"In","statusValues":["False"]}],"taints":[{"key":"k","effect":"NoExecute"}]}}`
}

// heard collects what the handlers of a Watch were told.
type heard struct {
	mutex sync.Mutex
	lines []string
	rules [][]string
}

func (h *heard) say(line string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.lines = append(h.lines, line)
}

func (h *heard) contains(line string) func() bool {
	return func() bool {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		return slices.Contains(h.lines, line)
	}
}

// lastRules tells whether so many rules were reported last.
func (h *heard) lastRules(count int) func() bool {
	return func() bool {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		return len(h.rules) > 0 && len(h.rules[len(h.rules)-1]) == count
	}
}

func (h *heard) handlers() Handlers {
	return Handlers{
		OnCluster: func(old, current *karmada.Cluster) {
			if old == nil {
				h.say("new cluster " + current.Name)
				return
			}
			h.say("cluster " + current.Name + " at " + old.ResourceVersion + " then " + current.ResourceVersion)
		},
		OnClusterDeleted: func(last *karmada.Cluster) { h.say("deleted cluster " + last.Name) },
		OnRules: func(rules []rules.Rule) {
			var names []string
			for _, r := range rules {
				names = append(names, r.Name)
			}
			h.mutex.Lock()
			defer h.mutex.Unlock()
			h.rules = append(h.rules, names)
		},
		OnBinding: func(old, current *karmada.Binding) {
			if old == nil {
				h.say("new binding " + current.Key.String())
			}
		},
		OnBindingDeleted: func(last *karmada.Binding) { h.say("deleted binding " + last.Key.String()) },
	}
}

func fakeDynamic(t *testing.T, objects ...string) *fake.FakeDynamicClient {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{
		clusterResource: "ClusterList", ruleResource: "ClusterTaintRuleList",
		rbResource: "ResourceBindingList", crbResource: "ClusterResourceBindingList", policyResource: "ClusterTaintPolicyList",
	}
	var all []runtime.Object
	for _, raw := range objects {
		all = append(all, unstructuredOf(t, raw))
	}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, all...)
}

const patience, often = time.Minute, 5 * time.Millisecond

// watched tells that the fake API server is being watched: what changes between a list and
// its watch it would lose, where a real one sends it.
func watched(api *fake.FakeDynamicClient, resource schema.GroupVersionResource) func() bool {
	return func() bool {
		return slices.ContainsFunc(api.Actions(), func(a clienttesting.Action) bool { return a.Matches("watch", resource.Resource) })
	}
}

// watching runs a Watch for as long as the test.
func watching(t *testing.T, client *Client, handlers Handlers) *Watch {
	t.Helper()
	watch := NewWatch(client, handlers)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- watch.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return watch
}

func TestAWatchTellsWhatCameChangedAndWent(t *testing.T) {
	var h heard
	client := connect(t, http.NotFoundHandler(), Options{})
	api := fakeDynamic(t, clusterJSON, rbJSON, crbJSON)
	client.dynamic = api
	watch := watching(t, client, h.handlers())

	require.Eventually(t, watch.HasSynced, patience, often)
	for _, line := range []string{"new cluster m1", "new binding n/b", "new binding -/c"} {
		require.Eventually(t, h.contains(line), patience, often, line)
	}
	require.Len(t, watch.Clusters(), 1)
	require.Len(t, watch.Bindings(), 2)
	for _, b := range watch.Bindings() {
		if b.Key.Namespace == "" {
			assert.Contains(t, b.Malformed, "spec.replicas", "a malformed object is known to exist")
			continue
		}
		assert.Equal(t, map[string]string{"keep": "this"}, b.Annotations, "what only repeats the object is dropped")
		assert.True(t, b.PlacementPending, "what the dropped annotation says is kept")
		assert.Empty(t, b.RawClusters, "only a write needs them, and reads them anew")
	}

	require.Eventually(t, watched(api, clusterResource), patience, often)
	require.Eventually(t, watched(api, rbResource), patience, often)
	changed := unstructuredOf(t, clusterJSON)
	changed.SetResourceVersion("2")
	_, err := api.Resource(clusterResource).Update(t.Context(), changed, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Eventually(t, h.contains("cluster m1 at 1 then 2"), patience, often)
	require.NoError(t, api.Resource(clusterResource).Delete(t.Context(), "m1", metav1.DeleteOptions{}))
	require.Eventually(t, h.contains("deleted cluster m1"), patience, often)
	require.NoError(t, api.Resource(rbResource).Namespace("n").Delete(t.Context(), "b", metav1.DeleteOptions{}))
	require.Eventually(t, h.contains("deleted binding n/b"), patience, often)
}

func TestRulesAreToldTogetherAndOnlyWhenAllAreKnown(t *testing.T) {
	var h heard
	client := connect(t, http.NotFoundHandler(), Options{})
	api := fakeDynamic(t, ruleJSON("a"), ruleJSON("b"))
	client.dynamic = api
	NewWatch(client, h.handlers()).reportRules()
	require.Empty(t, h.rules, "nothing is known yet")
	watch := watching(t, client, h.handlers())

	require.Eventually(t, h.lastRules(2), patience, often)
	h.mutex.Lock()
	for _, told := range h.rules {
		assert.Len(t, told, 2, "never half of them")
	}
	h.mutex.Unlock()
	require.Eventually(t, watched(api, ruleResource), patience, often)
	require.NoError(t, api.Resource(ruleResource).Delete(t.Context(), "a", metav1.DeleteOptions{}))
	require.Eventually(t, h.lastRules(1), patience, often)
	require.Len(t, watch.Rules(), 1)
	assert.Empty(t, watch.Rules()[0].Malformed)
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mutex sync.Mutex
	bytes bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.bytes.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.bytes.String()
}

func TestAForbiddenWatchNamesVerbAndResourceOnceAndTheOthersGoOn(t *testing.T) {
	var log lockedBuffer
	var h heard
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "true" || r.URL.Path == "/apis/cluster.karmada.io/v1alpha1/clusters" {
			answer(w, http.StatusForbidden, "Forbidden")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":[]}`))
	})
	client := connect(t, server, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	watch := watching(t, client, h.handlers())

	const complaint = "may not list and watch clusters.cluster.karmada.io"
	require.Eventually(t, func() bool { return bytes.Contains([]byte(log.String()), []byte(complaint)) }, patience, often)
	require.Eventually(t, h.lastRules(0), patience, often, "rules were listed all the same")
	assert.False(t, watch.HasSynced())
	for range 5 {
		watch.logBroken(t.Context(), clusterResource, context.DeadlineExceeded)
	}
	assert.Equal(t, 1, bytes.Count([]byte(log.String()), []byte("deadline exceeded")), "the same trouble is told once a minute")
}

// Rules: R4.1-10, R4.1-12.
func TestAWatchTellsPoliciesWithTheRulesAndWaitsForNoKindThatIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		unknown bool
		want    int
	}{"known": {want: 2}, "unknown to an older Karmada": {unknown: true, want: 1}} {
		t.Run(name, func(t *testing.T) {
			var h heard
			client := connect(t, http.NotFoundHandler(), Options{Policies: &configured})
			api := fakeDynamic(t, ruleJSON("r"), policyJSON("", policySpec))
			if c.unknown {
				api.PrependReactor("list", policyResource.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewNotFound(policyResource.GroupResource(), "")
				})
			}
			client.dynamic = api
			watch := watching(t, client, h.handlers())
			require.Eventually(t, watch.HasSynced, patience, often)
			require.Eventually(t, h.lastRules(c.want), patience, often)
			for _, r := range watch.Rules() {
				assert.Empty(t, r.Malformed)
			}
		})
	}
}

// cachedNames are the bindings that a cache has, sorted, each with its version.
func cachedNames(c *BindingCache, held bool) []string {
	var names []string
	c.Each(held, func(b *karmada.Binding) { names = append(names, b.Key.String()+"@"+b.ResourceVersion) })
	slices.Sort(names)
	return names
}

// cacheOf runs a cache of some objects until it has seen them.
func cacheOf(t *testing.T, objects ...string) (*fake.FakeDynamicClient, *Client, *BindingCache) {
	t.Helper()
	api := fakeDynamic(t, objects...)
	client := connect(t, http.NotFoundHandler(), Options{})
	client.dynamic = api
	c := NewBindingCache(client)
	require.False(t, c.Known(), "nothing was seen yet")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	require.Eventually(t, c.Known, patience, often)
	require.Eventually(t, watched(api, rbResource), patience, often)
	return api, client, c
}

// namesOn are the bindings of a cluster, page by page, in the order of the pages.
func namesOn(c *BindingCache, cluster string, most int) (names []string) {
	for after, more := (karmada.BindingKey{}), true; more; {
		var page []karmada.Binding
		page, more = c.On(cluster, after, most)
		for i := range page {
			after = page[i].Key
			names = append(names, after.String()+"@"+page[i].ResourceVersion)
		}
	}
	return names
}

// Rules: R4.6-28.
func TestBindingCache_OwnWritesCountBeforeTheWatchTells(t *testing.T) {
	api, client, c := cacheOf(t, rbJSON, crbJSON)
	require.Equal(t, []string{"-/c@1", "n/b@1"}, cachedNames(c, false))
	require.Empty(t, cachedNames(c, true))

	heldJSON := func(version string) string {
		return strings.NewReplacer(`"resourceVersion":"1"`, `"resourceVersion":"`+version+`"`,
			`"clusters":[{"name":"m1"}]`, `"gracefulEvictionTasks":[{"fromCluster":"m1","producer":"Lifeboat"}]`).Replace(rbJSON)
	}
	client.onWrite(DecodeBinding([]byte(heldJSON("5"))))
	require.Equal(t, []string{"n/b@5"}, cachedNames(c, true), "as we wrote it")
	require.Equal(t, []string{"-/c@1", "n/b@5"}, cachedNames(c, false))
	client.onWrite(DecodeBinding([]byte(heldJSON("4"))))
	require.Equal(t, []string{"n/b@5"}, cachedNames(c, true), "an older answer that came late")
	one, known := c.Binding(karmada.BindingKey{Namespace: "n", Name: "b"})
	require.Equal(t, []any{true, "5", true}, []any{known, one.ResourceVersion, one.Held()})
	one, known = c.Binding(karmada.BindingKey{Name: "c"})
	require.Equal(t, []any{true, "1"}, []any{known, one.ResourceVersion})
	_, known = c.Binding(karmada.BindingKey{Namespace: "n", Name: "c"})
	require.False(t, known)
	require.Equal(t, []string{"n/b@5"}, namesOn(c, "m1", 1), "by its task")

	bindings := api.Resource(rbResource).Namespace("n")
	_, err := bindings.Update(t.Context(), unstructuredOf(t, strings.Replace(rbJSON, `"resourceVersion":"1"`, `"resourceVersion":"6"`, 1)), metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(cachedNames(c, true)) == 0 }, patience, often, "somebody dropped the task since")
	require.Equal(t, []string{"-/c@1", "n/b@6"}, cachedNames(c, false))
	one, known = c.Binding(karmada.BindingKey{Namespace: "n", Name: "b"})
	require.Equal(t, []any{true, "6"}, []any{known, one.ResourceVersion}, "the watch is newer")

	client.onWrite(DecodeBinding([]byte(heldJSON("7"))))
	require.NoError(t, bindings.Delete(t.Context(), "b", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return slices.Equal(cachedNames(c, false), []string{"-/c@1"}) }, patience, often, "and it is gone")
}

// Rules: R4.6-28.
func TestBindingCache_On_InPagesInTheOrderOfTheKeys(t *testing.T) {
	named := func(namespace, name, cluster string) string {
		return strings.NewReplacer(`"name":"b"`, `"name":"`+name+`"`, `"namespace":"n"`, `"namespace":"`+namespace+`"`, `"m1"`, `"`+cluster+`"`).Replace(rbJSON)
	}
	_, client, c := cacheOf(t, rbJSON, crbJSON, named("n", "c", "m1"), named("m", "z", "m1"), named("n", "a", "m2"), named("z", "a", "m1"))
	on := []string{"m/z@1", "n/b@1", "n/c@1", "z/a@1"}
	for most := 1; most < 6; most++ {
		require.Equal(t, on, namesOn(c, "m1", most), "%d on a page", most)
	}
	require.Equal(t, []string{"n/a@1"}, namesOn(c, "m2", 1))
	require.Empty(t, namesOn(c, "m3", 1))

	in := func(namespace string) (names []string) {
		c.In(namespace, func(b *karmada.Binding) { names = append(names, b.Key.Name) })
		return slices.Sorted(slices.Values(names))
	}
	client.onWrite(DecodeBinding([]byte(strings.Replace(rbJSON, `"resourceVersion":"1"`, `"resourceVersion":"5"`, 1))))
	require.Equal(t, []string{"a", "b", "c"}, in("n"), "each once")
	require.Equal(t, []string{"c"}, in(""), "without a namespace")
	require.Empty(t, in("o"))
}

// Rules: R4.6-46.
func TestSlimBinding_OnlyAJobKeepsItsRawStatus(t *testing.T) {
	binding := func(apiVersion, kind string) karmada.Binding {
		return slimBinding([]byte(`{"metadata":{"name":"b","namespace":"n","uid":"u"},"spec":{"resource":{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","name":"x"}},
			"status":{"aggregatedStatus":[{"clusterName":"m1","status":{"completionTime":"2026-01-01T00:00:00Z"}}]}}`))
	}
	job, other := binding("batch/v1", "Job"), binding("apps/v1", "Deployment")
	require.True(t, job.JobFinished("m1"))
	require.Nil(t, other.Item("m1").Status)
}

func TestSlimBinding_EqualLabelsAndAnnotationsAreOneMap(t *testing.T) {
	binding := func(id string) karmada.Binding {
		return slimBinding([]byte(`{"metadata":{"name":"b","namespace":"n","uid":"u","annotations":{"c":"d"},
			"labels":{"policy":"shared","resourcebinding.karmada.io/permanent-id":"` + id + `"}}}`))
	}
	one, other := binding("1"), binding("2")
	require.Equal(t, []string{"1", "2"}, []string{one.PermanentID, other.PermanentID})
	for _, pair := range [][2]map[string]string{{one.Labels, other.Labels}, {one.Annotations, other.Annotations}} {
		require.NotEmpty(t, pair[0])
		require.Equal(t, reflect.ValueOf(pair[0]).Pointer(), reflect.ValueOf(pair[1]).Pointer())
	}
}

func TestARelistThatBringsTheSameObjectAgainIsNoChange(t *testing.T) {
	entry := func(version, uid string) any {
		raw := strings.NewReplacer(`"resourceVersion":"1"`, `"resourceVersion":"`+version+`"`, `"uid":"u"`, `"uid":"`+uid+`"`).Replace(rbJSON)
		return fixtures.Must(keeping(slimBinding)(unstructuredOf(t, raw)))(t)
	}
	var seen []string
	handle := handler(func(_, current *karmada.Binding) {
		seen = append(seen, current.ResourceVersion+" "+string(current.UID))
	}, nil)
	for _, current := range []any{entry("1", "u"), entry("2", "u"), entry("1", "v")} {
		handle.OnUpdate(entry("1", "u"), current)
	}
	require.Equal(t, []string{"2 u", "1 v"}, seen)
}
