package k8sadapter

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// recorded reads the objects of a recording of a real Karmada, oldest first.
func recorded(t *testing.T, name string) []json.RawMessage {
	t.Helper()
	file := fixtures.Must(os.Open(filepath.Join("testdata", "recordings", name)))(t)
	defer func() { require.NoError(t, file.Close()) }()
	var objects []json.RawMessage
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Object json.RawMessage `json:"object"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &event))
		objects = append(objects, event.Object)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, objects)
	return objects
}

func TestRecordingsOfARealKarmadaAreUnderstood(t *testing.T) {
	for _, name := range []string{"rb.jsonl", "crb.jsonl"} {
		for _, raw := range recorded(t, name) {
			b := DecodeBinding(raw)
			assert.Empty(t, b.Malformed, b.Key)
			assert.Empty(t, b.UnknownFields, b.Key)
			if b.Key.Name != "onecfg-configmap" { // a dependent: the scheduler never sees it
				assert.NotNil(t, b.Status.Scheduled, b.Key)
			}
			assert.Positive(t, b.Generation, b.Key)
			for _, item := range b.Status.Aggregated {
				assert.Empty(t, item.Malformed, b.Key)
			}
		}
	}
	for _, raw := range recorded(t, "clusters.jsonl") {
		c := DecodeCluster(raw)
		assert.Empty(t, c.Malformed, c.Name)
		if c.APIEnablements != nil { // Karmada forgets those of a cluster that is away
			assert.Subset(t, c.APIEnablements, []string{"apps/v1/Deployment", "v1/ConfigMap"})
		}
	}
	for _, raw := range recorded(t, "works.jsonl") {
		w := DecodeWork(raw)
		assert.Regexp(t, "^member[123]$", w.Cluster)
		assert.NotEmpty(t, w.UID)
	}
}

func TestARecordedHoldIsReadInFull(t *testing.T) {
	for _, raw := range recorded(t, "rb.jsonl") {
		b := DecodeBinding(raw)
		task, _ := b.TaskFor("member1")
		if b.Key.Name != "div-deployment" || task == nil || task.CreationTimestamp == nil {
			continue
		}
		assert.True(t, task.IsLifeboat())
		assert.Equal(t, karmada.PurgeGracefully, task.PurgeMode)
		assert.Equal(t, []string{"member1", "member2"}, task.ClustersBeforeFailover)
		assert.True(t, *task.SuppressDeletion)
		assert.Equal(t, "Divided", b.Placement.ReplicaScheduling.Type)
		assert.Len(t, b.Placement.ReplicaScheduling.WeightPreference.StaticWeightList, 2)
		assert.True(t, b.Workload)
		assert.Equal(t, "apps/v1", b.Resource.APIVersion)
		return
	}
	t.Fatal("the recording holds no task for div")
}

const wholeBinding = `{
  "apiVersion":"work.karmada.io/v1alpha2","kind":"ResourceBinding",
  "metadata":{"name":"cart-deployment","namespace":"shop","uid":"u1","resourceVersion":"7","generation":3,
    "labels":{"a":"b","resourcebinding.karmada.io/permanent-id":"p1"},"annotations":{"c":"d"}},
  "spec":{
    "resource":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"cart","uid":"t1"},
    "replicas":3,"replicaRequirements":{"resourceRequest":{"cpu":"1"}},
    "components":[{"name":"x","replicas":1}],
    "clusters":[{"name":"m1","replicas":2,"extra":1.50},{"name":"m2"}],
    "gracefulEvictionTasks":[{"fromCluster":"m3","producer":"Other","reason":"R","later":{"x":[1,2]}}],
    "placement":{"clusterAffinity":{"clusterNames":["m1"],"new":1},"workloadAffinity":{"a":1},
      "spreadConstraints":[{"spreadByField":"cluster","minGroups":1,"odd":true}]},
    "requiredBy":[{"name":"p"}],"schedulerName":"other","propagateDeps":true,
    "failover":{"cluster":{"purgeMode":"Directly","statePreservation":{"rules":[{"aliasLabelName":"a","jsonPath":"b"}]}}},
    "suspension":{"scheduling":true,"dispatching":true,"dispatchingOnClusters":{"clusterNames":["m2"]}},"schedulePriority":{"priority":9},
    "rescheduleTriggeredAt":"2026-01-02T03:04:05Z"},
  "status":{"schedulerObservedGeneration":2,"schedulerObservingAffinityName":"g","lastScheduledTime":"2026-01-02T03:04:05Z",
    "conditions":[{"type":"Scheduled","status":"False","reason":"NoClusterFit","message":"m","lastTransitionTime":"2026-01-02T03:04:05Z"}],
    "aggregatedStatus":[
      {"clusterName":"m1","applied":true,"health":"Healthy","status":{"generation":4,"observedGeneration":3,"replicas":2,"readyReplicas":1}},
      {"clusterName":"m2","applied":false,"appliedMessage":"denied"},
      {"clusterName":"m3","status":{"replicas":"many","readyReplicas":1}}]}}`

func TestEveryFieldOfABindingThatTheRulesReadIsDecoded(t *testing.T) {
	b := DecodeBinding([]byte(wholeBinding))

	assert.Empty(t, b.Malformed)
	assert.Equal(t, karmada.BindingKey{Namespace: "shop", Name: "cart-deployment"}, b.Key)
	assert.Equal(t, "7", b.ResourceVersion)
	assert.Equal(t, int64(3), b.Generation)
	assert.Equal(t, "p1", b.PermanentID)
	assert.Equal(t, map[string]string{"a": "b"}, b.Labels)
	assert.Equal(t, labels.Set{"a": "b", "resourcebinding.karmada.io/permanent-id": "p1"}, b.Selectable())
	assert.Equal(t, []karmada.TargetCluster{{Name: "m1", Replicas: 2}, {Name: "m2"}}, b.Clusters)
	for _, raw := range append(b.RawClusters, b.RawTasks...) {
		assert.Contains(t, wholeBinding, string(raw), "raw items stay byte for byte")
	}
	assert.Contains(t, string(b.RawClusters[0]), "1.50")
	assert.ElementsMatch(t, []string{
		"spec.placement.clusterAffinity.new", "spec.placement.workloadAffinity", "spec.placement.spreadConstraints[0].odd",
	}, b.UnknownFields)
	assert.True(t, b.Workload && b.PropagateDeps && b.HasClusterFailover && b.SchedulingSuspended && b.DispatchingSuspended)
	assert.Equal(t, []string{"m2"}, b.SuspendedOn)
	assert.Equal(t, []karmada.StateRule{{Label: "a", Path: "b"}}, b.StateRules)
	assert.Equal(t, karmada.PurgeDirectly, b.PurgeMode)
	assert.Equal(t, []karmada.Component{{Name: "x", Replicas: 1}}, b.Components)
	assert.Len(t, b.RequiredBy, 1)
	assert.False(t, b.PlacedComponents)
	assert.Equal(t, "1", b.Request.Cpu().String())
	assert.Equal(t, int32(9), b.Priority)
	assert.Equal(t, "other", b.SchedulerName)
	moment := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	assert.True(t, b.RescheduleTriggeredAt.Equal(moment) && b.Status.LastScheduled.Equal(moment))
	assert.Equal(t, "NoClusterFit", b.Status.Scheduled.Reason)
	assert.Equal(t, "g", b.Status.ObservedAffinity)

	full := b.Status.Aggregated[0]
	assert.Equal(t, []int64{4, 3, 2, 1}, []int64{*full.Generation, *full.ObservedGeneration, *full.Replicas, *full.ReadyReplicas})
	silent := b.Status.Aggregated[1]
	assert.Equal(t, karmada.HealthUnknown, silent.Health)
	assert.Equal(t, "denied", silent.AppliedMessage)
	assert.Nil(t, silent.Replicas)
	odd := b.Status.Aggregated[2]
	assert.Contains(t, odd.Malformed, "status.replicas")
	assert.Equal(t, int64(1), *odd.ReadyReplicas)
}

// Karmada reflects the whole status of a kind that it has no handler for, and Argo writes a Rollout's observedGeneration as a string.
//
// Rules: R4.7-40, R4.7-45.
func TestDecodeBinding_CountThatIsNoNumber(t *testing.T) {
	read := func(api, status string) karmada.AggregatedItem {
		b := DecodeBinding([]byte(`{"metadata":{"name":"b","namespace":"n","uid":"u"},"spec":{"resource":{"apiVersion":"` + api + `","kind":"K","name":"x"}},
			"status":{"aggregatedStatus":[{"clusterName":"m2","applied":true,"health":"Healthy","status":` + status + `}]}}`))
		require.Empty(t, b.Malformed)
		return b.Status.Aggregated[0]
	}
	const rollout = `{"observedGeneration":"3","generation":3,"replicas":2,"readyReplicas":1.5,"phase":"Healthy"}`
	custom := read("argoproj.io/v1alpha1", rollout)
	require.Empty(t, custom.Malformed)
	require.Nil(t, custom.ObservedGeneration, "absent, and not 0, which would be stale")
	require.Nil(t, custom.ReadyReplicas)
	require.Equal(t, []int64{3, 2}, []int64{*custom.Generation, *custom.Replicas})
	require.JSONEq(t, rollout, string(custom.Status), "the state rules read all of it")
	require.Contains(t, read("apps/v1", rollout).Malformed, "status.observedGeneration")
	require.NotEmpty(t, read("argoproj.io/v1alpha1", `"fine"`).Malformed)
}

// Rules: R4.7-26.
func TestDecodeBinding_DesiredPods_AreThoseOfADaemonSet(t *testing.T) {
	for kind, want := range map[string]*int64{"DaemonSet": fixtures.Ptr(int64(0)), "Deployment": nil} {
		b := DecodeBinding([]byte(`{"metadata":{"name":"b","namespace":"n","uid":"u"},"spec":{"resource":{"apiVersion":"apps/v1","kind":"` + kind + `","name":"x"}},
			"status":{"aggregatedStatus":[{"clusterName":"m2","status":{"desiredNumberScheduled":0,"numberReady":0}}]}}`))
		require.Equal(t, want, b.Status.Aggregated[0].DesiredPods, kind)
	}
}

// Rules: R4.6-19.
func TestDecodeBinding_WithoutTheLabelOfAPolicyOrManager_IsUnclaimed(t *testing.T) {
	for label, want := range map[string]bool{
		`"propagationpolicy.karmada.io/permanent-id":"1"`:        false,
		`"clusterpropagationpolicy.karmada.io/permanent-id":"1"`: false,
		`"binding.karmada.io/managed-by":"MultiClusterService"`:  false,
		`"propagationpolicy.karmada.io/permanent-id":""`:         true,
		`"resourcebinding.karmada.io/permanent-id":"1"`:          true,
		``: true,
	} {
		b := DecodeBinding([]byte(`{"metadata":{"name":"b","namespace":"n","uid":"u","labels":{` + label + `}},"spec":{"resource":{"apiVersion":"v1","kind":"K","name":"x"}}}`))
		require.Empty(t, b.Malformed)
		require.Equal(t, want, b.Unclaimed, label)
	}
}

func TestAMalformedBindingSaysWhatIsWrongAndKeepsTheRest(t *testing.T) {
	const meta = `"metadata":{"name":"b","namespace":"n","uid":"u","resourceVersion":"1"}`
	const resource = `"resource":{"apiVersion":"v1","kind":"ConfigMap","name":"x"}`
	for name, c := range map[string]struct{ raw, want string }{
		"no JSON":                   {raw: `{`, want: "object"},
		"a list":                    {raw: `[]`, want: "object"},
		"null":                      {raw: `null`, want: "metadata.name"},
		"a number as name":          {raw: `{"metadata":{"name":5,"namespace":"n","uid":"u"}}`, want: "metadata"},
		"no uid":                    {raw: `{"metadata":{"name":"b","namespace":"n"},"spec":{` + resource + `}}`, want: "metadata.uid"},
		"a string as spec":          {raw: `{` + meta + `,"spec":"x"}`, want: "spec"},
		"no resource":               {raw: `{` + meta + `,"spec":{}}`, want: "spec.resource"},
		"too many replicas":         {raw: `{` + meta + `,"spec":{` + resource + `,"replicas":99999999999}}`, want: "spec.replicas"},
		"negative replicas":         {raw: `{` + meta + `,"spec":{` + resource + `,"replicas":-1}}`, want: "spec.replicas"},
		"clusters as a map":         {raw: `{` + meta + `,"spec":{` + resource + `,"clusters":{}}}`, want: "spec.clusters"},
		"a cluster without a name":  {raw: `{` + meta + `,"spec":{` + resource + `,"clusters":[{"replicas":1}]}}`, want: "spec.clusters"},
		"the same cluster twice":    {raw: `{` + meta + `,"spec":{` + resource + `,"clusters":[{"name":"a"},{"name":"a"}]}}`, want: "twice"},
		"a null cluster":            {raw: `{` + meta + `,"spec":{` + resource + `,"clusters":[null]}}`, want: "spec.clusters"},
		"a task without a cluster":  {raw: `{` + meta + `,"spec":{` + resource + `,"gracefulEvictionTasks":[{}]}}`, want: "gracefulEvictionTasks"},
		"a task that is a string":   {raw: `{` + meta + `,"spec":{` + resource + `,"gracefulEvictionTasks":["x"]}}`, want: "gracefulEvictionTasks"},
		"placement as a list":       {raw: `{` + meta + `,"spec":{` + resource + `,"placement":[]}}`, want: "spec.placement"},
		"minGroups as text":         {raw: `{` + meta + `,"spec":{` + resource + `,"placement":{"spreadConstraints":[{"minGroups":"2"}]}}}`, want: "spec.placement"},
		"a bad time":                {raw: `{` + meta + `,"spec":{` + resource + `,"rescheduleTriggeredAt":"soon"}}`, want: "rescheduleTriggeredAt"},
		"failover as text":          {raw: `{` + meta + `,"spec":{` + resource + `,"failover":"yes"}}`, want: "spec.failover"},
		"conditions as a map":       {raw: `{` + meta + `,"spec":{` + resource + `},"status":{"conditions":{}}}`, want: "status.conditions"},
		"observed generation float": {raw: `{` + meta + `,"spec":{` + resource + `},"status":{"schedulerObservedGeneration":1.5}}`, want: "schedulerObservedGeneration"},
	} {
		t.Run(name, func(t *testing.T) {
			b := DecodeBinding([]byte(c.raw))
			assert.Contains(t, b.Malformed, c.want)
			assert.Len(t, b.Clusters, len(b.RawClusters), "lists stay aligned")
			assert.Len(t, b.Tasks, len(b.RawTasks), "lists stay aligned")
			if len(c.raw) > len(meta) && c.raw[:len(meta)+1] == "{"+meta {
				assert.Equal(t, "n/b", b.Key.String(), "what is readable is read")
			}
		})
	}
}

// Rules: R4.2-1, R4.2-2.
func TestAClusterShowsHardAndSoftTaintsAsOneList(t *testing.T) {
	c := DecodeCluster([]byte(`{"metadata":{"name":"m1","uid":"u","resourceVersion":"5","deletionTimestamp":"2026-01-02T03:04:05Z",
      "annotations":{
        "failover.lifeboat.dev/soft-taints":"[{\"key\":\"s\",\"value\":\"v\",\"timeAdded\":\"2026-01-02T03:04:05Z\"}]",
        "failover.lifeboat.dev/added-taints":"[{\"key\":\"k\",\"effect\":\"NoExecute\",\"rule\":\"r\",\"failoverID\":\"e\"}]",
        "failover.lifeboat.dev/stopped-by":"{\"who\":\"ann\",\"why\":\"test\",\"failoverID\":\"e\"}"}},
      "spec":{"provider":"p","region":"r","zone":"z","taints":[{"key":"k","effect":"NoExecute","timeAdded":"2026-01-02T03:04:05Z"}]},
      "status":{"conditions":[{"type":"Ready","status":"False","reason":"ClusterNotReachable","lastTransitionTime":"2026-01-02T03:04:05Z"}],
        "resourceSummary":{"allocatable":{"pods":"110"},"allocating":{"pods":"3"},"allocated":{"pods":10}}}}`))

	assert.Empty(t, c.Malformed)
	assert.True(t, c.Deleting)
	require.Len(t, c.Taints, 2)
	assert.Equal(t, corev1.TaintEffectNoExecute, c.Taints[0].Effect)
	assert.Equal(t, karmada.EffectPreferNoExecute, c.Taints[1].Effect)
	assert.NotNil(t, c.Taints[1].TimeAdded)
	assert.Len(t, c.RawTaints, 1, "soft taints are no items of spec.taints")
	assert.Equal(t, []karmada.AddedTaint{{Key: "k", Effect: "NoExecute", Rule: "r", FailoverID: "e"}}, c.Added)
	assert.Equal(t, "ann", c.Stopped.Who)
	assert.Equal(t, []string{"z"}, c.Zones, "the deprecated zone counts while there are no zones")
	assert.Equal(t, []string{"110", "10", "3"}, []string{
		c.Capacity.Allocatable.Pods().String(), c.Capacity.Allocated.Pods().String(), c.Capacity.Allocating.Pods().String(),
	})
	assert.Nil(t, c.APIEnablements, "absent is not known, not empty")
}

// Rules: R4.1-41, R4.2-9.
func TestAMalformedClusterSaysWhatIsWrong(t *testing.T) {
	with := func(annotation, value string) string {
		raw := fixtures.Must(json.Marshal(map[string]any{"metadata": map[string]any{
			"name": "m1", "uid": "u", "annotations": map[string]string{annotation: value},
		}}))(t)
		return string(raw)
	}
	for name, c := range map[string]struct{ raw, want string }{
		"added taints no JSON":      {raw: with(karmada.AnnotationAddedTaints, "mine"), want: karmada.AnnotationAddedTaints},
		"added taints as a map":     {raw: with(karmada.AnnotationAddedTaints, `{"key":"k"}`), want: karmada.AnnotationAddedTaints},
		"stopped by a list":         {raw: with(karmada.AnnotationStoppedBy, `[]`), want: karmada.AnnotationStoppedBy},
		"taints as text":            {raw: `{"metadata":{"name":"m1","uid":"u"},"spec":{"taints":"x"}}`, want: "spec.taints"},
		"a taint's time is no time": {raw: `{"metadata":{"name":"m1","uid":"u"},"spec":{"taints":[{"key":"a","timeAdded":"x"}]}}`, want: "spec.taints"},
		"conditions as text":        {raw: `{"metadata":{"name":"m1","uid":"u"},"status":{"conditions":"x"}}`, want: "status.conditions"},
		"zones as a number":         {raw: `{"metadata":{"name":"m1","uid":"u"},"spec":{"zones":3}}`, want: "spec.zones"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := DecodeCluster([]byte(c.raw))
			assert.Contains(t, cluster.Malformed, c.want)
			assert.Equal(t, "m1", cluster.Name)
		})
	}
	odd := DecodeCluster([]byte(`{"metadata":{"name":"m1","uid":"u"},"status":{"resourceSummary":{"allocatable":{"pods":"x"}},"apiEnablements":5}}`))
	assert.Empty(t, odd.Malformed, "what is only a hint is not known rather than malformed")
	assert.Nil(t, odd.Capacity)
	assert.Nil(t, odd.APIEnablements)
}

// The annotation is written by hand: what is wrong with it costs soft taints alone,
// and of those only the ones that are wrong.
func TestMalformedSoftTaintsCostNothingElse(t *testing.T) {
	const time = `"timeAdded":"2026-01-02T03:04:05Z"`
	for name, c := range map[string]struct {
		value      string
		want       string // part of SoftMalformed
		keys       []string
		unreadable bool
	}{
		"fine":               {value: `[{"key":"a",` + time + `},{"key":"b","effect":"PreferNoExecute",` + time + `}]`, keys: []string{"a", "b"}, unreadable: false},
		"no JSON":            {value: `"`, want: karmada.AnnotationSoftTaints, unreadable: true},
		"a map":              {value: `{"key":"a"}`, want: karmada.AnnotationSoftTaints, unreadable: true},
		"an item of text":    {value: `["x",{"key":"a",` + time + `}]`, want: karmada.AnnotationSoftTaints, keys: []string{"a"}, unreadable: false},
		"no key":             {value: `[{},{"key":"a",` + time + `}]`, want: "no soft taint", keys: []string{"a"}, unreadable: false},
		"a hard one":         {value: `[{"key":"k","effect":"NoExecute"},{"key":"a",` + time + `}]`, want: "no soft taint", keys: []string{"a"}, unreadable: false},
		"a time of nonsense": {value: `[{"key":"k","timeAdded":"soon"},{"key":"a",` + time + `}]`, want: karmada.AnnotationSoftTaints, keys: []string{"a"}, unreadable: false},
		"no time":            {value: `[{"key":"a"}]`, want: "no timeAdded", keys: []string{"a"}, unreadable: false},
	} {
		t.Run(name, func(t *testing.T) {
			raw := fixtures.Must(json.Marshal(map[string]any{
				"metadata": map[string]any{"name": "m1", "uid": "u", "annotations": map[string]string{karmada.AnnotationSoftTaints: c.value}},
				"spec":     map[string]any{"taints": []any{map[string]any{"key": "hard", "effect": "NoExecute"}}},
			}))(t)
			cluster := DecodeCluster(raw)
			assert.Empty(t, cluster.Malformed, "the rest of the cluster is understood")
			assert.Equal(t, c.want == "", cluster.SoftMalformed == "")
			assert.Contains(t, cluster.SoftMalformed, c.want)
			assert.Equal(t, c.unreadable, cluster.SoftUnreadable)
			_, soft := karmada.Triggering(cluster.Taints)
			var keys []string
			for _, taint := range soft {
				keys = append(keys, taint.Key)
			}
			assert.Equal(t, c.keys, keys)
			assert.Equal(t, "hard", cluster.Taints[0].Key)
		})
	}
}

