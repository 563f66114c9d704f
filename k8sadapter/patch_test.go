package k8sadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

var at = time.Date(2026, 11, 21, 10, 0, 0, 123456, time.UTC)

// shared is a binding with items and fields of others that this version knows
// nothing about, markup characters included.
const shared = `{
  "metadata":{"name":"cart-deployment","namespace":"shop","uid":"u1","resourceVersion":"7"},
  "spec":{"resource":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"cart"},"replicas":3,
    "clusters":[{"name":"m2","replicas":1,"components":[{"name":"a<b","replicas":1}]},{"name":"m1","replicas":2}],
    "gracefulEvictionTasks":[{"fromCluster":"m3","producer":"Other","reason":"R","message":"x > y & z","preservedLabelState":{"k":"v"},"later":[1.0]}]}}`

// held is shared after Lifeboat's eviction from m1, with a field of a later version in Lifeboat's task.
const held = `{
  "metadata":{"name":"cart-deployment","namespace":"shop","uid":"u1","resourceVersion":"9"},
  "spec":{"resource":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"cart"},"replicas":3,
    "clusters":[{"name":"m2","replicas":1}],
    "gracefulEvictionTasks":[
      {"fromCluster":"m1","producer":"Other","reason":"R"},
      {"fromCluster":"m1","producer":"Lifeboat","reason":"ClusterFailover","message":"old","replicas":2,"suppressDeletion":true,"creationTimestamp":"2026-01-01T00:00:00Z","later":1},
      {"fromCluster":"m4","producer":"Lifeboat","reason":"ClusterFailover","suppressDeletion":true}]}}`

// heldAlone is held without the other producer's task for m1.
var heldAlone = strings.Replace(held, `{"fromCluster":"m1","producer":"Other","reason":"R"},`, "", 1)

// beside is shared while Karmada's own taint manager evicts it from m3.
var beside = strings.Replace(shared, `"producer":"Other"`, `"producer":"TaintManager","purgeMode":"Gracefully"`, 1)

// recorder keeps the body of the last request, and answers with an empty object.
type recorder struct{ body []byte }

func (r *recorder) RoundTrip(request *http.Request) (answer *http.Response, err error) {
	r.body, err = io.ReadAll(request.Body)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}")), Request: request}, err
}

// patchOf is the patch that a write to a binding sends.
func patchOf(write any) ([]byte, error) {
	var sent recorder
	config := &rest.Config{Host: "http://karmada", Transport: &sent, QPS: -1}
	api, err := rest.UnversionedRESTClientFor(rawConfig(config))
	if err != nil {
		return nil, err
	}
	_, err = send(context.Background(), &Client{requester: &requester{rest: api, timeout: time.Minute}}, write)
	return sent.body, err
}

// send sends a write to a binding.
func send(ctx context.Context, c *Client, write any) (karmada.Binding, error) {
	switch w := write.(type) {
	case activities.EvictWrite:
		return c.Evict(ctx, w)
	case activities.RestoreWrite:
		return c.Restore(ctx, w)
	case activities.HoldWrite:
		return c.Hold(ctx, w)
	case activities.ReleaseWrite:
		return c.Release(ctx, w)
	case activities.MarkWrite:
		return c.Mark(ctx, w)
	case activities.HoldersWrite:
		return c.Holders(ctx, w)
	}
	panic(fmt.Sprintf("%T is no write to a binding", write))
}

func decoded(t *testing.T, raw string) *karmada.Binding {
	t.Helper()
	b := DecodeBinding([]byte(raw))
	require.Empty(t, b.Malformed)
	return &b
}

