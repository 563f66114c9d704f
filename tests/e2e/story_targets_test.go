package e2e

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
)

// noTarget has nowhere to go until a cluster joins.
//
// It guards the pre-check of §4.6 (nothing is taken away before there is somewhere
// to go) and that Blocked is no end: the binding moves when the fleet changes.
//
// Rules: R4.6-23, R4.6-24.
func noTarget(s *scene) {
	s.rule(time.Second, time.Second)
	from, joins := s.c(1), s.c(2)
	placement := oneOf()
	placement["clusterAffinity"] = object{"labelSelector": object{"matchLabels": object{"story": s.story.short}}}
	app := s.deploy("app", from, 1, placement)
	old := s.work(app, from)

	s.kill(from)
	s.awaitFailover(from, "blocked, looked at more than once", func(e *clusterFailover) bool {
		q := e.queued(app)
		return q != nil && q.State == "blocked" && q.Reason == "NoTarget" && q.Tries > 1
	})
	s.leftAlone(app)
	require.Equal(s, old.UID, s.work(app, from).UID)
	require.Nil(s, s.work(app, from).DeletionTimestamp)

	s.control("join", "", member{Name: joins, Labels: map[string]string{"story": s.story.short}})
	s.moved(from, app)
	require.Equal(s, []string{joins}, s.find(app).targets())
	s.releasedWhenItRan(app, from)
	s.recovers(from, map[string]string{app: "Migrated"})
}

// spreadAndDivided loses one of two regions' clusters: a workload that must be in both
// regions finds its second place in the failed one's region, replicas that are divided
// by room go where the room is, and those for which there is none stay.
//
// It guards the pre-check of §4.6 against a scheduler that selects by region and divides
// by room, and that its yes comes true.
//
// Rules: R4.6-10, R4.6-11, R4.6-15, R4.6-25.
func spreadAndDivided(s *scene) {
	s.rule(time.Second, time.Second)
	from, small, far := s.c(1), s.c(2), s.c(3)
	both := oneOf(s.all()...)
	both["spreadConstraints"] = []any{
		object{"spreadByField": "region", "minGroups": int64(2), "maxGroups": int64(2)},
		object{"spreadByField": "cluster", "minGroups": int64(2), "maxGroups": int64(2)},
	}
	inBoth := deployment(s.namespace(), "both", from, 1, both)
	specOf(inBoth)["clusters"] = []any{
		object{"name": from, "replicas": int64(1)}, object{"name": far, "replicas": int64(1)},
	}
	byRoom := func(names ...string) object {
		return object{"clusterAffinity": near(names...), "replicaScheduling": object{
			"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated",
		}}
	}
	s.run(inBoth)
	large := s.deploy("large", from, 20, byRoom(from, small, far))
	pinned := s.deploy("pinned", from, 20, byRoom(from, small)) // 20 of a tenth of a CPU each, and there is one

	s.kill(from)
	s.phase(from, "Evacuated")
	s.blocked(from, pinned, "NoCapacity")
	require.ElementsMatch(s, []string{small, far}, s.find(keyOf(inBoth)).targets(), "one in each region")
	require.Equal(s, []string{far}, s.find(large).targets())
	s.leftAlone(pinned)
	s.recovers(from, map[string]string{keyOf(inBoth): "Migrated", large: "Migrated", pinned: "Abandoned"})
}

// twoOfThree is what was recorded from a real Karmada: it says Healthy while two of
// three replicas are ready.
//
// It guards invariant 1 by the proof of §4.7: ready ≥ scheduled replicas, whatever
// Karmada's word is.
//
// Rules: R4.7-23.
func twoOfThree(s *scene) {
	from, to := s.ruledPair()
	app := s.deploy("app", from, 3, oneOf(from, to), faultStuckReadyAt+"="+to+"=2")

	s.kill(from)
	s.await("Karmada reports two of three ready", func() (bool, string) {
		i := s.find(app).item(to)
		return i != nil && i.Status.ReadyReplicas == 2, ""
	})
	s.awaitFailover(from, "waits for health", func(e *clusterFailover) bool {
		return e.Migrations[app].Phase == "AwaitingHealth" && e.Migrations[app].Reason == "NotHealthy"
	})
	s.remains(2*minHealthy, "held while two of three are ready", func() bool {
		return len(s.find(app).held(from)) == 1
	})
	s.annotate(app, faultStuckReadyAt, "")

	s.phase(from, "Evacuated")
	s.releasedWhenItRan(app, from)
	s.recovers(from, map[string]string{app: "Migrated"})
}

