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

// kindsThatStay fails a cluster with one object of each kind that must not move like a ConfigMap, and a
// Service. The operator approves the Job that runs, and has a definition without objects move by an annotation.
//
// It guards that a CustomResourceDefinition, a Namespace, a PersistentVolumeClaim and a Job that has
// completed stay on the cluster that returns, by their very Work; that a Job that runs begins again only
// with an approval; and that a Service moves.
//
// Rules: R4.6-45, R4.6-46, R4.6-47.
func kindsThatStay(s *scene) {
	from, to := s.ruledPair()
	definition := s.ofKind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "boats.kinds.example.com")
	space := s.ofKind("v1", "Namespace", "", "kinds-of-a-tenant")
	claim := s.ofKind("v1", "PersistentVolumeClaim", s.namespace(), "data")
	moved := s.ofKind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "nets.moved.example.com")
	annotate(moved, prefix+"enabled", "true")
	done, running := s.ofKind("batch/v1", "Job", s.namespace(), "done"), s.ofKind("batch/v1", "Job", s.namespace(), "running")
	annotate(running, faultReadyAfter, "1h")
	service := s.ofKind("v1", "Service", s.namespace(), "web")
	s.run(definition, space, claim, moved, done, running, service)
	s.await("the first Job has completed", func() (bool, string) {
		all := s.versions(keyOf(done))
		raw, err := json.Marshal(all[len(all)-1].Object.Object)
		require.NoError(s, err)
		return strings.Contains(string(raw), "completionTime"), string(raw)
	})
	stay := []string{keyOf(definition), keyOf(space), keyOf(claim), keyOf(done)}
	works := map[string]string{}
	for _, key := range stay {
		works[key] = string(s.work(key, from).UID)
	}

	s.kill(from)
	s.blocked(from, keyOf(running), "AwaitingApproval")
	s.order("approve", keyOf(running), "--cluster", from)
	s.phase(from, "Evacuated")
	for _, u := range []*unstructured.Unstructured{running, service, moved} {
		require.Equal(s, []string{to}, s.find(keyOf(u)).targets(), keyOf(u))
	}
	s.recovers(from, map[string]string{
		keyOf(definition): "Skipped", keyOf(space): "Skipped", keyOf(claim): "Skipped", keyOf(done): "Skipped",
		keyOf(running): "Migrated", keyOf(service): "Migrated", keyOf(moved): "Migrated",
	})
	s.catchUp()
	for _, key := range stay {
		require.Empty(s, s.writesTo(key), key)
		require.Equal(s, []string{from}, s.find(key).targets(), key)
		w := s.work(key, from)
		require.Nil(s, w.DeletionTimestamp, key)
		require.Equal(s, works[key], string(w.UID), key)
	}
}

// ofKind is the binding of an object that is on the story's first cluster and may run on the second.
func (s *scene) ofKind(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := bindingOf(apiVersion, kind, namespace, name, oneOf(s.c(1), s.c(2)))
	specOf(u)["clusters"] = []any{object{"name": s.c(1)}}
	return u
}

// componentsMove fails a cluster with two workloads of two component sets each. One has a target with room
// for both sets. The other has a target with room for either set, but not for both.
//
// It guards that Lifeboat moves a workload of components as one or not at all.
//
// Rules: R4.6-25, R4.7-7.
func componentsMove(s *scene) {
	s.rule(time.Second, time.Second)
	from, small, large := s.c(1), s.c(2), s.c(3)
	fits := ofComponents(s.namespace(), "fits", from, oneOf(from, large))
	tight := ofComponents(s.namespace(), "tight", from, oneOf(from, small))
	s.run(fits, tight)
	moves, stays := keyOf(fits), keyOf(tight)

	s.kill(from)
	s.blocked(from, stays, "NoCapacity")
	s.await("the other has moved", func() (bool, string) {
		targets := s.find(moves).targets()
		return slices.Equal(targets, []string{large}), fmt.Sprint(targets)
	})
	s.phase(from, "Evacuated")
	s.evicted(moves, from)
	released := s.binding(s.releasedWhenItRan(moves, from))
	require.Equal(s, "Healthy", released.item(large).Health)
	s.catchUp()
	require.Len(s, s.writesTo(moves), 2, "one eviction and one release for both sets")
	require.Empty(s, s.writesTo(stays), "the old copy is left alone")
	for _, v := range append(s.versions(moves), s.versions(stays)...) {
		components, _, err := unstructured.NestedSlice(v.Object.Object, "spec", "components")
		require.NoError(s, err)
		require.Len(s, components, 2, "revision %d", v.Revision)
	}
	s.recovers(from, map[string]string{moves: "Migrated", stays: "Abandoned"})
}

// ofComponents is the binding of a workload with two pod templates: one replica and two, half a CPU each.
func ofComponents(namespace, name, home string, placement object) *unstructured.Unstructured {
	u := bindingOf("flink.apache.org/v1beta1", "FlinkDeployment", namespace, name, placement)
	half := object{"resourceRequest": object{"cpu": "500m"}}
	spec := specOf(u)
	spec["clusters"] = []any{object{"name": home}}
	spec["components"] = []any{
		object{"name": "jobmanager", "replicas": int64(1), "replicaRequirements": half},
		object{"name": "taskmanager", "replicas": int64(2), "replicaRequirements": half},
	}
	return u
}

