package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// worked is one eviction from m1 worked out by hand. Clusters are written
// "m2 room=3 region=east down"; runs and want are "m2=2 m3=4".
type worked struct {
	name      string
	placement string
	runs      string
	replicas  int      // spec.replicas; the sum of runs when 0
	spec      string   // more of the binding's spec, as JSON
	unclaimed bool     // no policy claims it
	observed  string   // the affinity group that the scheduler stands at
	fleet     []string // besides m1

	reason reason.Reason // of the pre-check's no; empty for yes
	want   string        // where the scheduler then puts it, empty when it fails
}

const (
	duplicated = `"replicaScheduling":{"replicaSchedulingType":"Duplicated"}`
	aggregated = `"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Aggregated"}`
	dynamic    = `"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Weighted","weightPreference":{"dynamicWeight":"AvailableReplicas"}}`
)

// static weighs clusters, "m1=1 m2=2".
func static(weights string) string {
	var list []string
	for _, w := range strings.Fields(weights) {
		name, n, _ := strings.Cut(w, "=")
		list = append(list, fmt.Sprintf(`{"targetCluster":{"clusterNames":[%q]},"weight":%s}`, name, n))
	}
	return `"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Weighted","weightPreference":{"staticWeightList":[` + strings.Join(list, ",") + `]}}`
}

func among(names ...string) string {
	return fmt.Sprintf(`"clusterAffinity":{"clusterNames":["%s"]}`, strings.Join(names, `","`))
}

// groups are affinity groups, "primary: m1 m2".
func groups(lines ...string) string {
	var list []string
	for _, line := range lines {
		name, members, _ := strings.Cut(line, ": ")
		list = append(list, fmt.Sprintf(`{"affinityName":%q,"clusterNames":["%s"]}`, name, strings.Join(strings.Fields(members), `","`)))
	}
	return `"clusterAffinities":[` + strings.Join(list, ",") + `]`
}

// spread names constraints, "cluster 2-2".
func spread(constraints ...string) string {
	var list []string
	for _, c := range constraints {
		field, bounds, _ := strings.Cut(c, " ")
		least, most, _ := strings.Cut(bounds, "-")
		list = append(list, fmt.Sprintf(`{"spreadByField":%q,"minGroups":%s,"maxGroups":%s}`, field, least, most))
	}
	return `"spreadConstraints":[` + strings.Join(list, ",") + `]`
}