// targetDies loses the new target while its copy is Healthy on paper, and will stay
// so for ever: Karmada does not take back what a dead cluster last said.
//
// It guards invariant 1 (a cluster that is not Ready proves nothing, and restarts
// the clock) and detectionSeconds of §4.7: the source is Ready here.
//
// Rules: R4.7-27, R4.7-29.
func targetDies(s *scene) {
	from := s.c(1)
	app := s.deploy("app", from, 1, oneOf(s.all()...))

	s.taintByHand(from, "example.com/maintenance", "NoExecute", true)
	s.await("the new copy runs", func() (bool, string) {
		b := s.find(app)
		return !b.on(from) && b.settled(), ""
	})
	to := s.find(app).targets()[0]
	s.kill(to)
	require.Empty(s, s.releases(app, from), "the target died in time for this story")
	s.awaitFailover(from, "the target proves nothing", func(e *clusterFailover) bool {
		return e.Migrations[app].Reason == "TargetNotReady"
	})
	s.remains(detection+2*time.Second, "held while the target is dead", func() bool {
		b := s.find(app)
		return len(b.held(from)) == 1 && b.item(to).Health == "Healthy"
	})

	s.revive(to)
	again := s.cluster(to).readiness().LastTransitionTime.Time
	s.phase(from, "Evacuated")
	released := s.releasedWhenItRan(app, from)
	require.False(s, released.Seen.Before(again.Add(detection)), "released before health had held anew for %s", detection)
	s.taintByHand(from, "example.com/maintenance", "NoExecute", false)
	s.became(s.ends(from, "Recovered"), map[string]string{app: "Migrated"})
}

// fullEvacuation is the whole way from the first symptom to the last purge.
//
// It guards invariant 1 (nothing released before the new copy runs in full: the
// last look in the release activity), 3 (nothing evicted before the window's end,
// nor before its own toleration's), the order of §4.2 (both taints stand before
// the first eviction) and 7 (a complete report).
//
// Rules: R4.1-16, R4.2-5, R4.3-5, R4.7-33, R4.9-8.
func fullEvacuation(s *scene) {
	const window, toleration = 3 * time.Second, 4 * time.Second
	s.rule(window, 2*time.Second)
	ns, from, a, b := s.namespace(), s.c(1), s.c(2), s.c(3)
	bindings := map[string]string{}
	s.run(
		deployment(ns, "duplicated", from, 2, oneOf(from, a)),
		deployment(ns, "divided", "", 6, dividedOver(from, a, b)),
		deployment(ns, "grouped", from, 1, groups(from, b)),
		deployment(ns, "tolerant", from, 1, tolerating(oneOf(from, b), toleration)),
		stateful(deployment(ns, "stateful", from, 2, oneOf(from, a))),
		clusterRole("evac-reader", from, oneOf(from, a)),
	)
	for _, u := range s.bindings {
		bindings[keyOf(u)] = "Migrated"
	}
	bystander := s.deploy("bystander", a, 1, oneOf(a, b))
	require.True(s, s.find(ns+"/divided").on(from), "the divided one runs on %s too", from)

	planned := s.plan(from)
	s.kill(from)
	failedAt := s.cluster(from).readiness().LastTransitionTime.Time
	e := s.phase(from, "Evacuated")
	require.Len(s, e.Results, len(bindings))
	require.Len(s, e.PendingPurges, len(bindings), "the old Works cannot go while %s is away", from)
	s.planHeld(planned, from, bindings)
	s.explainedMigrated("deployment/tolerant", from)

	tainted := s.taintedAt(from)
	for key := range bindings {
		evicted := s.evicted(key, from)
		require.False(s, evicted.Seen.Before(failedAt.Add(window)), "%s was evicted before the window's end", key)
		require.Greater(s, evicted.Revision, tainted.Revision, "%s was evicted before both taints stood", key)
		s.releasedWhenItRan(key, from)
	}
	due := s.cluster(from).taint(failedTaint, "NoExecute").TimeAdded.Add(toleration)
	require.False(s, s.evicted(ns+"/tolerant", from).Seen.Before(due), "the tolerant one was evicted before its time")

	s.revive(from)
	r := s.ends(from, "Recovered")
	s.became(r, bindings)
	require.Empty(s, r.PendingPurges, "every old copy is gone")
	for key := range bindings {
		require.False(s, s.find(key).on(from) && key != ns+"/divided", "%s went back", key)
		s.purged(key, from)
	}
	require.Empty(s, s.writesTo(bystander), "what does not run on %s is left alone", from)
	s.recounted(from, len(bindings))
}

// taintedAt is the first version of a cluster with the rule's taint and the evacuation taint.
func (s *scene) taintedAt(name string) version {
	versions := s.clusterVersions(name)
	at := slices.IndexFunc(versions, func(v version) bool {
		c := s.clusterIn(v)
		return c.taint(failedTaint, "NoExecute") != nil && c.taint(evacuatingTaint, "NoSchedule") != nil
	})
	require.GreaterOrEqual(s, at, 0, "%s never had both taints", name)
	return versions[at]
}

// releasedWhenItRan: a binding was released once, and in the very state that the hold
// task went, every copy that is to stay ran in full.
func (s *scene) releasedWhenItRan(key, from string) version {
	v := s.released(key, from)
	b := s.binding(v)
	require.NotEmpty(s, b.Spec.Clusters, "%s was released without a target", key)
	for _, t := range b.Spec.Clusters {
		require.True(s, b.runs(t), "%s was released at revision %d although it did not run on %s in full: %+v",
			key, v.Revision, t.Name, b.item(t.Name))
	}
	return v
}