// sharedDependents fails a cluster on which two Deployments need the same ConfigMap. The first Deployment
// moves at once, the second is not ready on its new cluster for a while. The first needs another ConfigMap, too, which
// has a policy of its own and is opted out.
//
// It guards that the ConfigMap is held before either Deployment is evicted, stays on the old cluster while
// either old copy is held there, and goes with the last one; and that the other one stays where it is.
//
// Rules: R4.10-1, R4.10-2, R4.10-3, R4.10-4.
func sharedDependents(s *scene) {
	from, to := s.ruledPair()
	quick, slow := needing(s.deployed("quick", from, to), "shared", "own"), needing(s.deployed("slow", from, to), "shared")
	annotate(slow, faultStuckReadyAt, to+"=1")
	placed := s.ofKind("v1", "ConfigMap", s.namespace(), "own")
	placed.SetName("own-configmap") // as Karmada names it
	annotate(placed, prefix+"enabled", "false")
	s.run(placed)
	s.run(quick, slow)
	s.await("it knows its parent", func() (bool, string) {
		b := s.find(keyOf(placed))
		return len(b.Spec.RequiredBy) == 1, fmt.Sprintf("%+v", b.Spec)
	})
	stays := s.work(keyOf(placed), from)
	first, last, dependent := keyOf(quick), keyOf(slow), s.namespace()+"/shared-configmap"
	s.await("the ConfigMap is on the cluster", func() (bool, string) { return s.work(dependent, from) != nil, "" })
	old := s.work(dependent, from)

	s.kill(from)
	s.awaitFailover(from, "one has moved, the other waits for health", func(e *clusterFailover) bool {
		return e.ended(first, "Migrated") && e.Migrations[last].Phase == "AwaitingHealth"
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
	require.Empty(s, s.writesTo(keyOf(placed)))
	require.Equal(s, []string{from}, s.find(keyOf(placed)).targets())
	require.Equal(s, stays.UID, s.work(keyOf(placed), from).UID)
}

// serviceHeld fails a cluster with a Deployment and a Service of one policy. The Deployment is not ready on its new
// cluster for a while.
//
// It guards that the Service is there before the Deployment is, and that its old copy stays for as long as that of the
// Deployment does.
//
// Rules: R4.7-61.
func serviceHeld(s *scene) {
	from, to := s.ruledPair()
	app, service := s.deployed("web", from, to), s.ofKind("v1", "Service", s.namespace(), "front")
	ofOnePolicy(app, service)
	annotate(app, faultStuckReadyAt, to+"=1")
	s.run(app, service)
	serving, served := keyOf(app), keyOf(service)

	s.kill(from)
	s.serves(served, serving, from, to)

	s.annotate(serving, faultStuckReadyAt, "")
	s.phase(from, "Evacuated")
	require.Greater(s, s.released(served, from).Revision, s.releasedWhenItRan(serving, from).Revision)
	s.recovers(from, map[string]string{serving: "Migrated", served: "Migrated"})
	s.purged(served, from)
}

// serviceOfWhatStays drains a cluster with a Deployment that may run nowhere else, and a Service of the same policy that may;
// then the drain ends.
//
// It guards that the Service stays while the Deployment is there, and is back, where it was, after the drain.
//
// Rules: R4.7-61, R4.9-17.
func serviceOfWhatStays(s *scene) {
	from, to := s.c(1), s.c(2)
	app, service := deployment(s.namespace(), "web", from, 2, oneOf(from)), s.ofKind("v1", "Service", s.namespace(), "front")
	ofOnePolicy(app, service)
	s.run(app, service)
	serving, served := keyOf(app), keyOf(service)
	old := s.work(served, from)

	s.answer("drain", from, "--yes")
	s.serves(served, serving, from, to)
	s.order("drain", from, "--end")
	s.became(s.ends(from, "Recovered"), map[string]string{serving: "Abandoned", served: "Restored"})
	b := s.find(served)
	require.Equal(s, []string{from}, b.targets())
	require.Empty(s, b.Spec.Tasks)
	require.Equal(s, old.UID, s.work(served, from).UID)
	s.await("its copy on the other cluster goes", func() (bool, string) { return s.work(served, to) == nil, "" })
}

// ofOnePolicy has bindings come from one PropagationPolicy.
func ofOnePolicy(all ...*unstructured.Unstructured) {
	for _, u := range all {
		annotate(u, "propagationpolicy.karmada.io/namespace", u.GetNamespace())
		annotate(u, "propagationpolicy.karmada.io/name", "web")
	}
}

// serves: a Service is on its new cluster, waits for its workload, and stays on the old one.
func (s *scene) serves(service, workload, from, to string) {
	old := s.work(service, from)
	s.await("the Service waits for its workload", func() (bool, string) {
		explained := string(s.printed("explain", service, "--cluster", from))
		return strings.Contains(explained, "HeldForParents") && strings.Contains(explained, workload), explained
	})
	require.Equal(s, []string{to}, s.find(service).targets())
	s.remains(2*minHealthy, "the Service stays on the old cluster", func() bool {
		w := s.work(service, from)
		return w != nil && w.UID == old.UID && w.DeletionTimestamp == nil && len(s.find(service).held(from)) == 1
	})
}

// deployed is the binding of a Deployment with two replicas that may run on either cluster.
func (s *scene) deployed(name, home, other string) *unstructured.Unstructured {
	return deployment(s.namespace(), name, home, 2, oneOf(home, other))
}

// needing has a binding take ConfigMaps along.
func needing(u *unstructured.Unstructured, names ...string) *unstructured.Unstructured {
	var all []object
	for _, name := range names {
		all = append(all, object{"apiVersion": "v1", "kind": "ConfigMap", "namespace": u.GetNamespace(), "name": name})
	}
	listed, err := json.Marshal(all)
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
