package k8sadapter

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cachedNames are the bindings that a cache has, sorted, each with its version.
func cachedNames(c *BindingCache, held bool) []string {
	var names []string
	c.Each(held, func(b *failover.Binding) { names = append(names, b.Key.String()+"@"+b.ResourceVersion) })
	slices.Sort(names)
	return names
}

// Rules: R4.6-28.
func TestBindingCache_OwnWritesCountBeforeTheWatchTells(t *testing.T) {
	api := fakeDynamic(t, rbJSON, crbJSON)
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

	bindings := api.Resource(rbResource).Namespace("n")
	_, err := bindings.Update(t.Context(), unstructuredOf(t, strings.Replace(rbJSON, `"resourceVersion":"1"`, `"resourceVersion":"6"`, 1)), metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(cachedNames(c, true)) == 0 }, patience, often, "somebody dropped the task since")
	require.Equal(t, []string{"-/c@1", "n/b@6"}, cachedNames(c, false))

	client.onWrite(DecodeBinding([]byte(heldJSON("7"))))
	require.NoError(t, bindings.Delete(t.Context(), "b", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return slices.Equal(cachedNames(c, false), []string{"-/c@1"}) }, patience, often, "and it is gone")
}
