package activities_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
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
		evictRow
	}{
		"nothing happened":           {evictRow: evictRow{end: activities.EvictWritten, reason: reason.Written}},
		"it is Ready again":          {meanwhile: recovered, evictRow: evictRow{end: activities.EvictNotAffected, reason: reason.NoTaint}},
		"an operator took the taint": {meanwhile: noTaint, evictRow: evictRow{end: activities.EvictNotAffected, reason: reason.NoTaint}},
		"another one has its name": {meanwhile: func(b *bench) {
			b.world.DeleteCluster("m1")
			b.world.AddCluster("m1")
		}, evictRow: evictRow{end: activities.EvictClusterGone, reason: reason.ClusterGone}},
	} {
		t.Run(name, func(t *testing.T) {
			b := failing(t)
			require.Equal(t, activities.CheckPass, b.check("app")[0].End)
			b.meanwhile(c.meanwhile)
			c.run(t, b, b.evictRequest())
		})
	}
}
