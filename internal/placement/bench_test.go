package placement_test

import (
	"fmt"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
)

// BenchmarkPreCheck checks 200 bindings against a fleet of 50 clusters.
func BenchmarkPreCheck(b *testing.B) {
	fleet := fixtures.Fleet(fixtures.Cluster("m1", fixtures.NotReady))
	for n := 2; n <= 50; n++ {
		fleet = append(fleet, fixtures.Cluster(fmt.Sprintf("m%d", n)))
	}
	for _, row := range []struct {
		name    string
		binding *karmada.Binding
	}{
		{name: "duplicated", binding: fixtures.Duplicated("m1")},
		{name: "divided", binding: fixtures.Divided([]karmada.TargetCluster{fixtures.On("m1", 2)})},
	} {
		b.Run(row.name, func(b *testing.B) {
			in := placement.PreCheckInput{Binding: row.binding, Failing: "m1", Fleet: fleet}
			b.ReportAllocs()
			for b.Loop() {
				for range 200 {
					placement.PreCheck(in)
				}
			}
		})
	}
}