// Rules: R4.1-5, R4.1-9.
func TestARuleIsReadWithItsDefaultsOrRefusedWithItsReason(t *testing.T) {
	rule := func(spec string) rules.Rule {
		return DecodeRule([]byte(`{"metadata":{"name":"r","uid":"u","generation":4},"spec":` + spec + `}`))
	}
	const when = `"matchConditions":[{"conditionType":"Ready","operator":"In","statusValues":["False"]}]`

	fine := rule(`{` + when + `,"targetClusters":{"clusterNames":["m1"]},"taints":[
      {"key":"example.com/down","effect":"NoExecute"},{"key":"a","effect":"PreferNoExecute","addOnMatchSeconds":0,"removeOnMismatchSeconds":7}]}`)
	assert.Empty(t, fine.Malformed)
	assert.Equal(t, int64(4), fine.Generation)
	assert.Equal(t, 300*time.Second, fine.Taints[0].AddOnMatch)
	assert.Equal(t, 180*time.Second, fine.Taints[0].RemoveOnMismatch)
	assert.Zero(t, fine.Taints[1].AddOnMatch)
	assert.Equal(t, 7*time.Second, fine.Taints[1].RemoveOnMismatch)

	for name, c := range map[string]struct{ spec, want string }{
		"no spec":               {spec: `null`, want: "spec: missing"},
		"a field of the future": {spec: `{` + when + `,"taints":[{"key":"a","effect":"NoExecute","jitter":1}]}`, want: "jitter"},
		"a window below zero":   {spec: `{` + when + `,"taints":[{"key":"a","effect":"NoExecute","addOnMatchSeconds":-1}]}`, want: "addOnMatchSeconds"},
		"a window of centuries": {spec: `{` + when + `,"taints":[{"key":"a","effect":"NoExecute","addOnMatchSeconds":9223372036854775807}]}`, want: "addOnMatchSeconds"},
		"a taint of Karmada's":  {spec: `{` + when + `,"taints":[{"key":"cluster.karmada.io/not-ready","effect":"NoSchedule"}]}`, want: "Karmada"},
		"an unknown effect":     {spec: `{` + when + `,"taints":[{"key":"a","effect":"Never"}]}`, want: "effect"},
		"no taints":             {spec: `{` + when + `}`, want: "taints"},
	} {
		t.Run(name, func(t *testing.T) { assert.Contains(t, rule(c.spec).Malformed, c.want) })
	}
}

