package queue_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

func TestASetOfBindingsIsSmallAndForgetsNothing(t *testing.T) {
	const n = 100_000
	name := func(i int) karmada.BindingKey {
		return karmada.BindingKey{Namespace: fmt.Sprintf("team-%d", i%500), Name: fmt.Sprintf("app-%d-deployment", i)}
	}
	uid := func(i int) types.UID { return types.UID(fmt.Sprintf("uid-%d", i)) }
	set := &queue.BindingSet{}
	for i := range n {
		set.Add(name(i), uid(i))
	}
	require.Equal(t, n, set.Len(), "no two of them look the same")
	set.Remove(name(7), uid(7))
	raw, err := json.Marshal(set)
	require.NoError(t, err)
	require.Less(t, len(raw), 7*n)
	again, err := json.Marshal(set)
	require.NoError(t, err)
	require.Equal(t, raw, again, "whatever the order in which the map is walked")
	carried := &queue.BindingSet{}
	require.NoError(t, json.Unmarshal(raw, carried))
	require.Equal(t, set, carried)
	require.False(t, carried.Has(name(7), uid(7)))
	for i := 8; i < n; i++ {
		require.True(t, carried.Has(name(i), uid(i)))
		require.False(t, carried.Has(name(i), "another"))
	}
	for _, bad := range []string{`1`, `"?"`, `"gA=="`} {
		require.Error(t, json.Unmarshal([]byte(bad), carried), bad)
	}
	var none *queue.BindingSet
	require.False(t, none.Has(name(1), uid(1)))
	require.Zero(t, none.Len())
}
