package plan

import (
	"context"
	"errors"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
)

// silent is somebody who does not answer which copy is held.
type silent struct{}

func (silent) OldWork(context.Context, string) (*karmada.Work, error) {
	return nil, errors.New("no answer")
}

// chained has the cart moved from m1 to m2 by a migration that runs and holds its copy on
// m1, which is well again.
func chained(t *testing.T) (*world.World, Source) {
	t.Helper()
	w, s := fleet(t)
	const owner = "binding-migration/m1/shop/cart"
	cart, err := w.Binding(t.Context(), key("cart"))
	require.NoError(t, err)
	_, err = w.Evict(t.Context(), activities.EvictWrite{Binding: &cart, Cluster: "m1", Owner: owner, Now: now, Reason: karmada.TaskReason})
	require.NoError(t, err)
	w.Change(key("cart"), func(b *karmada.Binding) {
		b.Clusters = []karmada.TargetCluster{{Name: "m2", Replicas: 2}}
		b.Status.ObservedGeneration = b.Generation
	})
	w.SetRunning(owner, true)
	s.Owners, s.Moves = w, w
	return w, s
}

// A plan asks what the write will ask: which copy is held.
//
// Rules: R4.9-29, R4.9-30.
func TestAPlanForeseesASwapOnlyWithTheCopyThatIsHeld(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*world.World, *Source)
		swaps   bool
	}{
		"the held copy stands": {arrange: func(*world.World, *Source) {}, swaps: true},
		"another one stands under its name": {arrange: func(w *world.World, _ *Source) {
			work, _ := w.StandingWork(key("cart"), "m1")
			w.DropWork(work.Namespace, work.Name)
			work.UID = "another"
			w.PutWork(work)
		}, swaps: false},
		"whoever holds it does not answer": {arrange: func(_ *world.World, s *Source) { s.Moves = silent{} }, swaps: false},
		"whoever held it does not run":     {arrange: func(w *world.World, _ *Source) { w.SetRunning("binding-migration/m1/shop/cart", false) }, swaps: false},
		"its cluster is not fit":           {arrange: func(w *world.World, _ *Source) { w.SetReady("m1", false) }, swaps: false},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := chained(t)
			c.arrange(w, &s)
			p, err := s.Cluster(t.Context(), "m2")
			require.NoError(t, err)
			cart := p.Bindings[0]
			require.Equal(t, "shop/cart", cart.Binding)
			if c.swaps {
				require.Equal(t, []string{"m1"}, cart.Candidates)
				require.Contains(t, cart.Message, "m1 has recovered and takes over again")
				return
			}
			require.NotContains(t, cart.Message, "takes over again")
		})
	}
}

func key(name string) karmada.BindingKey { return karmada.BindingKey{Namespace: "shop", Name: name} }