func clusterWith(spec, summary string) karmada.Cluster {
	return DecodeCluster([]byte(`{"metadata":{"name":"m1","uid":"u"},"spec":` + spec + `,"status":{"resourceSummary":` + summary + `}}`))
}

func TestNodeModelsAreJoinedWithTheirCounts(t *testing.T) {
	const spec = `{"resourceModels":[
      {"grade":0,"ranges":[{"name":"cpu","min":"0","max":"1"},{"name":"memory","min":"0","max":"4Gi"}]},
      {"grade":1,"ranges":[{"name":"cpu","min":"1","max":"2"},{"name":"memory","min":"4Gi","max":"16Gi"}]}]}`
	c := clusterWith(spec, `{"allocatable":{"cpu":"4"},"allocatableModelings":[{"grade":0,"count":2},{"grade":1,"count":3}]}`)
	assert.Empty(t, c.Malformed)
	require.Len(t, c.Capacity.Models, 2)
	assert.Equal(t, int64(3), c.Capacity.Models[1].Count)
	assert.Equal(t, "1", c.Capacity.Models[1].Min.Cpu().String())
	assert.Equal(t, "4Gi", c.Capacity.Models[1].Min.Memory().String())

	unread := clusterWith(spec, `{"allocatable":{"cpu":"4"}}`)
	assert.Empty(t, unread.Capacity.Models, "nobody counted")
	assert.False(t, unread.Capacity.ModelsUnknown)
}