var workedOut = []worked{
	// The examples of Karmada's documentation on cluster failover.
	{
		name:      "Duplicated on 2 of 4, one fails: the other stays and a third joins",
		placement: among("m1", "m2", "m3", "m5") + "," + spread("cluster 2-2") + "," + duplicated,
		runs:      "m1=2 m2=2", replicas: 2, fleet: []string{"m2", "m3", "m5"}, want: "m2=2 m3=2",
	},
	{
		name:      "Divided 1:2, one fails: the other takes all",
		placement: among("m1", "m2") + "," + static("m1=1 m2=2"),
		runs:      "m1=1 m2=2", fleet: []string{"m2"}, want: "m2=3",
	},
	// Worked out by hand.
	{
		name:      "static 1:2, eight replicas: the eighth goes to 1/5, not to 2/11",
		placement: static("m1=1 m2=1 m3=2"), runs: "m1=2 m2=2 m3=4", fleet: []string{"m2", "m3"}, want: "m2=3 m3=5",
	},
	{
		name:      "static 3:2:1, fourteen replicas: 7, 4 2/3 and 2 1/3 are rounded",
		placement: static("m2=3 m3=2 m4=1"), runs: "m1=14", fleet: []string{"m2", "m3", "m4"}, want: "m2=7 m3=5 m4=2",
	},
	{
		name:      "static, a cluster that comes out with none is dropped",
		placement: static("m2=4 m3=1"), runs: "m1=2", fleet: []string{"m2", "m3"}, want: "m2=2",
	},
	{
		name:      "static, a cluster without weight gets nothing while one has any",
		placement: static("m1=1 m2=1"), runs: "m1=2 m2=2", fleet: []string{"m2", "m3"}, want: "m2=4",
	},
	{
		name:      "static, the survivor is full: the scheduler does not care",
		placement: among("m1", "m2") + "," + static("m1=1 m2=2"), runs: "m1=1 m2=2", fleet: []string{"m2 room=0"}, want: "m2=3",
	},
	{
		name:      "static, the survivor's room is not known",
		placement: among("m1", "m2") + "," + static("m1=1 m2=2"), runs: "m1=1 m2=2", fleet: []string{"m2 room=unknown"}, want: "m2=3",
	},
	{
		name:      "Aggregated, all go to the one with most room",
		placement: aggregated, runs: "m1=3", fleet: []string{"m2 room=2", "m3 room=5"}, want: "m3=3",
	},
	{
		name:      "Aggregated, what runs counts first: room 1 beside 5 for three, the third is a tie and goes to the one with fewer",
		placement: aggregated, runs: "m1=3 m2=1", fleet: []string{"m2 room=1", "m3 room=5"}, want: "m2=2 m3=2",
	},
	{
		name:      "Aggregated, no single one has the room",
		placement: aggregated, runs: "m1=5", fleet: []string{"m2 room=2", "m3 room=4"}, want: "m2=2 m3=3",
	},
	{
		name:      "dynamic weight, as much as there is room",
		placement: dynamic, runs: "m1=6", fleet: []string{"m2 room=2", "m3 room=4"}, want: "m2=2 m3=4",
	},
	{
		name:      "dynamic weight, five over 3 and 6: the fifth goes to 3/3, not to 6/7",
		placement: dynamic, runs: "m1=5", fleet: []string{"m2 room=3", "m3 room=6"}, want: "m2=2 m3=3",
	},
	{
		name:      "dynamic weight, not enough room together",
		placement: dynamic, runs: "m1=5", fleet: []string{"m2 room=2", "m3 room=2"}, reason: reason.NoCapacity,
	},
	{
		name:      "dynamic weight, unknown room is none",
		placement: dynamic, runs: "m1=1", fleet: []string{"m2 room=unknown"}, reason: reason.NoCapacity,
	},
	{
		name:      "two regions, and another cluster in the failed one's region",
		placement: spread("region 2-2", "cluster 2-2") + "," + duplicated, runs: "m1=2 m3=2", replicas: 2,
		fleet: []string{"m2 region=east", "m3 region=west", "m4 region=west"}, want: "m2=2 m3=2",
	},
	{
		name:      "two regions, and one is left",
		placement: spread("region 2-2", "cluster 2-2") + "," + duplicated, runs: "m1=2 m3=2", replicas: 2,
		fleet: []string{"m3 region=west", "m4 region=west"}, reason: reason.SpreadUnsatisfied,
	},
	{
		name:      "a region where nothing has room for a whole copy is no longer in the scheduler's way",
		placement: spread("region 1-1", "cluster 1-1") + "," + duplicated, runs: "m1=2",
		fleet: []string{"m2 region=east", "m3 region=west room=1"}, want: "m2=2",
	},
	{
		name:      "two zones wanted, one there: the scheduler does not count zones, we do",
		placement: spread("zone 2-2", "cluster 1-1") + "," + duplicated, runs: "m1=2",
		fleet: []string{"m2 zone=a", "m3 zone=a"}, reason: reason.SpreadUnsatisfied, want: "m2=2",
	},
	{
		name:      "by zone alone the scheduler cannot spread",
		placement: spread("zone 1-1") + "," + duplicated, runs: "m1=2", fleet: []string{"m2 zone=a"}, reason: reason.SpreadUnsatisfied,
	},
	{
		name:      "on to the backup group",
		placement: groups("primary: m1", "backup: m2 m3") + "," + spread("cluster 1-1"), runs: "m1=2", observed: "primary",
		fleet: []string{"m2", "m3"}, want: "m2=2",
	},
	{
		name:      "back to the primary, where nothing else is left",
		placement: groups("primary: m2", "backup: m1"), runs: "m1=2", observed: "backup", fleet: []string{"m2"}, want: "m2=2",
	},
	{
		name:      "pinned to one cluster: nowhere to go",
		placement: among("m1"), runs: "m1=0", fleet: []string{"m2"}, reason: reason.Pinned,
	},
	{
		name:      "the other cluster does not serve the kind",
		placement: duplicated, runs: "m1=2", fleet: []string{"m2 serves=DaemonSet"}, reason: reason.NoTarget,
	},
	{
		name:      "a cordoned cluster keeps what it has",
		placement: duplicated, runs: "m1=2 m2=2", replicas: 2, fleet: []string{"m2 taint=cordon", "m3 taint=cordon"}, want: "m2=2",
	},
	{
		name:      "a dead cluster that Karmada has not tainted: the scheduler takes it, we do not",
		placement: duplicated, runs: "m1=2", fleet: []string{"m2 down"}, reason: reason.NoTarget, want: "m2=2",
	},
	{
		name:      "a soft taint: the scheduler does not see it, we do",
		placement: duplicated, runs: "m1=2", fleet: []string{"m2 soft"}, reason: reason.NoTarget, want: "m2=2",
	},
	{
		name:      "scheduling is suspended",
		placement: duplicated, runs: "m1=2", spec: `"suspension":{"scheduling":true}`, fleet: []string{"m2"}, reason: reason.SchedulingSuspended,
	},
	{
		name:      "no policy claims it",
		placement: duplicated, runs: "m1=2", unclaimed: true, fleet: []string{"m2"}, reason: reason.NotSupportedPlacement,
	},
	{
		name:      "another scheduler",
		placement: duplicated, runs: "m1=2", spec: `"schedulerName":"another"`, fleet: []string{"m2"}, reason: reason.ForeignScheduler,
	},
}

