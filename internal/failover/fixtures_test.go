package failover_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// t0 is when every story begins.
var t0 = time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

func ptr[T any](v T) *T { return &v }

func taint(key string, effect corev1.TaintEffect, added time.Time) corev1.Taint {
	t := corev1.Taint{Key: key, Effect: effect}
	if !added.IsZero() {
		t.TimeAdded = &metav1.Time{Time: added}
	}
	return t
}

func noExecute(key string, added time.Time) corev1.Taint {
	return taint(key, corev1.TaintEffectNoExecute, added)
}

func noSchedule(key string) corev1.Taint {
	return taint(key, corev1.TaintEffectNoSchedule, time.Time{})
}

func softTaint(key string, added time.Time) corev1.Taint {
	return taint(key, failover.EffectPreferNoExecute, added)
}

// tolerate tolerates a key whatever the value and effect, for so many seconds; none means for ever.
func tolerate(key string, seconds ...int64) corev1.Toleration {
	t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists}
	if len(seconds) > 0 {
		t.TolerationSeconds = &seconds[0]
	}
	return t
}

// cluster is a Ready member with nothing against it.
func cluster(name string, change ...func(*failover.Cluster)) failover.Cluster {
	c := failover.Cluster{
		Name:           name,
		Conditions:     []failover.Condition{{Type: failover.ConditionReady, Status: corev1.ConditionTrue, Reason: "ClusterReady"}},
		Capacity:       pods(100, 10),
		APIEnablements: []string{"apps/v1/Deployment", "rbac.authorization.k8s.io/v1/ClusterRole"},
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func notReady(c *failover.Cluster) {
	c.Conditions = []failover.Condition{{Type: failover.ConditionReady, Status: corev1.ConditionFalse, Reason: "ClusterNotReachable"}}
}

func tainted(taints ...corev1.Taint) func(*failover.Cluster) {
	return func(c *failover.Cluster) { c.Taints = append(c.Taints, taints...) }
}

func labelled(kv ...string) func(*failover.Cluster) {
	return func(c *failover.Cluster) {
		c.Labels = map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			c.Labels[kv[i]] = kv[i+1]
		}
	}
}

func room(free int64) func(*failover.Cluster) {
	return func(c *failover.Cluster) {
		c.Capacity = pods(100, 100-free)
	}
}

// pods is a summary that knows of pods alone.
func pods(allocatable, allocated int64) *failover.Capacity {
	return &failover.Capacity{
		Allocatable: quantities("pods", allocatable), Allocated: quantities("pods", allocated),
	}
}

// quantities alternates name and amount.
func quantities(kv ...any) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(kv); i += 2 {
		out[corev1.ResourceName(fmt.Sprint(kv[i]))] = resource.MustParse(fmt.Sprint(kv[i+1]))
	}
	return out
}

func deletingCluster(c *failover.Cluster) { c.Deleting = true }

func names(n ...string) *failover.ClusterAffinity { return &failover.ClusterAffinity{ClusterNames: n} }

// duplicated is a settled Deployment of two replicas with a copy on each target.
func duplicated(targets ...string) *failover.Binding {
	b := &failover.Binding{
		Key:        failover.BindingKey{Namespace: "shop", Name: "cart-deployment"},
		UID:        "uid-1",
		Generation: 2,
		Resource:   failover.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "cart"},
		Replicas:   2,
		Workload:   true,
		Placement:  &failover.Placement{},
		Status: failover.BindingStatus{
			ObservedGeneration: 2,
			Scheduled:          &failover.Condition{Type: "Scheduled", Status: corev1.ConditionTrue, Reason: "Success"},
		},
	}
	for _, t := range targets {
		b.Clusters = append(b.Clusters, failover.TargetCluster{Name: t, Replicas: 2})
	}
	return b
}

// divided is a settled Deployment whose replicas are divided by static weight.
// Targets and weights alternate name and number.
func divided(targets []failover.TargetCluster, weights ...failover.StaticWeight) *failover.Binding {
	b := duplicated()
	b.Clusters, b.Replicas = targets, 0
	for _, t := range targets {
		b.Replicas += t.Replicas
	}
	b.Placement.ReplicaScheduling = &failover.ReplicaScheduling{
		Type: failover.SchedulingDivided, DivisionPreference: failover.DivisionWeighted,
	}
	if len(weights) > 0 {
		b.Placement.ReplicaScheduling.WeightPreference = &failover.WeightPreference{StaticWeightList: weights}
	}
	return b
}