// Rules: R4.6-16.
func TestOddModelsMakeRoomUnknownAndNoClusterMalformed(t *testing.T) {
	for name, c := range map[string]karmada.Cluster{
		"grades as text":           clusterWith(`{"resourceModels":"x"}`, `{"allocatableModelings":[{"count":1}]}`),
		"a minimum of no quantity": clusterWith(`{"resourceModels":[{"ranges":[{"name":"cpu","min":"many"}]}]}`, `{"allocatableModelings":[{"count":1}]}`),
		"counts as text":           clusterWith(`{}`, `{"allocatableModelings":"x"}`),
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, c.Malformed)
			assert.True(t, c.Capacity.ModelsUnknown)
		})
	}
}

// Rules: R4.6-20.
func TestWhatABindingAsksForIsReadOrBlocksIt(t *testing.T) {
	binding := func(spec string) karmada.Binding {
		return DecodeBinding([]byte(`{"metadata":{"name":"b","namespace":"n","uid":"u"},"spec":{"resource":{"apiVersion":"v","kind":"K","name":"x"},` + spec + `}}`))
	}
	b := binding(`"components":[{"name":"job","replicas":2,"replicaRequirements":{"resourceRequest":{"cpu":"500m"},"nodeClaim":{"nodeSelector":{"a":"b"}}}}],
      "clusters":[{"name":"m1","components":[{"name":"job","replicas":2}]}]`)
	assert.Empty(t, b.Malformed)
	require.Len(t, b.Components, 1)
	assert.Equal(t, "500m", b.Components[0].Request.Cpu().String())
	assert.Equal(t, int32(2), b.Components[0].Replicas)
	assert.True(t, b.PlacedComponents && b.Workload)

	for name, spec := range map[string]string{
		"a quantity that is none":    `"replicaRequirements":{"resourceRequest":{"cpu":"many"}}`,
		"requirements as text":       `"replicaRequirements":"x"`,
		"a component as text":        `"components":["x"]`,
		"a component's bad quantity": `"components":[{"name":"a","replicaRequirements":{"resourceRequest":{"cpu":"many"}}}]`,
		"a component's bad number":   `"components":[{"name":"a","replicas":"two"}]`,
	} {
		t.Run(name, func(t *testing.T) { assert.NotEmpty(t, binding(spec).Malformed) })
	}
}

