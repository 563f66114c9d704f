package k8sadapter

import (
	"encoding/json"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditionScheduled is the scheduler's answer on a binding.
const conditionScheduled = "Scheduled"

type bindingStatusWire struct {
	ObservedGeneration json.RawMessage `json:"schedulerObservedGeneration"`
	ObservedAffinity   json.RawMessage `json:"schedulerObservingAffinityName"`
	LastScheduled      json.RawMessage `json:"lastScheduledTime"`
	Conditions         json.RawMessage `json:"conditions"`
	Aggregated         json.RawMessage `json:"aggregatedStatus"`
}

func (d *decoding) bindingStatus(raw json.RawMessage) karmada.BindingStatus {
	var wire bindingStatusWire
	d.into("status", raw, &wire)
	var status karmada.BindingStatus
	d.into("status.schedulerObservedGeneration", wire.ObservedGeneration, &status.ObservedGeneration)
	d.into("status.schedulerObservingAffinityName", wire.ObservedAffinity, &status.ObservedAffinity)
	var last *metav1.Time
	d.into("status.lastScheduledTime", wire.LastScheduled, &last)
	status.LastScheduled = timeOf(last)
	for _, condition := range d.conditions(wire.Conditions) {
		if condition.Type == conditionScheduled {
			status.Scheduled = &condition
		}
	}
	for _, item := range d.items("status.aggregatedStatus", wire.Aggregated) {
		status.Aggregated = append(status.Aggregated, aggregatedItem(item))
	}
	return status
}

// aggregatedItem reads one cluster's copy. What is wrong with it stays with it:
// a kind's own odd status is no reason to distrust the binding.
func aggregatedItem(raw json.RawMessage) karmada.AggregatedItem {
	var d decoding
	var wire struct {
		ClusterName json.RawMessage `json:"clusterName"`
		Status      json.RawMessage `json:"status"`
		Applied     json.RawMessage `json:"applied"`
		Health      json.RawMessage `json:"health"`
	}
	d.into("aggregatedStatus", raw, &wire)
	item := karmada.AggregatedItem{Health: karmada.HealthUnknown}
	d.into("clusterName", wire.ClusterName, &item.Cluster)
	if item.Cluster == "" {
		d.problem("clusterName", "missing")
	}
	d.into("applied", wire.Applied, &item.Applied)
	d.into("health", wire.Health, &item.Health)
	if item.Health == "" {
		item.Health = karmada.HealthUnknown
	}
	d.counts(&item, wire.Status)
	item.Status = wire.Status
	item.Malformed = d.malformed()
	return item
}

// counts reads the numbers of a copy's raw status, where its kind reports them.
func (d *decoding) counts(item *karmada.AggregatedItem, raw json.RawMessage) {
	var wire struct {
		Generation         json.RawMessage `json:"generation"`
		ObservedGeneration json.RawMessage `json:"observedGeneration"`
		Replicas           json.RawMessage `json:"replicas"`
		ReadyReplicas      json.RawMessage `json:"readyReplicas"`
	}
	d.into("status", raw, &wire)
	d.into("status.generation", wire.Generation, &item.Generation)
	d.into("status.observedGeneration", wire.ObservedGeneration, &item.ObservedGeneration)
	d.into("status.replicas", wire.Replicas, &item.Replicas)
	d.into("status.readyReplicas", wire.ReadyReplicas, &item.ReadyReplicas)
}
