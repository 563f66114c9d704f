package e2e

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// keptTwice fails the same cluster twice with a binding whose purge mode is Never: the first failover keeps
// the old copy, and the second finds nothing to do. The operator ends it.
//
// It guards that a kept copy belongs to no failover: none adopts it, evicts it again or deletes it, and the
// new copy runs throughout.
//
// Rules: R4.8-1, R4.8-11, R4.9-49.
func keptTwice(s *scene) {
	from, to := s.ruledPair()
	app := s.deploy("app", from, 1, oneOf(from, to), purgeMode+"=Never")
	old := s.work(app, from)
	kept := func() bool {
		b, w := s.find(app), s.work(app, from)
		tasks := b.held(from)
		return len(tasks) == 1 && tasks[0].Reason == "LifeboatKept" && len(b.targets()) == 1 && b.on(to) &&
			w != nil && w.UID == old.UID && w.DeletionTimestamp == nil
	}

	s.kill(from)
	s.phase(from, "Evacuated")
	require.True(s, kept(), "%+v", s.find(app))
	s.recovers(from, map[string]string{app: "Kept"})
	require.True(s, kept(), "the recovery leaves it: %+v", s.find(app))
	s.catchUp()
	before := s.writesTo(app)

	s.kill(from)
	s.phase(from, "Evacuated")
	s.remains(2*time.Second, "kept, and running on the new cluster", func() bool { return kept() && s.find(app).runs(target{Name: to, Replicas: 1}) })
	s.recovers(from, map[string]string{})
	require.True(s, kept(), "the second recovery leaves it: %+v", s.find(app))
	s.evicted(app, from)
	s.catchUp()
	require.Equal(s, before, s.writesTo(app), "the second failover wrote nothing")

	s.order("release", app, "--cluster", from)
	s.await("the operator released it", func() (bool, string) {
		return len(s.find(app).Spec.Tasks) == 0, fmt.Sprintf("%+v", s.find(app).Spec.Tasks)
	})
	s.purged(app, from)
}

// preservedCopies fails a cluster with two bindings whose copies Karmada leaves on a member when their Works end: one
// moves Gracefully, one Directly. The operator releases the first after the cluster has returned.
//
// It guards that the old copy of the first is kept and listed, and that its release ends the Work and leaves the
// copy; that nothing is written to the second, also after an operator has confirmed the fence.
//
// Rules: R4.8-15, R4.8-16.
func preservedCopies(s *scene) {
	from, to := s.ruledPair()
	graceful, direct := s.preserved("graceful"), s.preserved("direct")
	direct.SetAnnotations(map[string]string{purgeMode: "Directly"})
	s.run(graceful, direct)
	kept, stays := keyOf(graceful), keyOf(direct)
	copyBefore, workBefore := s.copyOn(from, graceful.GetName()), s.work(kept, from)
	require.NotEmpty(s, copyBefore)

	s.kill(from)
	s.blocked(from, stays, "CopyPreserved")
	s.order("confirm-fenced", stays, "--cluster", from)
	o := s.phase(from, "Evacuated").outcome(kept)
	require.NotNil(s, o)
	require.Equal(s, []string{"Kept", "CopyPreserved"}, []string{o.Outcome, o.Reason})
	s.remains(5*time.Second, "nothing is written to the one that moves Directly", func() bool {
		return len(s.evictions(stays, from)) == 0 && s.work(stays, to) == nil
	})
	s.blocked(from, stays, "CopyPreserved")

	s.recovers(from, map[string]string{kept: "Kept", stays: "Abandoned"})
	s.leftAlone(stays)
	require.Equal(s, []string{from}, s.find(stays).targets())
	require.Equal(s, []string{to}, s.find(kept).targets())
	require.Equal(s, workBefore.UID, s.work(kept, from).UID)
	require.Contains(s, s.shows("status"), kept)

	s.order("release", kept, "--cluster", from)
	s.purged(kept, from)
	s.remains(2*time.Second, "its copy runs on", func() bool { return s.copyOn(from, graceful.GetName()) == copyBefore })
}

// preserved is a Deployment's binding on the first cluster, with preserveResourcesOnDeletion.
func (s *scene) preserved(name string) *unstructured.Unstructured {
	u := deployment(s.namespace(), name, s.c(1), 1, oneOf(s.c(1), s.c(2)))
	specOf(u)["preserveResourcesOnDeletion"] = true
	return u
}

// copyOn is the uid of a Deployment of the story on a member itself, empty when there is none.
func (s *scene) copyOn(cluster, name string) string {
	var status struct {
		Members []struct {
			Name      string `json:"name"`
			Workloads []struct {
				Kind      string `json:"kind"`
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
				UID       string `json:"uid"`
			} `json:"workloads"`
		} `json:"members"`
	}
	require.NoError(s, s.lab.ask(s.ctx, "status", &status))
	for _, m := range status.Members {
		for _, w := range m.Workloads {
			if m.Name == cluster && w.Kind == "Deployment" && w.Namespace == s.namespace() && w.Name == name {
				return w.UID
			}
		}
	}
	return ""
}