// An agent of the member may write a Cluster's conditions: whatever it writes has to fit
// into what is carried of it.
func TestConditionsAreCarriedWithinBounds(t *testing.T) {
	cluster := func(conditions []map[string]string) karmada.Cluster {
		raw := fixtures.Must(json.Marshal(map[string]any{
			"metadata": map[string]string{"name": "m1", "uid": "u", "resourceVersion": "7"},
			"status":   map[string]any{"conditions": conditions},
		}))(t)
		return DecodeCluster(raw)
	}
	long := strings.Repeat("ü", reason.MaxConditionText)
	c := cluster([]map[string]string{{"type": "Ready", "status": "False", "reason": long, "message": long}})
	require.Empty(t, c.Malformed)
	require.Len(t, c.Conditions, 1)
	require.LessOrEqual(t, len(c.Conditions[0].Reason), reason.MaxConditionText)
	require.LessOrEqual(t, len(c.Conditions[0].Message), reason.MaxConditionText)
	require.False(t, rules.FactOf(c).Oversized(), "what is decoded can be told")

	require.Contains(t, cluster(make([]map[string]string, rules.MaxConditions+1)).Malformed, "status.conditions")
}

// A policy may say any number of tolerations: an attempt freezes them, and carries them with
// those of all others.
func TestTolerationsAreFrozenWithinBounds(t *testing.T) {
	binding := func(n int) karmada.Binding {
		tolerations := make([]map[string]string, n)
		for i := range tolerations {
			tolerations[i] = map[string]string{"key": strings.Repeat("x", 90), "operator": "Exists"}
		}
		raw := fixtures.Must(json.Marshal(map[string]any{
			"metadata": map[string]string{"namespace": "shop", "name": "cart", "uid": "u", "resourceVersion": "7"},
			"spec": map[string]any{
				"resource":  map[string]string{"apiVersion": "apps/v1", "kind": "Deployment", "name": "cart"},
				"placement": map[string]any{"clusterTolerations": tolerations},
			},
		}))(t)
		return DecodeBinding(raw)
	}
	usual := binding(50)
	require.Empty(t, usual.Malformed)
	require.Len(t, usual.Placement.ClusterTolerations, 50)
	many := binding(500)
	require.Contains(t, many.Malformed, "clusterTolerations")
	require.Empty(t, rules.PolicyOf(&many, nil).Tolerations, "nobody freezes them")
}

