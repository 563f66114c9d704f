package controllers

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

// preservedLabels are those that Karmada injects into the new copy: for the last task in the list, where it
// says Directly, with one target that did not serve before; and only while the task stands.
func preservedLabels(b *api.Binding, target string) map[string]string {
	tasks := b.Spec.GracefulEvictionTasks
	if len(tasks) == 0 || len(b.Spec.Clusters) != 1 || b.Spec.Clusters[0].Name != target {
		return nil
	}
	last := tasks[len(tasks)-1]
	if last.PurgeMode != "Directly" || slices.Contains(last.ClustersBeforeFailover, target) {
		return nil
	}
	return last.PreservedLabelState
}

// inject puts labels on a manifest.
func inject(manifest object, labels map[string]string) {
	metadata, ok := manifest["metadata"].(object)
	if !ok {
		return
	}
	set, ok := metadata["labels"].(object)
	if !ok {
		set = object{}
		metadata["labels"] = set
	}
	for name, value := range labels {
		set[name] = value
	}
}
