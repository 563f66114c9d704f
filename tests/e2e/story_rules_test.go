package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var policies = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "clustertaintpolicies"}

// softTaint moves what asked for failover off a cluster that lives, because an operator
// put a soft taint on it, and nothing else.
//
// It guards §4.2: the soft taint stands in an annotation that is not rewritten, the
// API never sees its effect, the evacuation taint stands before the first eviction; §4.3:
// only spec.failover.cluster moves, after its own seconds; and detectionSeconds, for
// the old copy lives.
//
// Rules: R4.1-14, R4.2-1, R4.2-4, R4.2-5, R4.3-11, R4.3-12, R4.7-29.
func softTaint(s *scene) {
	const bears = 3 * time.Second
	from, to := s.c(1), s.c(2)
	softly := deployment(s.namespace(), "softly", from, 1, oneOf(from, to))
	specOf(softly)["failover"] = object{"cluster": object{"purgeMode": "Gracefully"}}
	softly.SetAnnotations(map[string]string{prefix + "toleration-seconds": "3"})
	s.run(softly)
	app, plain := keyOf(softly), s.deploy("plain", from, 1, oneOf(from, to))

	added := time.Now().UTC().Truncate(time.Second)
	note := fmt.Sprintf(`[{"key":"example.com/slow","timeAdded":%q}]`, added.Format(time.RFC3339))
	s.noteByHand(from, note)
	s.awaitFailover(from, "what asked for it has moved", func(e *clusterFailover) bool {
		o := e.outcome(app)
		return o != nil && o.Outcome == "Migrated" && o.PendingPurge == nil
	})
	evicted := s.evicted(app, from)
	require.False(s, evicted.Seen.Before(added.Add(bears)), "evicted before its own seconds had run out")
	released := s.releasedWhenItRan(app, from)
	runs := slices.IndexFunc(s.versions(app), func(v version) bool { return s.binding(v).on(to) && s.binding(v).settled() })
	require.False(s, released.Seen.Before(s.versions(app)[runs].Seen.Add(outlasts)), "the old copy lives: health must outlast detection")

	now := s.cluster(from)
	require.Equal(s, note, now.Annotations[prefix+"soft-taints"], "the operator's taint is as it was")
	require.NotNil(s, now.taint(evacuatingTaint, "NoSchedule"))
	require.Nil(s, now.taint("example.com/slow", "PreferNoExecute"))
	s.noteByHand(from, "")
	s.became(s.ends(from, "Recovered"), map[string]string{app: "Migrated"})
	s.leftAlone(plain)
}

// karmadasPolicy is a failover by a rule of Karmada's own kind, whose taint comes and
// goes by two lists of conditions. Another such policy takes its place meanwhile.
//
// Rules: R4.1-10, R4.1-11, R4.1-25.
func karmadasPolicy(s *scene) {
	const window = 2 * time.Second
	from, to := s.c(1), s.c(2)
	ready := func(status string) []any {
		return []any{object{"conditionType": "Ready", "operator": "In", "statusValues": []any{status}}}
	}
	var members []any
	for _, name := range s.all() {
		members = append(members, name)
	}
	policy := func(name string) {
		_, err := s.api.Resource(policies).Create(s.ctx, &unstructured.Unstructured{Object: object{
			"apiVersion": policies.GroupVersion().String(), "kind": "ClusterTaintPolicy",
			"metadata": object{"name": name, "annotations": object{
				prefix + "add-on-match-seconds": "2", prefix + "remove-on-mismatch-seconds": "1",
			}},
			"spec": object{
				"targetClusters": object{"clusterNames": members}, "addOnConditions": ready("False"), "removeOnConditions": ready("True"),
				"taints": []any{object{"key": failedTaint, "effect": "NoExecute"}},
			},
		}}, metav1.CreateOptions{})
		require.NoError(s, err)
	}
	ends := func(ctx context.Context, name string) {
		require.NoError(s, s.api.Resource(policies).Delete(ctx, name, metav1.DeleteOptions{}))
	}
	first, second := s.story.short, s.story.short+"-renamed"
	policy(first)
	app := s.deploy("app", from, 1, oneOf(from, to))

	s.kill(from)
	died := s.cluster(from).readiness().LastTransitionTime.Time
	s.phase(from, "Evacuated")
	s.releasedWhenItRan(app, from)
	require.False(s, s.taintedAt(from).Seen.Before(died.Add(window)), "tainted before its window had run out")
	require.Contains(s, s.cluster(from).Annotations[prefix+"added-taints"], `"rule":"ClusterTaintPolicy/`+first+`"`)

	stands := s.cluster(from).Spec.Taints
	policy(second)
	s.Cleanup(func() { ends(context.Background(), second) })
	s.awaitFailover(from, "the window of the other policy runs out", func(e *clusterFailover) bool {
		w := e.Windows["ClusterTaintPolicy/"+second+"/"+failedTaint+":NoExecute"]
		return w.Matching && time.Since(w.Since) > window
	})
	ends(s.ctx, first)
	s.await("the other policy takes the taint over", func() (bool, string) {
		own := s.cluster(from).Annotations[prefix+"added-taints"]
		return strings.Contains(own, `"rule":"ClusterTaintPolicy/`+second+`"`), own
	})
	require.Equal(s, stands, s.cluster(from).Spec.Taints)
	s.recovers(from, map[string]string{app: "Migrated"})
}