// Whoever writes an object says how much of it is wrong. The words about it go into one
// answer with everybody else's.
func TestWhatIsWrongWithAnObjectIsToldWithinBounds(t *testing.T) {
	nameless := func(path string) []byte {
		return []byte(`{"metadata":{"name":"x","namespace":"n","uid":"u"},"spec":{` + path + `[` + strings.TrimSuffix(strings.Repeat(`{"name":""},`, 50_000), ",") + `]}}`)
	}
	long := strings.Repeat("9", 300_000)
	for name, malformed := range map[string]string{
		"targets without a name":   DecodeBinding(nameless(`"clusters":`)).Malformed,
		"a number of many digits":  DecodeBinding([]byte(`{"metadata":{"name":"x","uid":"u"},"spec":{"replicas":` + long + `}}`)).Malformed,
		"a resource of long names": DecodeBinding([]byte(`{"metadata":{"name":"x","uid":"u"},"spec":{"resource":{"apiVersion":"v1","kind":"K","name":"` + long + `"}}}`)).Malformed,
		"taints that are none":     DecodeCluster([]byte(`{"metadata":{"name":"m","uid":"u"},"spec":{"taints":[` + long + `]}}`)).Malformed,
		"soft taints without key": DecodeCluster([]byte(`{"metadata":{"name":"m","uid":"u","annotations":{"` + karmada.AnnotationSoftTaints +
			`":"[` + strings.TrimSuffix(strings.Repeat(`{},`, 50_000), ",") + `]"}}}`)).SoftMalformed,
		"a rule's taints": DecodeRule([]byte(`{"metadata":{"name":"r","uid":"u"},"spec":{"taints":[{"key":"` + long + `","effect":"NoExecute"}]}}`)).Malformed,
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEmpty(t, malformed)
			require.LessOrEqual(t, len(malformed), reason.MaxConditionText)
		})
	}
}

