package compare

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
)

// dice draws one question. Its odds are skewed so that both answers are common:
// small fleets, little room, few groups.
type dice struct {
	*rand.Rand
	names []string
}

func random(seed uint64) question {
	d := dice{Rand: rand.New(rand.NewPCG(seed, 4_6))}
	all := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	// Names are drawn, for the scheduler breaks ties by name.
	d.names = all[:2+d.IntN(5)]
	q := question{failing: d.names[0]}
	kind := d.kind()
	for _, name := range d.names {
		q.clusters = append(q.clusters, d.cluster(name, name == q.failing))
	}
	q.binding = d.binding(kind)
	q.change = d.unsaid()
	return q
}

// odds is true n times of a hundred.
func (d dice) odds(n int) bool { return d.IntN(100) < n }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// some picks a subset, each with the odds given, and never none of a list.
func (d dice) some(from []string, odds int) []any {
	var out []any
	for _, name := range from {
		if d.odds(odds) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		out = append(out, pick(d, from...))
	}
	return out
}

func (d dice) kind() string {
	return pick(d, "duplicated", "duplicated", "role", "static", "static", "aggregated", "aggregated", "dynamic", "dynamic", "components")
}

func condition(kind, status string) object {
	return object{"type": kind, "status": status, "reason": "Drawn", "lastTransitionTime": scheduledAt.Format(time.RFC3339)}
}

func (d dice) cluster(name string, failing bool) object {
	spec, annotations := object{"syncMode": "Push"}, object{}
	for _, property := range []string{"region", "provider"} {
		if !d.odds(10) {
			spec[property] = property + pick(d, "1", "1", "2", "3")
		}
	}
	switch {
	case d.odds(30):
		spec["zones"] = []any{"z" + pick(d, "1", "2"), "z" + pick(d, "3", "4")}
	case !d.odds(10):
		spec["zones"] = []any{"z" + pick(d, "1", "2", "3")}
	}
	var taints []any
	taint := func(key, effect string) {
		taints = append(taints, object{"key": key, "effect": effect, "timeAdded": scheduledAt.Format(time.RFC3339)})
	}
	ready := "True"
	if failing || d.odds(15) {
		ready = "False"
		if d.odds(60) {
			taint("cluster.karmada.io/not-ready", "NoSchedule")
		}
	}
	if failing {
		taint("failed", "NoExecute")
	}
	if d.odds(10) {
		taint("cordon", "NoSchedule")
	}
	if d.odds(7) {
		taint("hard", "NoExecute")
	}
	if d.odds(7) {
		annotations[karmada.AnnotationSoftTaints] = `[{"key":"soft"}]`
	}
	spec["taints"] = taints
	metadata := object{"name": name, "uid": "uid-" + name, "annotations": annotations, "labels": object{}}
	if d.odds(80) {
		metadata["labels"] = object{"rack": "rack" + pick(d, "1", "2", "3")}
	}
	if d.odds(5) {
		metadata["deletionTimestamp"] = evictedAt.Format(time.RFC3339)
	}
	status := object{"conditions": []any{condition("Ready", ready)}}
	d.apis(status)
	d.capacity(spec, status)
	return object{"metadata": metadata, "spec": spec, "status": status}
}

// apis: most clusters serve the kind; some lists lack it, some are not complete.
func (d dice) apis(status object) {
	serving := func(kind string) []any {
		return []any{object{"groupVersion": "apps/v1", "resources": []any{object{"kind": kind, "name": "any"}}}}
	}
	conditions := status["conditions"].([]any)
	switch {
	case d.odds(88):
		status["apiEnablements"] = serving("Deployment")
		status["conditions"] = append(conditions, condition("CompleteAPIEnablements", "True"))
	case d.odds(60):
		status["apiEnablements"] = serving("DaemonSet")
		status["conditions"] = append(conditions, condition("CompleteAPIEnablements", pick(d, "True", "False")))
	default:
		status["conditions"] = append(conditions, condition("CompleteAPIEnablements", "False"))
	}
}

func (d dice) capacity(spec, status object) {
	if d.odds(8) {
		return
	}
	list := func(pods, cpu int) object {
		return object{"pods": fmt.Sprint(pods), "cpu": fmt.Sprintf("%dm", 250*cpu)}
	}
	pods, cpu := pick(d, 0, 1, 2, 3, 4, 8, 20), pick(d, 0, 1, 3, 4, 8, 40)
	summary := object{"allocatable": list(pods+3, cpu+4), "allocated": list(2, 3), "allocating": list(1, 1)}
	if d.odds(8) {
		delete(summary, "allocated")
	}
	if d.odds(20) {
		grade := func(cpu string) object {
			return object{"ranges": []any{object{"name": "cpu", "min": cpu, "max": "64"}}}
		}
		spec["resourceModels"] = []any{grade("0"), grade("1"), grade("4")}
		summary["allocatableModelings"] = []any{
			object{"grade": 0, "count": d.IntN(5)}, object{"grade": 1, "count": d.IntN(3)}, object{"grade": 2, "count": d.IntN(3)},
		}
	}
	status["resourceSummary"] = summary
}

