package proof_test

import (
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
)

// The words of the tables, as fixtures has them.
var (
	with, duplicated, nonWorkload = fixtures.With, fixtures.Duplicated, fixtures.NonWorkload
	reports, copyOn, on           = fixtures.Reports, fixtures.CopyOn, fixtures.On
	scheduled, generation         = fixtures.Scheduled, fixtures.Generation
	groups, spread                = fixtures.Groups, fixtures.Spread
	cluster, notReady             = fixtures.Cluster, fixtures.NotReady
	tainted, noSchedule           = fixtures.Tainted, fixtures.NoSchedule
)

// divided is a Deployment whose replicas are divided, by equal weights.
func divided(targets ...karmada.TargetCluster) *karmada.Binding { return fixtures.Divided(targets) }