// Rules: R4.6-25, R4.6-26.
func TestPlacementsWorkedOutByHand(t *testing.T) {
	for _, w := range workedOut {
		t.Run(w.name, func(t *testing.T) {
			q := w.question(t)
			v := placement.PreCheck(q.input(t))
			require.Equal(t, w.reason, v.Reason, v.Message)
			require.Equal(t, w.reason == reason.None, v.OK)
			targets, placed, why := q.schedule(t, v.Reschedule)
			require.Equal(t, w.want, written(targets), why)
			require.Equal(t, w.want != "", placed, why)
		})
	}
}

func written(targets []api.TargetCluster) string {
	var out []string
	for _, target := range targets {
		out = append(out, fmt.Sprintf("%s=%d", target.Name, target.Replicas))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (w worked) question(t *testing.T) question {
	spec := object{}
	extra := strings.TrimSuffix(w.spec+",", ",")
	if extra != "" {
		extra += ","
	}
	require.NoError(t, json.Unmarshal([]byte(`{`+extra+`"placement":{`+w.placement+`}}`), &spec))
	var clusters []any
	sum := 0
	for _, run := range strings.Fields(w.runs) {
		name, n, _ := strings.Cut(run, "=")
		replicas, err := strconv.Atoi(n)
		require.NoError(t, err)
		sum += replicas
		clusters = append(clusters, object{"name": name, "replicas": replicas})
	}
	if w.replicas > 0 {
		sum = w.replicas
	}
	spec["clusters"], spec["replicas"] = clusters, sum
	spec["resource"] = object{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "cart"}
	q := question{failing: "m1", binding: object{
		"metadata": object{"name": "cart-deployment", "namespace": "shop", "uid": "uid", "labels": claimed}, "spec": spec,
		"status": object{"schedulerObservingAffinityName": w.observed, "lastScheduledTime": scheduledAt.Format(time.RFC3339)},
	}}
	if w.unclaimed {
		delete(q.binding["metadata"].(object), "labels")
	}
	for _, line := range append([]string{"m1 down region=east zone=a taint=failed"}, w.fleet...) {
		q.clusters = append(q.clusters, clusterOf(t, line))
	}
	return q
}

func clusterOf(t *testing.T, line string) object {
	words := strings.Fields(line)
	spec, annotations := object{}, object{}
	ready, room, serves := "True", "100", "Deployment"
	status := object{}
	for _, word := range words[1:] {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "region", "provider":
			spec[key] = value
		case "zone":
			spec["zones"] = []any{value}
		case "taint":
			spec["taints"] = []any{object{"key": value, "effect": "NoSchedule"}}
		case "soft":
			annotations[karmada.AnnotationSoftTaints] = `[{"key":"soft"}]`
		case "down":
			ready = "False"
		case "room":
			room = value
		case "serves":
			serves = value
		default:
			t.Fatalf("what is %q of a cluster?", word)
		}
	}
	status["conditions"] = []any{condition("Ready", ready)}
	status["apiEnablements"] = []any{object{"groupVersion": "apps/v1", "resources": []any{object{"kind": serves, "name": "any"}}}}
	if room != "unknown" {
		free, err := strconv.Atoi(room)
		require.NoError(t, err)
		status["resourceSummary"] = object{"allocatable": object{"pods": fmt.Sprint(free + 10)}, "allocated": object{"pods": "10"}}
	}
	return object{"metadata": object{"name": words[0], "uid": "uid-" + words[0], "annotations": annotations}, "spec": spec, "status": status}
}
