package activities_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

// Pods were killed on a node that had just recovered, by a controller that still saw it
// as it had been. Here it comes back at the last moment: after the pre-check has said
// yes, while the eviction waits for its moment. What the write goes by is read after that.
//
// Rules: R4.6-28, R4.7-2, R4.7-3.
func TestKubernetes119862And13258WhatRecoversAtTheLastMomentStays(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*bench)
		end       activities.EvictEnd
	}{
		"nothing happened":           {meanwhile: func(*bench) {}, end: activities.EvictWritten},
		"it is Ready again":          {meanwhile: func(b *bench) { b.world.SetReady("m1", true) }, end: activities.EvictNotAffected},
		"an operator took the taint": {meanwhile: func(b *bench) { b.world.DropTaint("m1", downKey) }, end: activities.EvictNotAffected},
		"another one has its name": {meanwhile: func(b *bench) {
			b.world.DeleteCluster("m1")
			b.world.AddCluster("m1")
		}, end: activities.EvictClusterGone},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.fail()
			before := must[activities.PreCheckResult](b, activities.NamePreCheck, activities.PreCheckRequest{
				Cluster: "m1", Mode: rules.ModeEnforce, Items: []activities.Checked{{Key: appKey("app"), UID: "uid-shop/app"}},
			})
			require.Equal(t, activities.CheckPass, before.Checks[0].End, "%+v", before)
			b.meanwhile(func() { c.meanwhile(b) })
			require.Equal(t, c.end, b.evict().End)
			require.Equal(t, c.end == activities.EvictWritten, len(b.world.Log("evict")) == 1)
		})
	}
}