// Rules: R4.7-7, R4.7-8, R4.7-9, R4.7-13.
func TestEachBindingWriteIsOnePatchOfLifeboatFieldsOnly(t *testing.T) {
	putBack := strings.Replace(heldAlone, `[{"name":"m2","replicas":1}]`, `[{"name":"m2","replicas":1},{"name":"m1","replicas":1}]`, 1)
	grown := strings.Replace(heldAlone, `[{"name":"m2","replicas":1}]`, `[{"name":"m5","replicas":1},{"name":"m2","replicas":3,"later":1}]`, 1)
	emptied := strings.Replace(heldAlone, `[{"name":"m2","replicas":1}]`, `[]`, 1)
	twice := strings.Replace(heldAlone, `"gracefulEvictionTasks":[`,
		`"gracefulEvictionTasks":[{"fromCluster":"m1","producer":"Lifeboat","reason":"ClusterFailover"},`, 1)
	const m4 = `{"fromCluster":"m4","producer":"Lifeboat","reason":"ClusterFailover","suppressDeletion":true}`
	for name, c := range map[string]struct {
		write any
		want  string
	}{
		"a hold beside the task of Karmada's taint manager leaves that as it is": {
			write: activities.HoldWrite{Binding: decoded(t, beside), Cluster: "m3", Owner: "o", Now: at},
			want: `{"metadata":{"resourceVersion":"7"},"spec":{"gracefulEvictionTasks":[` +
				`{"fromCluster":"m3","producer":"TaintManager","purgeMode":"Gracefully","reason":"R","message":"x > y & z","preservedLabelState":{"k":"v"},"later":[1.0]},` +
				`{"fromCluster":"m3","purgeMode":"Gracefully","reason":"ClusterFailover","message":"o","producer":"Lifeboat","suppressDeletion":true,` +
				`"creationTimestamp":"2026-11-21T10:00:00Z","clustersBeforeFailover":["m2","m1"]}]}}`,
		},
		"an eviction removes the cluster and appends a task": {
			write: activities.EvictWrite{Binding: decoded(t, shared), Cluster: "m1", Owner: "binding-migration/m1/shop/cart", Now: at},
			want: `{"metadata":{"resourceVersion":"7"},"spec":{"clusters":[{"name":"m2","replicas":1,"components":[{"name":"a<b","replicas":1}]}],` +
				`"gracefulEvictionTasks":[{"fromCluster":"m3","producer":"Other","reason":"R","message":"x > y & z","preservedLabelState":{"k":"v"},"later":[1.0]},` +
				`{"fromCluster":"m1","purgeMode":"Gracefully","replicas":2,"reason":"ClusterFailover","message":"binding-migration/m1/shop/cart","producer":"Lifeboat",` +
				`"suppressDeletion":true,"creationTimestamp":"2026-11-21T10:00:00Z","clustersBeforeFailover":["m2","m1"]}]}}`,
		},
		"a repeat keeps the one task and sets its replicas to what was taken out": {
			write: activities.EvictWrite{Binding: decoded(t, putBack), Cluster: "m1", Owner: "new", Now: at},
			want: `{"metadata":{"resourceVersion":"9"},"spec":{"clusters":[{"name":"m2","replicas":1}],"gracefulEvictionTasks":[` +
				`{"creationTimestamp":"2026-01-01T00:00:00Z","fromCluster":"m1","later":1,"message":"new","producer":"Lifeboat","reason":"ClusterFailover","replicas":1,"suppressDeletion":true},` + m4 + `]}}`,
		},
		"a repeat after the cluster is out keeps the replicas": {
			write: activities.EvictWrite{Binding: decoded(t, heldAlone), Cluster: "m1", Now: at, Reschedule: true},
			want: `{"metadata":{"resourceVersion":"9"},"spec":{"gracefulEvictionTasks":[` +
				`{"creationTimestamp":"2026-01-01T00:00:00Z","fromCluster":"m1","later":1,"message":"old","producer":"Lifeboat","reason":"ClusterFailover","replicas":2,"suppressDeletion":true},` + m4 + `],` +
				`"rescheduleTriggeredAt":"2026-11-21T10:00:01Z"}}`,
		},
		"a swap puts a former cluster back, drops its task and holds the failing one": {
			write: activities.EvictWrite{
				Binding: decoded(t, heldAlone), Cluster: "m2", Owner: "o", Now: at,
				Back: &karmada.TargetCluster{Name: "m1", Replicas: 2},
			},
			want: `{"metadata":{"resourceVersion":"9"},"spec":{"clusters":[{"name":"m1","replicas":2}],"gracefulEvictionTasks":[` + m4 +
				`,{"fromCluster":"m2","purgeMode":"Gracefully","replicas":1,"reason":"ClusterFailover","message":"o","producer":"Lifeboat",` +
				`"suppressDeletion":true,"creationTimestamp":"2026-11-21T10:00:00Z","clustersBeforeFailover":["m2"]}]}}`,
		},
		"a put-back takes out what came since, and gives back what grew": {
			write: activities.RestoreWrite{
				Binding: decoded(t, grown), Cluster: "m1", Replicas: 2, Now: at, Away: []string{"m5"}, Shrunk: []karmada.TargetCluster{{Name: "m2", Replicas: 1}},
			},
			want: `{"metadata":{"resourceVersion":"9"},"spec":{"clusters":[{"later":1,"name":"m2","replicas":1},{"name":"m1","replicas":2}],"gracefulEvictionTasks":[` + m4 + `]}}`,
		},
		"a second Lifeboat task is folded into the first": {
			write: activities.HoldWrite{Binding: decoded(t, twice), Cluster: "m1", Owner: "o", Now: at},
			want: `{"metadata":{"resourceVersion":"9"},"spec":{"gracefulEvictionTasks":[` +
				`{"fromCluster":"m1","message":"o","producer":"Lifeboat","reason":"ClusterFailover","suppressDeletion":true},` + m4 + `]}}`,
		},
		"a restore puts all back and drops Lifeboat's task, not the other producer's": {
			write: activities.RestoreWrite{
				Binding: decoded(t, held), Cluster: "m1", Replicas: 2, Now: at, Reschedule: true,
				Others: []karmada.TargetCluster{{Name: "m2", Replicas: 5}, {Name: "m5"}},
			},
			want: `{"metadata":{"resourceVersion":"9"},"spec":{"clusters":[{"name":"m2","replicas":1},{"name":"m1","replicas":2},{"name":"m5"}],` +
				`"gracefulEvictionTasks":[{"fromCluster":"m1","producer":"Other","reason":"R"},` + m4 + `],"rescheduleTriggeredAt":"2026-11-21T10:00:01Z"}}`,
		},
		"a restore into an empty result": {
			write: activities.RestoreWrite{Binding: decoded(t, emptied), Cluster: "m1", Replicas: 2},
			want:  `{"metadata":{"resourceVersion":"9"},"spec":{"clusters":[{"name":"m1","replicas":2}],"gracefulEvictionTasks":[` + m4 + `]}}`,
		},
		"a hold again leaves the targets alone": {
			write: activities.HoldWrite{Binding: decoded(t, shared), Cluster: "m9", Owner: "o", Replicas: 2, Now: at},
			want: `{"metadata":{"resourceVersion":"7"},"spec":{"gracefulEvictionTasks":[{"fromCluster":"m3","producer":"Other","reason":"R","message":"x > y & z","preservedLabelState":{"k":"v"},"later":[1.0]},` +
				`{"fromCluster":"m9","purgeMode":"Gracefully","replicas":2,"reason":"ClusterFailover","message":"o","producer":"Lifeboat",` +
				`"suppressDeletion":true,"creationTimestamp":"2026-11-21T10:00:00Z","clustersBeforeFailover":["m2","m1"]}]}}`,
		},
		"a release drops Lifeboat's task": {
			write: activities.ReleaseWrite{Binding: decoded(t, heldAlone), Cluster: "m1"},
			want:  `{"metadata":{"resourceVersion":"9"},"spec":{"gracefulEvictionTasks":[` + m4 + `]}}`,
		},
		"a release of nothing only confirms": {
			write: activities.ReleaseWrite{Binding: decoded(t, shared), Cluster: "m1"},
			want:  `{"metadata":{"resourceVersion":"7"}}`,
		},
		"a mark changes reason and owner": {
			write: activities.MarkWrite{Binding: decoded(t, heldAlone), Cluster: "m1", Reason: karmada.TaskReasonNeedsOperator},
			want: `{"metadata":{"resourceVersion":"9"},"spec":{"gracefulEvictionTasks":[` +
				`{"creationTimestamp":"2026-01-01T00:00:00Z","fromCluster":"m1","later":1,"message":"old","producer":"Lifeboat","reason":"LifeboatNeedsOperator","replicas":2,"suppressDeletion":true},` + m4 + `]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, string(fixtures.Must(patchOf(c.write))(t)))
		})
	}
}

// Rules: R4.7-14, R4.9-22.
func TestAWriteThatWouldHarmIsRefusedBeforeItIsSent(t *testing.T) {
	bare := decoded(t, shared)
	bare.RawTasks = nil
	malformed := decoded(t, shared)
	malformed.Malformed = "spec.placement: odd"
	unread := decoded(t, shared)
	unread.ResourceVersion = ""
	for name, c := range map[string]struct {
		write any
		want  string
	}{
		"evicting beside another producer's task":      {write: activities.EvictWrite{Binding: decoded(t, held), Cluster: "m1"}, want: `producer "Other"`},
		"holding beside another producer's task":       {write: activities.HoldWrite{Binding: decoded(t, shared), Cluster: "m3"}, want: `producer "Other"`},
		"holding beside a task that says Directly":     {write: activities.HoldWrite{Binding: decoded(t, strings.Replace(beside, "Gracefully", "Directly", 1)), Cluster: "m3"}, want: `producer "TaintManager"`},
		"evicting beside Karmada's taint manager":      {write: activities.EvictWrite{Binding: decoded(t, beside), Cluster: "m3"}, want: `producer "TaintManager"`},
		"evicting from what is no target":              {write: activities.EvictWrite{Binding: decoded(t, shared), Cluster: "m8"}, want: "no target"},
		"evicting a malformed binding":                 {write: activities.EvictWrite{Binding: malformed, Cluster: "m1"}, want: "malformed"},
		"writing without the items as read":            {write: activities.ReleaseWrite{Binding: bare, Cluster: "m1"}, want: "missing"},
		"writing without a resourceVersion":            {write: activities.ReleaseWrite{Binding: unread, Cluster: "m1"}, want: "resourceVersion"},
		"writing nothing":                              {write: activities.ReleaseWrite{Cluster: "m1"}, want: "no binding"},
		"restoring another that has a task of its own": {write: activities.RestoreWrite{Binding: decoded(t, heldAlone), Cluster: "m1", Others: []karmada.TargetCluster{{Name: "m4"}}}, want: "m4 has a task"},
		"marking what is not Lifeboat's":               {write: activities.MarkWrite{Binding: decoded(t, shared), Cluster: "m3", Reason: "X"}, want: "no Lifeboat task"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := patchOf(c.write)
			require.ErrorIs(t, err, karmada.ErrInvalid)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestAnOwnerLongerThanTheAPIAllowsIsCut(t *testing.T) {
	patch, err := patchOf(activities.EvictWrite{Binding: decoded(t, shared), Cluster: "m1", Owner: strings.Repeat("ü", 2000), Now: at})
	require.NoError(t, err)
	assert.Equal(t, maxTaskMessage, strings.Count(string(patch), "ü"))
}

// tainted is a cluster with taints of Karmada, of an operator and of Lifeboat's.
const tainted = `{
  "metadata":{"name":"m1","uid":"u","resourceVersion":"3","annotations":{"team":"x",
    "failover.lifeboat.dev/added-taints":"[{\"key\":\"down\",\"effect\":\"NoExecute\",\"rule\":\"r\",\"failoverID\":\"e1\",\"later\":1}]",
    "failover.lifeboat.dev/ordered-taints":"[{\"key\":\"old\",\"effect\":\"NoExecute\",\"who\":\"bob\",\"why\":\"heat\",\"since\":1}]",
    "failover.lifeboat.dev/soft-taints":"[{\"key\":\"operator\",\"timeAdded\":\"2026-01-01T00:00:00Z\"}]"}},
  "spec":{"taints":[
    {"key":"cluster.karmada.io/not-ready","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"},
    {"key":"operator","value":"v","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z","later":1},
    {"key":"down","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}]}}`

// Rules: R4.1-27, R4.1-28, R4.1-29, R4.2-3.
func TestEachTaintWriteTouchesOnlyTaintsAndAnnotationsOfLifeboat(t *testing.T) {
	const others = `{"key":"cluster.karmada.io/not-ready","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"},` +
		`{"key":"operator","value":"v","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z","later":1}`
	const down = `{"key":"down","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}`
	const record = `{\"key\":\"down\",\"effect\":\"NoExecute\",\"rule\":\"r\",\"failoverID\":\"e1\",\"later\":1}`
	evacuationTaint := karmada.RuleTaint{Key: karmada.EvacuatingTaintKey, Effect: "NoSchedule"}
	for name, c := range map[string]struct {
		write activities.TaintWrite
		want  string
	}{
		"a taint and its evacuation taint are put and recorded": {
			write: activities.TaintWrite{Add: []karmada.RuleTaint{{Key: "new", Value: "1", Effect: "NoExecute"}, evacuationTaint}, AddRules: []string{"r2", ""}, FailoverID: "e2"},
			want: `{"metadata":{"resourceVersion":"3","annotations":{"failover.lifeboat.dev/added-taints":"[` + record + `,` +
				`{\"key\":\"new\",\"effect\":\"NoExecute\",\"rule\":\"r2\",\"failoverID\":\"e2\"},` +
				`{\"key\":\"failover.lifeboat.dev/evacuating\",\"effect\":\"NoSchedule\",\"rule\":\"\",\"failoverID\":\"e2\"}]"}},` +
				`"spec":{"taints":[` + others + `,` + down + `,{"key":"new","value":"1","effect":"NoExecute"},` +
				`{"key":"failover.lifeboat.dev/evacuating","effect":"NoSchedule"}]}}`,
		},
		"a taint that an operator put stays the operator's": {
			write: activities.TaintWrite{Add: []karmada.RuleTaint{{Key: "operator", Effect: "NoExecute"}, {Key: "operator", Effect: "PreferNoExecute"}}, AddRules: []string{"r", "r"}, FailoverID: "e2"},
			want:  `{"metadata":{"resourceVersion":"3"}}`,
		},
		"a taint of an earlier failover is recorded for this one": {
			write: activities.TaintWrite{Add: []karmada.RuleTaint{{Key: "down", Effect: "NoExecute"}}, AddRules: []string{"r"}, FailoverID: "e2"},
			want: `{"metadata":{"resourceVersion":"3","annotations":{"failover.lifeboat.dev/added-taints":` +
				`"[{\"key\":\"down\",\"effect\":\"NoExecute\",\"rule\":\"r\",\"failoverID\":\"e2\"}]"}}}`,
		},
		"a taint that another rule takes over is recorded for that": {
			write: activities.TaintWrite{Add: []karmada.RuleTaint{{Key: "down", Effect: "NoExecute"}}, AddRules: []string{"r2"}, FailoverID: "e1"},
			want: `{"metadata":{"resourceVersion":"3","annotations":{"failover.lifeboat.dev/added-taints":` +
				`"[{\"key\":\"down\",\"effect\":\"NoExecute\",\"rule\":\"r2\",\"failoverID\":\"e1\"}]"}}}`,
		},
		"the same again changes nothing": {
			write: activities.TaintWrite{Add: []karmada.RuleTaint{{Key: "down", Effect: "NoExecute"}}, AddRules: []string{"r"}, FailoverID: "e1"},
			want:  `{"metadata":{"resourceVersion":"3"}}`,
		},
		"a soft taint goes to the annotation with its time": {
			write: activities.TaintWrite{Add: []karmada.RuleTaint{{Key: "soft", Effect: "PreferNoExecute"}}, AddRules: []string{"r"}, FailoverID: "e1"},
			want: `{"metadata":{"resourceVersion":"3","annotations":{"failover.lifeboat.dev/added-taints":"[` + record + `,` +
				`{\"key\":\"soft\",\"effect\":\"PreferNoExecute\",\"rule\":\"r\",\"failoverID\":\"e1\"}]",` +
				`"failover.lifeboat.dev/soft-taints":"[{\"key\":\"operator\",\"timeAdded\":\"2026-01-01T00:00:00Z\"},{\"key\":\"soft\",\"timeAdded\":\"2026-11-21T10:00:00Z\"}]"}}}`,
		},
		"the last of Lifeboat's takes the annotation with it": {
			write: activities.TaintWrite{Remove: []karmada.AddedTaint{{Key: "down", Effect: "NoExecute"}}},
			want:  `{"metadata":{"resourceVersion":"3","annotations":{"failover.lifeboat.dev/added-taints":null}},"spec":{"taints":[` + others + `]}}`,
		},
		"what is not recorded as Lifeboat's is not removed": {
			write: activities.TaintWrite{Remove: []karmada.AddedTaint{
				{Key: "operator", Effect: "NoExecute"},
				{Key: "operator", Effect: "PreferNoExecute"},
				{Key: "down", Effect: "NoSchedule"},
				{Key: "cluster.karmada.io/not-ready", Effect: "NoSchedule"},
			}},
			want: `{"metadata":{"resourceVersion":"3"}}`,
		},
		"a cancel is recorded": {
			write: activities.TaintWrite{StoppedBy: &karmada.StoppedBy{Who: "ann", Why: "a > b", FailoverID: "e1"}},
			want:  `{"metadata":{"resourceVersion":"3","annotations":{"failover.lifeboat.dev/stopped-by":"{\"who\":\"ann\",\"why\":\"a > b\",\"failoverID\":\"e1\"}"}}}`,
		},
		"a drain is recorded": {
			write: activities.TaintWrite{Drain: &karmada.Drain{Who: "ann", Why: "new kernel", Selector: "a!=b", Rate: 0.5, FailoverID: "e1"}},
			want: `{"metadata":{"resourceVersion":"3","annotations":{"failover.lifeboat.dev/drained-by":` +
				`"{\"who\":\"ann\",\"why\":\"new kernel\",\"selector\":\"a!=b\",\"rate\":0.5,\"failoverID\":\"e1\"}"}}}`,
		},
		"the order of a taint is recorded, and those of others stay": {
			write: activities.TaintWrite{Order: &karmada.OrderedTaint{Key: "k", Value: "v", Effect: "NoExecute", Who: "ann", Why: "disks", FailoverID: "e1"}},
			want: `{"metadata":{"resourceVersion":"3","annotations":{"failover.lifeboat.dev/ordered-taints":` +
				`"[{\"key\":\"old\",\"effect\":\"NoExecute\",\"who\":\"bob\",\"why\":\"heat\",\"since\":1},` +
				`{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoExecute\",\"who\":\"ann\",\"why\":\"disks\",\"failoverID\":\"e1\"}]"}}}`,
		},
		"the end of the last one takes the annotation with it": {
			write: activities.TaintWrite{EndOrders: []karmada.OrderedTaint{{Key: "old", Effect: "NoExecute"}, {Key: "none", Effect: "NoExecute"}}},
			want:  `{"metadata":{"resourceVersion":"3","annotations":{"failover.lifeboat.dev/ordered-taints":null}}}`,
		},
		"and ended": {
			write: activities.TaintWrite{ClearDrain: true},
			want:  `{"metadata":{"resourceVersion":"3","annotations":{"failover.lifeboat.dev/drained-by":null}}}`,
		},
		"and cleared": {
			write: activities.TaintWrite{ClearStopped: true},
			want:  `{"metadata":{"resourceVersion":"3","annotations":{"failover.lifeboat.dev/stopped-by":null}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.write.Cluster = DecodeCluster([]byte(tainted))
			require.Empty(t, c.write.Cluster.Malformed)
			assert.Equal(t, c.want, string(fixtures.Must(taintPatch(c.write, at))(t)))
		})
	}
}

func TestATaintWriteThatWouldHarmIsRefused(t *testing.T) {
	cluster := DecodeCluster([]byte(tainted))
	karmadas := activities.TaintWrite{Cluster: cluster, Add: []karmada.RuleTaint{{Key: "cluster.karmada.io/unschedulable", Effect: "NoSchedule"}}, AddRules: []string{"r"}}
	bare := activities.TaintWrite{Cluster: cluster, ClearStopped: true}
	bare.Cluster.RawTaints = nil
	ruleless := activities.TaintWrite{Cluster: cluster, Add: []karmada.RuleTaint{{Key: "a", Effect: "NoExecute"}}}
	garbled := activities.TaintWrite{ClearStopped: true, Cluster: DecodeCluster([]byte(
		`{"metadata":{"name":"m1","uid":"u","resourceVersion":"3","annotations":{"failover.lifeboat.dev/added-taints":"mine"}}}`))}
	for name, write := range map[string]activities.TaintWrite{
		"Karmada's own taint": karmadas, "taints without their JSON": bare,
		"taints without their rules": ruleless, "an annotation that cannot be read": garbled, "no cluster": {},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorIs(t, fixtures.Err(taintPatch(write, at)), karmada.ErrInvalid)
		})
	}
}

// What somebody garbled must not be overwritten, and must not keep a hard taint away.
func TestAGarbledListOfSoftTaintsIsLeftAloneAndHardTaintsArePutAllTheSame(t *testing.T) {
	cluster := DecodeCluster([]byte(`{"metadata":{"name":"m1","uid":"u","resourceVersion":"3","annotations":{
      "failover.lifeboat.dev/soft-taints":"maintenance",
      "failover.lifeboat.dev/added-taints":"[{\"key\":\"soft\",\"effect\":\"PreferNoExecute\",\"rule\":\"r\",\"failoverID\":\"e1\"}]"}}}`))
	put := func(effect string) activities.TaintWrite {
		return activities.TaintWrite{
			Cluster: cluster, FailoverID: "e1", AddRules: []string{"r"}, Add: []karmada.RuleTaint{{Key: "down", Effect: corev1.TaintEffect(effect)}},
		}
	}
	patch := fixtures.Must(taintPatch(put("NoExecute"), at))(t)
	assert.NotContains(t, string(patch), karmada.AnnotationSoftTaints)
	assert.Contains(t, string(patch), `{"key":"down","effect":"NoExecute"}`)
	require.ErrorIs(t, fixtures.Err(taintPatch(put("PreferNoExecute"), at)), karmada.ErrInvalid)
	_, err := taintPatch(activities.TaintWrite{Cluster: cluster, Remove: cluster.Added}, at)
	require.ErrorIs(t, err, karmada.ErrInvalid, "Lifeboat's record stays while the taint may stand in what cannot be read")
}

// applied is what a server makes of a merge patch.
func applied(t require.TestingT, object, patch []byte) map[string]any {
	merged := fixtures.Must(jsonpatch.MergePatch(object, patch))(t)
	var out map[string]any
	require.NoError(t, json.Unmarshal(merged, &out))
	return out
}

// Karmada divides from scratch for as long as the trigger is later than its last answer, in whole seconds of its own
// clock. Of what is divided, a trigger just after that answer is over with the next one. Of the rest each look is an
// answer, one that has begun before the write as well.
func TestARescheduleIsTriggeredOnce(t *testing.T) {
	answered := time.Date(2026, 11, 21, 10, 0, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		now     time.Time
		divided bool
		want    time.Time
	}{
		"in the second of the answer":        {now: answered.Add(700 * time.Millisecond), want: answered.Add(time.Second)},
		"on a clock that lags":               {now: answered.Add(-time.Minute), want: answered.Add(time.Second)},
		"long after it":                      {now: answered.Add(time.Hour + time.Millisecond), want: answered.Add(time.Hour + time.Second)},
		"long after it, where it is divided": {now: answered.Add(time.Hour), divided: true, want: answered.Add(time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			b := decoded(t, shared)
			b.Status.LastScheduled = &answered
			if tc.divided {
				b.Workload, b.Replicas, b.Placement = true, 2, &karmada.Placement{ReplicaScheduling: &karmada.ReplicaScheduling{Type: karmada.SchedulingDivided}}
			}
			edit := fixtures.Must(newBindingEdit(b, "m1"))(t)
			edit.reschedule(true, tc.now)
			assert.True(t, edit.rescheduleAt.Equal(tc.want), edit.rescheduleAt)
		})
	}
}

// A trigger that outlives its answer would have Karmada divide from scratch once the hold is gone.
//
// Rules: R4.7-20.
func TestAWriteThatDropsAHoldEndsATriggerThatOutlivedItsAnswer(t *testing.T) {
	answered := time.Date(2026, 11, 21, 10, 0, 5, 0, time.UTC)
	for name, write := range map[string]func(b *karmada.Binding) any{
		"release": func(b *karmada.Binding) any { return activities.ReleaseWrite{Binding: b, Cluster: "m1"} },
		"restore": func(b *karmada.Binding) any {
			return activities.RestoreWrite{Binding: b, Cluster: "m1", Replicas: 2, Now: at}
		},
		"swap": func(b *karmada.Binding) any {
			return activities.EvictWrite{Binding: b, Cluster: "m2", Owner: "o", Now: at, Back: &karmada.TargetCluster{Name: "m1", Replicas: 2}}
		},
		"last holder": func(b *karmada.Binding) any { return activities.HoldersWrite{Binding: b, Cluster: "m1", Now: at} },
		"ban": func(b *karmada.Binding) any {
			return activities.MarkWrite{Binding: b, Cluster: "m1", Reason: karmada.TaskReasonBanned, Purge: karmada.PurgeDirectly}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := decoded(t, heldAlone)
			b.Status.LastScheduled, b.RescheduleTriggeredAt = &answered, new(answered.Add(time.Second))
			require.Contains(t, string(fixtures.Must(patchOf(write(b)))(t)), `"rescheduleTriggeredAt":"2026-11-21T10:00:05Z"`)
			b.RescheduleTriggeredAt = new(answered.Add(-time.Hour))
			require.NotContains(t, string(fixtures.Must(patchOf(write(b)))(t)), "rescheduleTriggeredAt")
		})
	}
}

// The task says how the old copy goes: to Karmada, and to a run that takes it over.
func TestKarmada6676ATaskCarriesThePurgeMode(t *testing.T) {
	modeOf := func(patch []byte, err error) karmada.PurgeMode {
		t.Helper()
		require.NoError(t, err)
		var sent struct {
			Spec struct {
				Tasks []karmada.Task `json:"gracefulEvictionTasks"`
			} `json:"spec"`
		}
		require.NoError(t, json.Unmarshal(patch, &sent))
		for _, task := range sent.Spec.Tasks {
			if task.FromCluster == "m1" {
				require.True(t, *task.SuppressDeletion)
				return task.PurgeMode
			}
		}
		require.Fail(t, "no task for m1")
		return ""
	}
	for want, asked := range map[karmada.PurgeMode]karmada.PurgeMode{
		karmada.PurgeDirectly: karmada.PurgeDirectly, karmada.PurgeNever: karmada.PurgeNever, karmada.PurgeGracefully: "",
	} {
		require.Equal(t, want, modeOf(patchOf(activities.EvictWrite{Binding: decoded(t, shared), Cluster: "m1", Now: at, Purge: asked})))
		require.Equal(t, want, modeOf(patchOf(activities.HoldWrite{Binding: decoded(t, shared), Cluster: "m1", Now: at, Purge: asked})))
	}
}

// A task that stood for parents, or as a ban, had a mode, clusters and a time that were
// not the binding's own: its own migration writes its own, and keeps them from then on.
//
// Rules: R4.8-11.
func TestATaskTakenOverSaysWhatItsNewOwnersWould(t *testing.T) {
	const before = `"purgeMode":"Gracefully","creationTimestamp":"2026-11-20T10:00:00Z","clustersBeforeFailover":["m9"],`
	task := func(patch []byte, err error) karmada.Task {
		t.Helper()
		require.NoError(t, err)
		var sent bindingPatch
		require.NoError(t, json.Unmarshal(patch, &sent))
		var out karmada.Task
		require.NoError(t, json.Unmarshal((*sent.Spec.Tasks)[1], &out))
		require.Equal(t, "m1", out.FromCluster)
		return out
	}
	standing := func(reason, message string) *karmada.Binding {
		old := `"reason":"LifeboatDependent","message":"p1 p2"`
		require.Contains(t, dependent, old)
		return decoded(t, strings.Replace(dependent, old, before+`"reason":"`+reason+`","message":"`+message+`"`, 1))
	}
	evict := func(b *karmada.Binding, mode karmada.PurgeMode) ([]byte, error) {
		return patchOf(activities.EvictWrite{Binding: b, Cluster: "m1", Owner: "own", Now: at, Purge: mode})
	}
	for name, reason := range map[string]string{"held for parents": karmada.TaskReasonDependent, "a drain's ban": karmada.TaskReasonBanned} {
		t.Run(name, func(t *testing.T) {
			got := task(evict(standing(reason, "p1"), karmada.PurgeNever))
			require.Equal(t, karmada.PurgeNever, got.PurgeMode)
			require.Equal(t, []string{"m1"}, got.ClustersBeforeFailover)
			require.True(t, got.CreationTimestamp.Equal(at.Truncate(time.Second)))
			got = task(patchOf(activities.HoldWrite{
				Binding: standing(reason, "p1"), Cluster: "m1", Owner: "own", Now: at, Purge: karmada.PurgeNever, Before: []string{"m1", "m2"},
			}))
			require.Equal(t, karmada.PurgeNever, got.PurgeMode)
			require.Equal(t, []string{"m1", "m2"}, got.ClustersBeforeFailover)
		})
	}
	own := task(evict(standing(karmada.TaskReason, "own p1"), karmada.PurgeNever))
	require.Equal(t, karmada.PurgeGracefully, own.PurgeMode, "a repeat changes no mode")
	require.Equal(t, []string{"m9"}, own.ClustersBeforeFailover)
	_, err := evict(standing(karmada.TaskReasonDependent, "p1"), karmada.PurgeDirectly)
	require.ErrorIs(t, err, karmada.ErrInvalid, "Directly would delete it under its parents")
}

// Rules: R4.8-15.
func TestDecodeBinding_PreserveResourcesOnDeletion(t *testing.T) {
	decoded := func(value string) karmada.Binding {
		return DecodeBinding([]byte(`{"metadata":{"name":"a","namespace":"shop"},"spec":{"resource":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"}` + value + `}}`))
	}
	require.True(t, decoded(`,"preserveResourcesOnDeletion":true`).PreservesCopies)
	require.False(t, decoded(`,"preserveResourcesOnDeletion":false`).PreservesCopies)
	require.False(t, decoded("").PreservesCopies)
	require.Contains(t, decoded(`,"preserveResourcesOnDeletion":"yes"`).Malformed, "preserveResourcesOnDeletion")
}

// dependent is a binding of a ConfigMap that two parents hold on m1.
const dependent = `{
  "metadata":{"name":"config-configmap","namespace":"shop","uid":"u1","resourceVersion":"9"},
  "spec":{"resource":{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"config"},
    "clusters":[{"name":"m1"}],
    "requiredBy":[{"namespace":"shop","name":"cart-deployment","clusters":[{"name":"m1","replicas":2}]},{"namespace":"shop","name":"menu-deployment"}],
    "gracefulEvictionTasks":[
      {"fromCluster":"m3","producer":"Other","reason":"R","later":1},
      {"fromCluster":"m1","producer":"Lifeboat","reason":"LifeboatDependent","message":"p1 p2","suppressDeletion":true,"later":1}]}}`

const others = `{"fromCluster":"m3","producer":"Other","reason":"R","later":1}`

// Rules: R4.10-2, R4.10-4, R4.10-6.
func TestHoldersAreCountedInTheTaskItself(t *testing.T) {
	free := strings.Replace(dependent, `,
      {"fromCluster":"m1","producer":"Lifeboat","reason":"LifeboatDependent","message":"p1 p2","suppressDeletion":true,"later":1}`, "", 1)
	banned := strings.Replace(dependent, `"reason":"LifeboatDependent","message":"p1 p2"`, `"purgeMode":"Directly","reason":"LifeboatDrained","message":"cluster-failover/m1"`, 1)
	owned := strings.Replace(dependent, `"reason":"LifeboatDependent","message":"p1 p2"`, `"reason":"ClusterFailover","message":"own p1"`, 1)
	holders := func(raw string, names ...string) activities.HoldersWrite {
		return activities.HoldersWrite{Binding: decoded(t, raw), Cluster: "m1", Holders: names, Now: at}
	}
	for name, c := range map[string]struct {
		write any
		want  string
	}{
		"the first appends a task": {
			write: holders(free, "p1"),
			want: `{"fromCluster":"m1","purgeMode":"Gracefully","reason":"LifeboatDependent","message":"p1","producer":"Lifeboat",` +
				`"suppressDeletion":true,"creationTimestamp":"2026-11-21T10:00:00Z","clustersBeforeFailover":["m1"]}`,
		},
		"a further one changes its message alone": {
			write: holders(dependent, "p1", "p2", "p3"),
			want:  `{"fromCluster":"m1","later":1,"message":"p1 p2 p3","producer":"Lifeboat","reason":"LifeboatDependent","suppressDeletion":true}`,
		},
		"a ban becomes its hold": {
			write: holders(banned, "p1"),
			want: `{"clustersBeforeFailover":["m1"],"creationTimestamp":"2026-11-21T10:00:00Z","fromCluster":"m1","later":1,"message":"p1",` +
				`"producer":"Lifeboat","purgeMode":"Gracefully","reason":"LifeboatDependent","suppressDeletion":true}`,
		},
		"the last takes it away": {write: holders(dependent)},
		"the dependent's own migration takes it over": {
			write: activities.EvictWrite{Binding: decoded(t, dependent), Cluster: "m1", Owner: "own", Now: at},
			want: `{"clustersBeforeFailover":["m1"],"creationTimestamp":"2026-11-21T10:00:00Z","fromCluster":"m1","later":1,` +
				`"message":"own p1 p2","producer":"Lifeboat","purgeMode":"Gracefully","reason":"ClusterFailover",`,
		},
		"and leaves it to its parents": {
			write: activities.ReleaseWrite{Binding: decoded(t, owned), Cluster: "m1"},
			want:  `{"fromCluster":"m1","later":1,"message":"p1","producer":"Lifeboat","reason":"LifeboatDependent","suppressDeletion":true}`,
		},
		"whose own hold it does not touch": {write: activities.ReleaseWrite{Binding: decoded(t, dependent), Cluster: "m1"}, want: "unchanged"},
	} {
		t.Run(name, func(t *testing.T) {
			patch := fixtures.Must(patchOf(c.write))(t)
			if c.want == "unchanged" {
				require.JSONEq(t, `{"metadata":{"resourceVersion":"9"}}`, string(patch))
				return
			}
			require.Contains(t, string(patch), `"gracefulEvictionTasks":[`+others, "what others wrote stays as it is")
			require.Contains(t, string(patch), c.want)
			if c.want == "" {
				require.NotContains(t, string(patch), "Lifeboat")
			}
		})
	}
	b := decoded(t, dependent)
	require.Equal(t, []karmada.RequiredBy{
		{Namespace: "shop", Name: "cart-deployment", Clusters: []string{"m1"}}, {Namespace: "shop", Name: "menu-deployment"},
	}, b.RequiredBy)
	require.True(t, b.ServesOn("m1"))
}

// Rules: R4.10-7.
func TestNoHolderIsEverCutOff(t *testing.T) {
	long := strings.Repeat("x", 1020)
	crowded := decoded(t, strings.Replace(dependent, "p1 p2", long, 1))
	_, err := patchOf(activities.HoldersWrite{Binding: crowded, Cluster: "m1", Holders: []string{long, "p2p3"}})
	require.ErrorIs(t, err, karmada.ErrInvalid)
	_, err = patchOf(activities.EvictWrite{Binding: crowded, Cluster: "m1", Owner: "owner", Now: at})
	require.ErrorIs(t, err, karmada.ErrInvalid)
}

// Eviction tasks were silently dropped by concurrent patches of the whole list: whoever
// wrote last had not read what the other one wrote. Each of Lifeboat's writes is refused then,
// and repeated on what stands it keeps all of it.
//
// Rules: R4.7-7, R4.7-9, R4.7-10.
func TestKarmada7302ConcurrentWritersDropNoTask(t *testing.T) {
	// The other one adds a task of its own and moves a replica, between Lifeboat's read and Lifeboat's write.
	const theirs = `{"fromCluster":"m5","producer":"TaintManager","reason":"TaintUntolerated","gracePeriodSeconds":9}`
	meanwhile := strings.NewReplacer(
		`"gracefulEvictionTasks":[`, `"gracefulEvictionTasks":[`+theirs+`,`, `"resourceVersion":"7"`, `"resourceVersion":"8"`, `"resourceVersion":"9"`, `"resourceVersion":"10"`,
	)
	for name, c := range map[string]struct {
		stands string
		own    int // Lifeboat tasks for m1 after the write
	}{
		"evict": {stands: shared, own: 1}, "hold": {stands: shared, own: 1}, "mark": {stands: heldAlone, own: 1},
		"release": {stands: heldAlone}, "restore": {stands: heldAlone},
	} {
		t.Run(name, func(t *testing.T) {
			server, client := serving(t, map[string]string{rbPath: c.stands})
			key := karmada.BindingKey{Namespace: "shop", Name: "cart-deployment"}
			read := fixtures.Must(client.Binding(t.Context(), key))(t)
			others := len(read.Tasks)
			if _, at := read.TaskFor("m1"); at >= 0 {
				others--
			}
			now := meanwhile.Replace(c.stands)
			require.NotEqual(t, read.ResourceVersion, version([]byte(now)))
			server.mutex.Lock()
			server.objects[rbPath] = now
			server.mutex.Unlock()

			require.ErrorIs(t, fixtures.Err(send(t.Context(), client, bindingWrites[name](&read))), karmada.ErrConflict)
			server.mutex.Lock()
			require.Equal(t, now, server.objects[rbPath], "what the other one wrote stands as it was")
			server.mutex.Unlock()

			read = fixtures.Must(client.Binding(t.Context(), key))(t)
			after := fixtures.Must(send(t.Context(), client, bindingWrites[name](&read)))(t)
			require.Len(t, after.Tasks, others+1+c.own, "every task of others, the new one too, and Lifeboat's: %+v", after.Tasks)
			_, at := after.TaskFor("m1")
			require.Equal(t, c.own == 1, at >= 0)
			require.Contains(t, server.objects[rbPath], `"gracePeriodSeconds":9`, "with the fields that we do not know")
		})
	}
}
