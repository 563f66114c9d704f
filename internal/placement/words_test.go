package placement_test

import (
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
)

// The words of the tables, as fixtures has them.
var (
	with, duplicated, nonWorkload = fixtures.With, fixtures.Duplicated, fixtures.NonWorkload
	may, names, groups, spread    = fixtures.May, fixtures.Names, fixtures.Groups, fixtures.Spread
	fleet, cluster, notReady      = fixtures.Fleet, fixtures.Cluster, fixtures.NotReady
	room, tainted, noSchedule     = fixtures.Room, fixtures.Tainted, fixtures.NoSchedule
	labelled, quantities          = fixtures.Labelled, fixtures.Quantities
	on, weight                    = fixtures.On, fixtures.Weight
)

// divided is a Deployment whose replicas are divided, by equal weights.
func divided(targets ...karmada.TargetCluster) *karmada.Binding { return fixtures.Divided(targets) }

// twoRegions and oneRegion spread over so many, with a cluster in each.
var (
	twoRegions = spreadOver(by("region", 2, 2), by("cluster", 2, 2))
	oneRegion  = spreadOver(by("region", 1, 1), by("cluster", 1, 1))
)

func m2(change ...func(*karmada.Cluster)) karmada.Cluster { return cluster("m2", change...) }

func m3(change ...func(*karmada.Cluster)) karmada.Cluster { return cluster("m3", change...) }

func m4(change ...func(*karmada.Cluster)) karmada.Cluster { return cluster("m4", change...) }
