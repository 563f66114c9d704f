package e2e

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
)

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