// A member's own agent reports its capacity, and to reckon with such a number takes all
// time and memory that there is.
func TestAnAmountThatNobodyMeansIsNotReckonedWith(t *testing.T) {
	for _, immense := range []string{`"1e100000"`, `1E+100000`, `"0e2000000000"`, `"1234567890123456789012e-200000"`, `"` + strings.Repeat("9", 100) + `"`} {
		t.Run(immense, func(t *testing.T) {
			c := clusterWith(`{}`, `{"allocatable":{"cpu":`+immense+`}}`)
			require.Nil(t, c.Capacity, "its room is not known")
			require.Empty(t, c.Malformed)
			c = clusterWith(`{"resourceModels":[{"ranges":[{"name":"cpu","min":`+immense+`}]}]}`, `{"allocatableModelings":[{"count":1}]}`)
			require.True(t, c.Capacity.ModelsUnknown)
			b := DecodeBinding([]byte(`{"metadata":{"name":"b","namespace":"n","uid":"u"},"spec":{"resource":{"apiVersion":"v","kind":"K","name":"x"},
				"replicaRequirements":{"resourceRequest":{"cpu":` + immense + `}}}}`))
			require.Contains(t, b.Malformed, "is not a valid amount")
		})
	}
	c := clusterWith(`{}`, `{"allocatable":{"cpu":"4","memory":"16Gi","pods":110,"storage":"1e12","nvidia.com/gpu":"2E"}}`)
	require.Equal(t, "4", c.Capacity.Allocatable.Cpu().String())
	require.EqualValues(t, 110, c.Capacity.Allocatable.Pods().Value())
	require.Len(t, c.Capacity.Allocatable, 5)
}

// Whoever writes a binding's annotations names its policy. A name that none can have is
// asked for nowhere: the error would be that of everybody who is judged with it.
func TestAPolicyOfAnImpossibleNameDoesNotExist(t *testing.T) {
	for _, name := range []string{"../../nodes", "a/b", "..", "100%", strings.Repeat("x", 10_000)} {
		for _, annotations := range []map[string]string{
			{karmada.AnnotationPolicyNamespace: "shop", karmada.AnnotationPolicyName: name},
			{karmada.AnnotationPolicyNamespace: name, karmada.AnnotationPolicyName: "cart"},
			{karmada.AnnotationClusterPolicyName: name},
		} {
			_, found := policyOf(&karmada.Binding{Annotations: annotations})
			require.False(t, found, name[:min(20, len(name))])
		}
	}
	policy, found := policyOf(&karmada.Binding{Annotations: map[string]string{karmada.AnnotationPolicyNamespace: "shop", karmada.AnnotationPolicyName: "cart"}})
	require.True(t, found)
	require.Equal(t, "propagationpolicies shop/cart", policy.object())
}

const (
	rulesPath    = "/apis/failover.lifeboat.dev/v1alpha1/clustertaintrules"
	policiesPath = "/apis/policy.karmada.io/v1alpha1/clustertaintpolicies"
	policySpec   = `{"targetClusters":{"clusterNames":["m1"]},
      "addOnConditions":[{"conditionType":"Ready","operator":"In","statusValues":["False"]}],
      "removeOnConditions":[{"conditionType":"Ready","operator":"In","statusValues":["True"]}],
      "taints":[{"key":"example.com/down","effect":"NoExecute"},{"key":"soft","value":"v","effect":"PreferNoExecute"}]}`
)

var configured = PolicyWindows{AddOnMatch: 7 * time.Minute, RemoveOnMismatch: time.Minute}

