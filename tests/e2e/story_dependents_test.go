package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// sharedDependents fails a cluster on which two Deployments need the same ConfigMap. The first Deployment
// moves at once, the second is not ready on its new cluster for a while.
//
// It guards that the ConfigMap is held before either Deployment is evicted, stays on the old cluster while
// either old copy is held there, and goes with the last one.
//
// Rules: R4.10-1, R4.10-2, R4.10-3, R4.10-4.
func sharedDependents(s *scene) {
	s.rule(time.Second, time.Second)
	from, to := s.c(1), s.c(2)
	quick, slow := needing(s.deployed("quick", from, to), "shared"), needing(s.deployed("slow", from, to), "shared")
	annotate(slow, faultStuckReadyAt, to+"=1")
	s.run(quick, slow)
	first, last, dependent := keyOf(quick), keyOf(slow), s.namespace()+"/shared-configmap"
	s.await("the ConfigMap is on the cluster", func() (bool, string) { return s.work(dependent, from) != nil, "" })
	old := s.work(dependent, from)

	s.kill(from)
	s.awaitFailover(from, "one has moved, the other waits for health", func(e *clusterFailover) bool {
		return e.ended(first, "Migrated") && e.Moves[last].Phase == "AwaitingHealth"
	})
	s.await("the second Deployment alone holds the ConfigMap", func() (bool, string) {
		held := s.find(dependent).held(from)
		return len(held) == 1 && held[0].Message == migrationID(from, last), fmt.Sprintf("%+v", held)
	})
	s.heldWithItsParents(dependent, from, first, last)
	s.remains(2*minHealthy, "the ConfigMap stays on the old cluster", func() bool {
		w := s.work(dependent, from)
		return w != nil && w.UID == old.UID && w.DeletionTimestamp == nil && len(s.find(dependent).held(from)) == 1
	})
	require.NotNil(s, s.work(dependent, to), "it is on the new cluster, too")

	s.annotate(last, faultStuckReadyAt, "")
	s.phase(from, "Evacuated")
	s.await("nobody holds the ConfigMap", func() (bool, string) {
		return len(s.find(dependent).Spec.Tasks) == 0, fmt.Sprintf("%+v", s.find(dependent).Spec.Tasks)
	})
	require.GreaterOrEqual(s, s.released(dependent, from).Revision, s.releasedWhenItRan(last, from).Revision)
	s.releasedWhenItRan(first, from)
	s.recovers(from, map[string]string{first: "Migrated", last: "Migrated"})
	s.purged(dependent, from)
	require.NotNil(s, s.work(dependent, to))
}

// deployed is the binding of a Deployment with two replicas that may run on either cluster.
func (s *scene) deployed(name, home, other string) *unstructured.Unstructured {
	return deployment(s.namespace(), name, home, 2, oneOf(home, other))
}

// needing has a binding take a ConfigMap along.
func needing(u *unstructured.Unstructured, name string) *unstructured.Unstructured {
	listed, err := json.Marshal([]object{{"apiVersion": "v1", "kind": "ConfigMap", "namespace": u.GetNamespace(), "name": name}})
	if err != nil {
		panic(err) // it is made of strings
	}
	annotate(u, "resourcebinding.karmada.io/dependencies", string(listed))
	specOf(u)["propagateDeps"] = true
	return u
}

// annotate sets an annotation on a binding that is not in the API server yet.
func annotate(u *unstructured.Unstructured, name, value string) {
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	u.SetAnnotations(annotations)
}

// heldWithItsParents: a dependent was held for each parent before that parent was evicted, by one task.
func (s *scene) heldWithItsParents(dependent, from string, parents ...string) {
	s.evicted(dependent, from)
	for _, parent := range parents {
		at := slices.IndexFunc(s.versions(dependent), func(v version) bool {
			held := s.binding(v).held(from)
			return len(held) == 1 && slices.Contains(strings.Fields(held[0].Message), migrationID(from, parent))
		})
		require.GreaterOrEqual(s, at, 0, "%s was never held for %s", dependent, parent)
		require.Less(s, s.versions(dependent)[at].Revision, s.evicted(parent, from).Revision, "%s was evicted first", parent)
	}
}