// cordonedOnly is a rule with a NoSchedule taint alone: the taint comes and goes by its windows,
// status and history say so, and no workload moves.
//
// Rules: R4.1-45, R4.1-46, R4.1-47.
func cordonedOnly(s *scene) {
	const (
		key         = "example.com/silent"
		add, remove = 3 * time.Second, 2 * time.Second
	)
	rule := taintRule(s.story.short, "Ready", add, remove, s.all()...)
	taint := specOf(rule)["taints"].([]any)[0].(object) //nolint:errcheck,forcetypeassert // as taintRule made it
	taint["key"], taint["effect"] = key, "NoSchedule"
	s.create(rule)
	from := s.c(1)
	app := s.deploy("app", from, 1, oneOf(from, s.c(2)))

	s.kill(from)
	died := s.cluster(from).readiness().LastTransitionTime.Time
	began := s.awaitFailover(from, "its window runs", func(e *clusterFailover) bool {
		return e.Phase == "Suspected" && !matchingSince(e).IsZero()
	})
	cordoned := s.phase(from, "Cordoned")
	require.Equal(s, "Cordoned", cordoned.Reason)
	require.Equal(s, matchingSince(began), matchingSince(cordoned))
	stands := s.cluster(from)
	require.NotNil(s, stands.taint(key, "NoSchedule"))
	require.Nil(s, stands.taint(evacuatingTaint, "NoSchedule"))
	require.False(s, time.Now().Before(died.Add(add)), "tainted before its window had run out")
	require.Contains(s, s.shows("status", from), "Cordoned")

	s.revive(from)
	s.became(s.ends(from, "Uncordoned"), map[string]string{})
	require.Nil(s, s.cluster(from).taint(key, "NoSchedule"))
	s.leftAlone(app)
	require.Contains(s, s.shows("history", from), "Uncordoned")
}

// shows is what lifeboat status or history prints, about a cluster or about the fleet.
func (s *scene) shows(verb string, cluster ...string) string {
	out := s.printed(verb, cluster...)
	s.Logf("lifeboat %s %v:\n%s", verb, cluster, out)
	return string(out)
}

// workerKilledInTheWindow loses the worker, with -9, while a rule's window runs.
//
// It guards invariant 8: the window is Temporal's, not the worker's; it goes on from
// when it began, and ends no earlier.
//
// Rules: R4.1-26.
func workerKilledInTheWindow(s *scene) {
	const add = 6 * time.Second
	s.rule(add, time.Second)
	from, to := s.c(1), s.c(2)
	app := s.deploy("app", from, 1, oneOf(from, to))

	s.kill(from)
	began := s.awaitFailover(from, "its window runs", func(e *clusterFailover) bool {
		return e.Phase == "Suspected" && len(e.Windows) == 1 && matchingSince(e) != time.Time{}
	})
	require.NoError(s, s.worker.kill())
	require.NoError(s, s.startWorker(s.ctx))
	after := s.phase(from, "Evacuated")
	require.Equal(s, matchingSince(began), matchingSince(after), "it was not restarted")
	require.False(s, s.taintedAt(from).Seen.Before(matchingSince(began).Add(add)), "nor shortened")
	s.releasedWhenItRan(app, from)
	s.recovers(from, map[string]string{app: "Migrated"})
}

// matchingSince is since when the one window of a failover matches.
func matchingSince(e *clusterFailover) time.Time {
	for _, w := range e.Windows {
		if w.Matching {
			return w.Since
		}
	}
	return time.Time{}
}

// garbledCredential is a member whose credential Karmada loses, twice: once it gets it back, and once
// the member dies meanwhile. The controller is killed and started anew in between.
//
// It guards the external probe of §4.1: what looks like a dead cluster to Karmada is not failed over
// while its API server answers, whoever leads; and a member that dies is, after its whole window.
//
// Rules: R4.1-48, R4.1-49, R4.1-50, R4.1-54, R4.1-55.
func garbledCredential(s *scene) {
	const window = 3 * time.Second
	s.rule(window, time.Second)
	from, to := s.c(1), s.c(2)
	app := s.deploy("app", from, 1, oneOf(from, to))

	s.garble(from)
	suspected := s.answers(from)
	require.Equal(s, "ClusterNotReachable", s.cluster(from).readiness().Reason)
	s.remains(3*window, "nothing is moved", func() bool { return s.find(app).on(from) && s.cluster(from).taint(failedTaint, "NoExecute") == nil })
	require.Contains(s, s.shows("status", from), "MemberAnswers")
	s.warned("default", from, "MemberAnswers")

	require.NoError(s, s.controller.kill())
	require.NoError(s, s.startController(s.ctx))
	s.await("the next controller leads", func() (bool, string) { return s.leads(s.controller), "" })
	s.remains(3*window, "still nothing is moved", func() bool { return s.cluster(from).taint(failedTaint, "NoExecute") == nil })
	require.Equal(s, suspected.FailoverID, s.answers(from).FailoverID)

	s.ungarble(from)
	s.became(s.ends(from, "FalseAlarm"), map[string]string{})
	s.leftAlone(app)

	s.garble(from)
	s.answers(from)
	s.control("kill", from, nil)
	died := time.Now()
	s.phase(from, "Evacuated")
	require.False(s, s.taintedAt(from).Seen.Before(died.Add(window)), "tainted before its window had run out")
	s.releasedWhenItRan(app, from)
	s.control("ungarble", from, nil)
	s.recovers(from, map[string]string{app: "Migrated"})
}

// garble makes the credential worthless by which Karmada reaches a member, and waits until Karmada has
// noticed; ungarble puts the good one back.
func (s *scene) garble(name string) { s.member("garble", name, false) }

func (s *scene) ungarble(name string) { s.member("ungarble", name, true) }

// answers waits until a failover says that its member answers the external probe.
func (s *scene) answers(cluster string) *clusterFailover {
	return s.awaitFailover(cluster, "its member answers", func(e *clusterFailover) bool {
		return e.Phase == "Suspected" && e.Reason == "MemberAnswers"
	})
}
