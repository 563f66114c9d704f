package compare

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/scheduling"
)

// object is JSON that both sides read.
type object = map[string]any

// scheduledAt is when the scheduler placed the binding, evictedAt when it is evicted.
var (
	scheduledAt = time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	evictedAt   = scheduledAt.Add(time.Hour)
)

// question is one binding that is to leave one cluster of a fleet.
type question struct {
	failing  string
	binding  object
	clusters []object
	// change makes of the input what Karmada does not tell.
	change func(*placement.PreCheckInput)
}

// claimed are the labels of a binding that a policy claims.
var claimed = object{api.LabelPolicyID: "policy"}

// plain turns anything into what JSON decodes to.
func plain(t require.TestingT, v any) object {
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	var out object
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// field reads a list of objects below spec.
func field(b object, name string) []any {
	spec, _ := b["spec"].(object)
	list, _ := spec[name].([]any)
	return list
}

func (q question) input(t require.TestingT) placement.PreCheckInput {
	b := k8sadapter.DecodeBinding([]byte(text(q.binding)))
	require.Empty(t, b.Malformed)
	require.Empty(t, b.UnknownFields)
	in := placement.PreCheckInput{Binding: &b, Failing: q.failing, Evacuating: map[string]bool{}}
	for _, o := range q.clusters {
		c := k8sadapter.DecodeCluster([]byte(text(o)))
		require.Empty(t, c.Malformed)
		in.Fleet = append(in.Fleet, c)
	}
	if q.change != nil {
		q.change(&in)
	}
	return in
}

// evicted is the binding as Lifeboat's write leaves it: the cluster out, a task for it in.
func (q question) evicted(t require.TestingT, reschedule bool) *api.Binding {
	after := plain(t, q.binding)
	spec := after["spec"].(object)
	spec["clusters"] = slices.DeleteFunc(slices.Clone(field(after, "clusters")), func(v any) bool {
		return v.(object)["name"] == q.failing
	})
	spec["gracefulEvictionTasks"] = append(field(after, "gracefulEvictionTasks"), object{
		"fromCluster": q.failing, "purgeMode": "Gracefully", "producer": "Lifeboat", "reason": "TaintUntolerated", "suppressDeletion": true,
	})
	if reschedule {
		spec["rescheduleTriggeredAt"] = evictedAt.Format(time.RFC3339)
	}
	b, err := api.From[api.Binding](after)
	require.NoError(t, err)
	if b.Annotations[api.AnnotationAppliedPlacement] == "" {
		b.Annotations = map[string]string{api.AnnotationAppliedPlacement: b.PlacementJSON}
	}
	return b
}

// fleet is the member clusters as the scheduler reads them.
func (q question) fleet(t require.TestingT) []*api.Cluster {
	var clusters []*api.Cluster
	for _, o := range q.clusters {
		c, err := api.From[api.Cluster](plain(t, o))
		require.NoError(t, err)
		clusters = append(clusters, c)
	}
	return clusters
}

// schedule is what the scheduler makes of the eviction: where the binding then is,
// nil when it found no place and nothing was left.
func (q question) schedule(t require.TestingT, reschedule bool) (targets []api.TargetCluster, placed bool, why string) {
	b := q.evicted(t, reschedule)
	if !scheduling.Responsible(b) {
		return nil, false, "the scheduler does not look at it"
	}
	switch d := scheduling.Decide(b, q.fleet(t)); d.Outcome {
	case scheduling.Placed:
		return d.Clusters, len(d.Clusters) > 0, d.Message
	case scheduling.NotNeeded:
		return b.Spec.Clusters, len(b.Spec.Clusters) > 0, "left as it is"
	default:
		return nil, false, d.Message
	}
}

// String prints a question so that it can be read; its seed asks it again.
func (q question) String() string {
	lines := []string{"leaves " + q.failing, "binding " + text(q.binding["spec"]), "status " + text(q.binding["status"])}
	for _, c := range q.clusters {
		lines = append(lines, "cluster "+text(c))
	}
	return strings.Join(lines, "\n")
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