func (d dice) binding(kind string) object {
	spec := object{
		"resource":  object{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "cart"},
		"placement": d.placement(kind),
	}
	replicas := 1 + d.IntN(4)
	if d.odds(25) {
		spec["replicaRequirements"] = object{"resourceRequest": object{"cpu": pick(d, "250m", "500m", "1", "3")}}
	}
	switch kind {
	case "role":
		replicas = 0
		delete(spec, "replicaRequirements")
	case "components":
		replicas = 0
		spec["components"] = []any{
			object{"name": "job", "replicas": 1, "replicaRequirements": object{"resourceRequest": object{"cpu": "500m"}}},
			object{"name": "task", "replicas": d.IntN(3), "replicaRequirements": object{"resourceRequest": object{"cpu": "250m"}}},
		}
	}
	d.targets(kind, replicas, spec)
	if d.odds(2) {
		spec["suspension"] = object{"scheduling": true}
	}
	if d.odds(2) {
		spec["schedulerName"] = "another"
	}
	status := object{"lastScheduledTime": scheduledAt.Format(time.RFC3339), "conditions": []any{condition("Scheduled", "True")}}
	if d.odds(70) {
		status["schedulerObservingAffinityName"] = pick(d, "one", "one", "two", "three")
	}
	return object{"metadata": object{"name": "cart-deployment", "namespace": "shop", "uid": "uid", "labels": claimed}, "spec": spec, "status": status}
}

// targets are where it runs: the failing cluster, and some others.
func (d dice) targets(kind string, replicas int, spec object) {
	names := d.names[:1]
	for _, name := range d.names[1:] {
		if d.odds(30) {
			names = append(names[:len(names):len(names)], name)
		}
	}
	split := kind == "static" || kind == "aggregated" || kind == "dynamic"
	var clusters []any
	total := 0
	for i, name := range names {
		n := replicas
		if split {
			n = d.IntN(4)
			if i == 0 && d.odds(85) {
				n = 1 + d.IntN(3)
			}
		}
		total += n
		clusters = append(clusters, object{"name": name, "replicas": n})
	}
	if split && !d.odds(12) { // being scaled
		replicas = total
	}
	spec["replicas"], spec["clusters"] = replicas, clusters
}

func (d dice) placement(kind string) object {
	p := object{}
	switch kind {
	case "static":
		var weights []any
		for _, name := range d.some(d.names, 70) {
			weights = append(weights, object{"targetCluster": object{"clusterNames": []any{name}}, "weight": 1 + d.IntN(4)})
		}
		p["replicaScheduling"] = object{
			"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
			"weightPreference": object{"staticWeightList": weights},
		}
	case "aggregated":
		p["replicaScheduling"] = object{"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
	case "dynamic":
		p["replicaScheduling"] = object{
			"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
			"weightPreference": object{"dynamicWeight": "AvailableReplicas"},
		}
	default:
		if d.odds(30) {
			p["replicaScheduling"] = object{"replicaSchedulingType": "Duplicated"}
		} else if kind != "duplicated" && d.odds(40) {
			p["replicaScheduling"] = object{"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
		}
	}
	if d.odds(15) {
		p["clusterTolerations"] = []any{object{"key": pick(d, "cordon", "hard", "cluster.karmada.io/not-ready"), "operator": "Exists"}}
	}
	d.affinity(p)
	if d.odds(50) {
		p["spreadConstraints"] = d.spread()
	}
	return p
}

func (d dice) affinity(p object) {
	one := func() object {
		switch d.IntN(5) {
		case 0:
			return object{"exclude": d.some(d.names, 15)}
		case 1:
			return object{"labelSelector": object{"matchExpressions": []any{object{"key": "rack", "operator": "In", "values": []any{"rack1", "rack2"}}}}}
		case 2:
			return object{"fieldSelector": object{"matchExpressions": []any{object{
				"key": pick(d, "region", "provider"), "operator": "NotIn", "values": []any{"region3", "provider3"},
			}}}}
		default:
			return object{"clusterNames": d.some(d.names, 60)}
		}
	}
	switch d.IntN(4) {
	case 0:
		p["clusterAffinity"] = one()
	case 1:
		var groups []any
		for _, name := range []string{"one", "two", "three"} {
			group := one()
			group["affinityName"] = name
			groups = append(groups, group)
		}
		p["clusterAffinities"] = groups
	}
}

func (d dice) spread() []any {
	constraint := func(by object, most int) object {
		least := 1 + d.IntN(most)
		by["minGroups"], by["maxGroups"] = least, least+d.IntN(2)
		if d.odds(3) {
			delete(by, "maxGroups")
		}
		return by
	}
	var out []any
	if !d.odds(5) {
		out = append(out, constraint(object{"spreadByField": "cluster"}, 3))
	}
	for _, name := range []string{"region", "zone", "provider"} {
		if d.odds(22) {
			out = append(out, constraint(object{"spreadByField": name}, 2))
		}
	}
	if d.odds(12) {
		out = append(out, constraint(object{"spreadByLabel": "rack"}, 2))
	}
	d.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// unsaid is what only Lifeboat knows: failovers that go on elsewhere, and promises.
func (d dice) unsaid() func(*placement.PreCheckInput) {
	evacuating, promised, waiting, unknownOK := "", "", 0, d.odds(10)
	if d.odds(8) {
		evacuating = pick(d, d.names[1:]...)
	}
	if d.odds(15) {
		promised = pick(d, d.names[1:]...)
	}
	if d.odds(10) {
		waiting = 1 + d.IntN(6)
	}
	pods := func(n int) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(n), resource.DecimalSI)}
	}
	n, several := 1+d.IntN(4), d.names[1:]
	strict := d.odds(25)
	return func(in *placement.PreCheckInput) {
		in.RoomUnknownOK, in.RoomForStaticWeights = unknownOK, strict
		if evacuating != "" {
			in.Evacuating[evacuating] = true
		}
		if promised != "" {
			in.Reserved.Placed = map[string]corev1.ResourceList{promised: pods(n)}
		}
		if waiting > 0 {
			in.Reserved.Unplaced = []placement.Unplaced{{Candidates: several, Need: pods(waiting)}}
		}
	}
}