func policyJSON(annotations, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"policy.karmada.io/v1alpha1","kind":"ClusterTaintPolicy",
      "metadata":{"name":"p","uid":"u","resourceVersion":"1","generation":3,"annotations":{%s}},"spec":%s}`, annotations, spec)
}

// Rules: R4.1-10, R4.1-11.
func TestAClusterTaintPolicyIsReadAsARule(t *testing.T) {
	plain := DecodePolicy([]byte(policyJSON("", policySpec)), configured)
	require.Empty(t, plain.Malformed)
	assert.Equal(t, "ClusterTaintPolicy/p", plain.Name)
	assert.True(t, plain.Policy)
	assert.False(t, plain.RequireExternalProbe)
	assert.Equal(t, []string{"m1"}, plain.TargetClusters.ClusterNames)
	assert.Equal(t, []corev1.ConditionStatus{"True"}, plain.RemoveConditions[0].StatusValues)
	require.Len(t, plain.Taints, 2)
	for _, taint := range plain.Taints {
		assert.Equal(t, 7*time.Minute, taint.AddOnMatch, "the configured default")
		assert.Equal(t, time.Minute, taint.RemoveOnMismatch)
	}
	own := DecodePolicy([]byte(policyJSON(`"failover.lifeboat.dev/add-on-match-seconds":"0",
      "failover.lifeboat.dev/remove-on-mismatch-seconds":"30","failover.lifeboat.dev/require-external-probe":"true"`, policySpec)), configured)
	require.Empty(t, own.Malformed)
	assert.Zero(t, own.Taints[0].AddOnMatch)
	assert.Equal(t, 30*time.Second, own.Taints[1].RemoveOnMismatch)
	assert.True(t, own.RequireExternalProbe)

	for want, raw := range map[string]string{
		"add-on-match-seconds]: \"soon\" is no number":    policyJSON(`"failover.lifeboat.dev/add-on-match-seconds":"soon"`, policySpec),
		"remove-on-mismatch-seconds]: -1 is outside":      policyJSON(`"failover.lifeboat.dev/remove-on-mismatch-seconds":"-1"`, policySpec),
		"require-external-probe]: \"perhaps\" is neither": policyJSON(`"failover.lifeboat.dev/require-external-probe":"perhaps"`, policySpec),
		"priority":                            policyJSON("", `{"priority":1,"taints":[{"key":"a","effect":"NoExecute"}]}`),
		"spec: missing":                       policyJSON("", `null`),
		"addOnConditions[0]: operator \"Is\"": policyJSON("", `{"addOnConditions":[{"conditionType":"Ready","operator":"Is","statusValues":["True"]}],"taints":[{"key":"a","effect":"NoExecute"}]}`),
		"cluster.karmada.io/not-ready:NoSchedule belongs":   policyJSON("", `{"taints":[{"key":"cluster.karmada.io/not-ready","effect":"NoSchedule"}]}`),
		"effect \"PreferNoSchedule\" is none of NoSchedule": policyJSON("", `{"taints":[{"key":"a","effect":"PreferNoSchedule"}]}`),
	} {
		assert.Contains(t, DecodePolicy([]byte(raw), configured).Malformed, want)
	}
}

// Rules: R4.1-12.
func TestPoliciesAreReadWhereTheyAreHonouredAndKnown(t *testing.T) {
	rules := `{"items":[{"metadata":{"name":"r","uid":"u"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}]}`
	both := map[string]string{rulesPath: rules, policiesPath: `{"items":[` + policyJSON("", policySpec) + `]}`}
	read := func(objects map[string]string, windows *PolicyWindows) []string {
		all := fixtures.Must(connect(t, &apiServer{objects: objects}, Options{Policies: windows}).Rules(t.Context()))(t)
		var names []string
		for _, r := range all {
			names = append(names, r.Name)
		}
		return names
	}
	assert.Equal(t, []string{"r", "ClusterTaintPolicy/p"}, read(both, &configured))
	assert.Equal(t, []string{"r"}, read(both, nil), "the source is off")
	assert.Equal(t, []string{"r"}, read(map[string]string{rulesPath: rules}, &configured), "a Karmada that does not know the kind")
	_, err := connect(t, &apiServer{objects: map[string]string{policiesPath: both[policiesPath]}}, Options{Policies: &configured}).Rules(t.Context())
	require.ErrorIs(t, err, karmada.ErrGone, "Lifeboat's own definition must be there")
}

// Rules: R4.13-6.
func TestWhatABindingSaysOfApplicationFailoverIsRead(t *testing.T) {
	binding := func(failover string) karmada.Binding {
		return DecodeBinding([]byte(`{"metadata":{"name":"b","namespace":"n","uid":"u"},"spec":{"resource":{"apiVersion":"v","kind":"K","name":"x"},"failover":` + failover + `}}`))
	}
	require.Nil(t, binding(`{"cluster":{"purgeMode":"Never"}}`).Application)
	require.Equal(t, &karmada.ApplicationFailover{TolerationSeconds: 300}, binding(`{"application":{}}`).Application)
	b := binding(`{"application":{"decisionConditions":{"tolerationSeconds":-7},"purgeMode":"Directly","gracePeriodSeconds":60,
		"statePreservation":{"rules":[{"aliasLabelName":"a","jsonPath":"{.b}"}]}}}`)
	require.Empty(t, b.Malformed)
	require.False(t, b.HasClusterFailover)
	require.Equal(t, &karmada.ApplicationFailover{
		TolerationSeconds: -7, PurgeMode: karmada.PurgeDirectly, GraceSeconds: 60, StateRules: []karmada.StateRule{{Label: "a", Path: "{.b}"}},
	}, b.Application)
	require.Contains(t, binding(`{"application":{"purgeMode":7}}`).Malformed, "spec.failover.application.purgeMode")
}

// What most bindings have in common is decoded once. What is wrong with it is told of each binding all the same.
func TestDecodeBinding_EqualPartsAreShared(t *testing.T) {
	decode := func(name, placement, amount string) karmada.Binding {
		return slimBinding([]byte(`{"metadata":{"name":"` + name + `","uid":"u","annotations":{"a":"` + name[:1] + `"}},"spec":{"resource":{"apiVersion":"v1","kind":"ConfigMap","name":"x"},
			"placement":` + placement + `,"replicaRequirements":{"resourceRequest":{"cpu":"` + amount + `"}}}}`))
	}
	const shared, other = `{"clusterAffinity":{"clusterNames":["m1"]},"new":{"field":1}}`, `{"clusterAffinity":{"clusterNames":["m2"]}}`
	one, two, third := decode("a1", shared, "2"), decode("a2", shared, "2"), decode("b3", other, "3")
	require.Same(t, one.Placement, two.Placement)
	require.Equal(t, []string{"spec.placement.new"}, two.UnknownFields)
	require.Equal(t, one.Request, two.Request)
	require.Equal(t, map[string]string{"a": "a"}, two.Annotations)
	require.Equal(t, []string{"m2"}, third.Placement.ClusterAffinity.ClusterNames)
	require.Empty(t, third.UnknownFields)
	require.NotEqual(t, one.Request, third.Request)
	require.Equal(t, map[string]string{"a": "b"}, third.Annotations)

	for range 2 {
		wrong := decode("a4", `{"clusterAffinity":1}`, "many")
		require.Contains(t, wrong.Malformed, "spec.placement")
		require.Contains(t, wrong.Malformed, "spec.replicaRequirements")
	}
	long := `{"clusterAffinity":{"clusterNames":["` + strings.Repeat("m", memoText) + `"]}}`
	require.NotSame(t, decode("a5", long, "2").Placement, decode("a6", long, "2").Placement, "what is long is not kept")
}
