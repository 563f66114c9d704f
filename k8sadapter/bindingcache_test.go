package k8sadapter

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic/fake"
)

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
	_, _, c := cacheOf(t, rbJSON, named("n", "c", "m1"), named("m", "z", "m1"), named("n", "a", "m2"), named("z", "a", "m1"))
	on := []string{"m/z@1", "n/b@1", "n/c@1", "z/a@1"}
	for most := 1; most < 6; most++ {
		require.Equal(t, on, namesOn(c, "m1", most), "%d on a page", most)
	}
	require.Equal(t, []string{"n/a@1"}, namesOn(c, "m2", 1))
	require.Empty(t, namesOn(c, "m3", 1))
}
