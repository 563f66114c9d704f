package failover_test

import (
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	corev1 "k8s.io/api/core/v1"
)

// promised reserves so many pods on one cluster.
func promised(cluster string, n int) failover.Reservations {
	return failover.Reservations{Placed: map[string]corev1.ResourceList{cluster: quantities("pods", n)}}
}

func podsIn(list corev1.ResourceList) int64 { return list.Pods().Value() }