func on(name string, replicas int32) failover.TargetCluster {
	return failover.TargetCluster{Name: name, Replicas: replicas}
}

func weight(w int64, clusters ...string) failover.StaticWeight {
	return failover.StaticWeight{TargetCluster: *names(clusters...), Weight: w}
}

// nonWorkload is a ClusterRole on each target.
func nonWorkload(targets ...string) *failover.Binding {
	b := duplicated(targets...)
	b.Key = failover.BindingKey{Name: "reader-clusterrole"}
	b.Resource = failover.Resource{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "reader"}
	b.Replicas, b.Workload = 0, false
	for i := range b.Clusters {
		b.Clusters[i].Replicas = 0
	}
	return b
}

func with(b *failover.Binding, change ...func(*failover.Binding)) *failover.Binding {
	for _, f := range change {
		f(b)
	}
	return b
}

func may(a *failover.ClusterAffinity) func(*failover.Binding) {
	return func(b *failover.Binding) { b.Placement.ClusterAffinity = a }
}

// groups gives the binding affinity groups, "name: m1 m2" each, the observed one by name.
func groups(observed string, lines ...string) func(*failover.Binding) {
	return func(b *failover.Binding) {
		b.Status.ObservedAffinity = observed
		for _, line := range lines {
			name, members, _ := strings.Cut(line, ":")
			b.Placement.ClusterAffinities = append(b.Placement.ClusterAffinities, failover.ClusterAffinityTerm{
				AffinityName: name, ClusterAffinity: *names(strings.Fields(members)...),
			})
		}
	}
}

func spread(minGroups, maxGroups int) func(*failover.Binding) {
	return func(b *failover.Binding) {
		b.Placement.SpreadConstraints = []failover.SpreadConstraint{{
			SpreadByField: failover.SpreadByCluster, MinGroups: minGroups, MaxGroups: maxGroups,
		}}
	}
}

func tolerating(t ...corev1.Toleration) func(*failover.Binding) {
	return func(b *failover.Binding) { b.Placement.ClusterTolerations = t }
}

// held is our task for a cluster.
func held(cluster string, replicas int32) failover.Task {
	return failover.Task{
		FromCluster: cluster, PurgeMode: failover.PurgeGracefully, Replicas: &replicas, Reason: failover.TaskReason,
		Producer: failover.Producer, SuppressDeletion: ptr(true), CreationTimestamp: ptr(t0),
	}
}

func task(t failover.Task) func(*failover.Binding) {
	return func(b *failover.Binding) { b.Tasks = append(b.Tasks, t) }
}

func scheduled(status corev1.ConditionStatus, reason string, since time.Time) func(*failover.Binding) {
	return func(b *failover.Binding) {
		b.Status.Scheduled = &failover.Condition{Type: "Scheduled", Status: status, Reason: reason, LastTransition: since}
	}
}

func generation(gen, observed int64) func(*failover.Binding) {
	return func(b *failover.Binding) { b.Generation, b.Status.ObservedGeneration = gen, observed }
}

// copyOn is the status of one Deployment copy, as Karmada aggregates it.
func copyOn(cluster string, health failover.Health, ready, replicas int64, gens ...int64) failover.AggregatedItem {
	item := failover.AggregatedItem{
		Cluster: cluster, Applied: true, Health: health, Replicas: &replicas, ReadyReplicas: &ready,
		Generation: ptr(int64(1)), ObservedGeneration: ptr(int64(1)),
	}
	if ready == 0 {
		item.ReadyReplicas = nil // Kubernetes leaves a zero out
	}
	if len(gens) == 2 {
		item.Generation, item.ObservedGeneration = &gens[0], &gens[1]
	}
	return item
}

func reports(items ...failover.AggregatedItem) func(*failover.Binding) {
	return func(b *failover.Binding) { b.Status.Aggregated = items }
}

var rewrite = flag.Bool("rewrite", false, "rewrite golden files; only commit the changes if you understand what caused them")

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(filepath.Clean(path))
	require.NoError(t, err, "run with -rewrite to make it")
	require.Equal(t, string(want), got)
}
