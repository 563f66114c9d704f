package placement_test

import (
	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	corev1 "k8s.io/api/core/v1"
)

// promised reserves so many pods on one cluster.
func promised(cluster string, n int) placement.Reservations {
	return placement.Reservations{Placed: map[string]corev1.ResourceList{cluster: fixtures.Quantities("pods", n)}}
}

func podsIn(list corev1.ResourceList) int64 { return list.Pods().Value() }