// oldCopiesEnd fails a cluster for so long that Karmada has failed to delete its old copies many times over, with
// Karmada's own backoff of up to 1000 s, and brings the cluster back.
//
// It guards that the old copies end within seconds of the cluster being Ready. Karmada alone would try the deletion
// again after minutes, and two copies of each workload would serve meanwhile.
//
// Rules: R4.8-17, R4.8-18.
func oldCopiesEnd(s *scene) {
	s.Cleanup(func() { s.knobs(context.Background(), object{"executionRetry": "1s"}) })
	s.knobs(s.ctx, object{"executionRetry": "1000s"})
	s.rule(time.Second, 5*time.Second)
	from, to := s.c(1), s.c(2)
	// The bound leaves room for a machine that all servers share.
	copies, outage, bound := 6, 5*time.Second, 20*time.Second
	if *karmadaAt != "" {
		copies, outage = 50, 5*time.Minute
	}
	var apps []string
	var bindings []*unstructured.Unstructured
	for n := range copies {
		u := deployment(s.namespace(), fmt.Sprintf("app%d", n), from, 1, oneOf(from, to))
		bindings, apps = append(bindings, u), append(apps, keyOf(u))
	}
	s.run(bindings...)
	s.kill(from)
	s.phase(from, "Evacuated")
	s.remains(outage, "the old copies are owed", func() bool { return s.work(apps[0], from) != nil })
	s.revive(from)
	back := time.Now()
	for _, app := range apps {
		s.awaitQuietly("the old copy has ended: "+app, func() (bool, string) { return s.work(app, from) == nil, "" })
	}
	took := time.Since(back)
	s.Logf("%d old copies ended %s after the cluster was Ready", len(apps), took.Round(100*time.Millisecond))
	require.Less(s, took, bound)
	s.ends(from, "Recovered")
	for _, app := range apps {
		require.Equal(s, []string{to}, s.find(app).targets())
	}
}

// nothingStartsElsewhere fails a cluster with three bindings that Karmada would take off it and start nowhere: one whose
// dispatching is suspended, one whose dispatching is suspended on the only other cluster, and one whose policy is gone.
//
// It guards that nothing is written to them, and that the first moves as soon as the suspension ends.
//
// Rules: R4.6-18, R4.6-19.
func nothingStartsElsewhere(s *scene) {
	from, to := s.ruledPair()
	suspended := s.deploy("suspended", from, 1, oneOf(from, to))
	frozen := s.deploy("frozen", from, 1, oneOf(from, to))
	unclaimed := s.deploy("unclaimed", from, 1, oneOf(from, to))
	suspends := func(dispatching any) object {
		return object{"spec": object{"suspension": object{"dispatching": dispatching}}}
	}
	s.patch(s.named(suspended), suspends(true))
	s.patch(s.named(frozen), object{"spec": object{"suspension": object{"dispatchingOnClusters": near(to)}}})
	s.patch(s.named(unclaimed), object{"metadata": object{"labels": object{"propagationpolicy.karmada.io/permanent-id": nil}}})

	s.kill(from)
	s.blocked(from, suspended, "DispatchingSuspended")
	s.blocked(from, frozen, "NoTarget")
	s.blocked(from, unclaimed, "NotSupportedYetPlacement")
	s.patch(s.named(suspended), suspends(nil))
	s.awaitFailover(from, "the first has moved", func(e *clusterFailover) bool { return e.ended(suspended, "Migrated") })
	s.recovers(from, map[string]string{suspended: "Migrated", frozen: "Abandoned", unclaimed: "Abandoned"})
	s.leftAlone(frozen, unclaimed)
}

// neededByAParent drains a cluster with a ConfigMap that has a placement of its own and is needed by a Deployment that
// stays there.
//
// It guards that the ConfigMap moves, that its copy beside the Deployment stays, and that the drain ends all the same:
// Karmada keeps that Work for as long as the Deployment runs there.
//
// Rules: R4.7-35.
func neededByAParent(s *scene) {
	from, to := s.c(1), s.c(2)
	config := bindingOf("v1", "ConfigMap", s.namespace(), "shared-configmap", oneOf(from, to))
	specOf(config)["resource"].(object)["name"] = "shared" //nolint:forcetypeassert,errcheck // bindingOf made it
	specOf(config)["clusters"] = []any{object{"name": from}}
	parent := needing(s.deployed("parent", from, to), "shared")
	annotate(parent, prefix+"enabled", "false")
	s.run(config)
	s.run(parent)
	moves, stays := keyOf(config), keyOf(parent)
	s.await("the parent needs it there", func() (bool, string) {
		b := s.find(moves)
		return len(b.Spec.RequiredBy) == 1, fmt.Sprintf("%+v", b.Spec)
	})
	old := s.work(moves, from)

	s.answer("drain", from, "--yes", "--wait", "--timeout", "5m")
	s.abreast()
	require.Equal(s, []string{to}, s.find(moves).targets())
	require.Equal(s, old.UID, s.work(moves, from).UID, "it stays for the parent")
	s.order("drain", from, "--end")
	s.became(s.ends(from, "Recovered"), map[string]string{moves: "Migrated"})
	s.leftAlone(stays)
	require.Equal(s, old.UID, s.work(moves, from).UID)
}
