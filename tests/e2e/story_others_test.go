package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// operatorsTaint moves bindings off a cluster that is well, because an operator tainted it,
// and recovers at once when the operator takes the taint away.
//
// It guards source 3 of §4.1, detectionSeconds (the source is Ready), the purge of a
// reachable cluster, and invariant 9: the operator's taint is copied, not rewritten.
//
// Rules: R4.1-13, R4.1-31, R4.7-29, R4.7-34, R4.9-5.
func operatorsTaint(s *scene) {
	const taintKey = "example.com/maintenance"
	from, to := s.c(1), s.c(2)
	app := s.deploy("app", from, 1, oneOf(from, to))
	patient := s.deploy("patient", from, 1, bearing(oneOf(from, to), taintKey, 10*time.Minute))

	s.taintByHand(from, taintKey, "NoExecute", true)
	added := s.cluster(from).taint(taintKey, "NoExecute")
	s.awaitFailover(from, "the impatient one has moved", func(e *clusterFailover) bool {
		o := e.outcome(app)
		return o != nil && o.Outcome == "Migrated" && o.PendingPurge == nil
	})
	s.purged(app, from)
	released := s.releasedWhenItRan(app, from)
	runs := slices.IndexFunc(s.versions(app), func(v version) bool { return s.binding(v).on(to) && s.binding(v).settled() })
	require.False(s, released.Seen.Before(s.versions(app)[runs].Seen.Add(outlasts)),
		"released before health had held for %s", detection)

	now := s.cluster(from).taint(taintKey, "NoExecute")
	require.Equal(s, added, now, "the operator's taint is as it was")
	require.NotNil(s, s.cluster(from).taint(evacuatingTaint, "NoSchedule"))
	s.taintByHand(from, taintKey, "NoExecute", false)
	s.became(s.ends(from, "Recovered"), map[string]string{app: "Migrated", patient: "Abandoned"})
	s.leftAlone(patient)
}

// putBack has the scheduler undo an eviction: its blind patch, computed before,
// lands after.
//
// It guards the row of Placing in §4.7: what was put back is removed again, under
// the one task that stands (invariant 5), and nothing is released meanwhile.
//
// Rules: R4.7-13, R4.7-18.
func putBack(s *scene) {
	from, to := s.ruledPair()
	app := s.deploy("app", from, 1, oneOf(from, to), faultPutBack+"="+from)

	s.kill(from)
	s.phase(from, "Evacuated")
	s.evicted(app, from)
	require.True(s, slices.ContainsFunc(s.versions(app), func(v version) bool {
		b := s.binding(v)
		return b.on(from) && len(b.held(from)) == 1
	}), "the scheduler did put it back")
	require.Equal(s, []string{to}, s.find(app).targets())
	s.releasedWhenItRan(app, from)
	s.recovers(from, map[string]string{app: "Migrated"})
}

// putBackAfterRelease has the scheduler place the binding on the failed cluster
// again as soon as nothing bans it.
//
// It guards §4.2: it is not evicted again in this attempt, but Blocked with
// SchedulerReturnsIt; two that undo each other would never come to rest.
//
// Rules: R4.2-7.
func putBackAfterRelease(s *scene) {
	s.rule(time.Second, time.Second)
	from := s.c(1)
	placement := oneOf(s.all()...)
	placement["spreadConstraints"] = []any{object{"spreadByField": "cluster", "minGroups": int64(1), "maxGroups": int64(2)}}
	u := deployment(s.namespace(), "app", from, 1, placement)
	u.SetAnnotations(map[string]string{faultPutBackAfterRelease: from})
	spec := specOf(u)
	spec["clusters"] = []any{object{"name": from, "replicas": int64(1)}, object{"name": s.c(2), "replicas": int64(1)}}
	s.run(u)
	app := keyOf(u)

	s.kill(from)
	s.blocked(from, app, "SchedulerReturnsIt")
	require.True(s, s.find(app).on(from))
	s.evicted(app, from)
	s.remains(3*time.Second, "not evicted again", func() bool { return len(s.evictions(app, from)) == 1 })
	s.recovers(from, map[string]string{app: "Migrated"})
	s.evicted(app, from)
}

// malformed objects and what this version cannot move safely stand beside a binding
// that is fine.
//
// It guards invariant 12 and "unknown means blocked": each keeps to itself, with a
// reason, and is not touched.
//
// Rules: R4.1-5, R4.3-21, R4.7-40, R4.11-4.
func malformed(s *scene) {
	s.create(&unstructured.Unstructured{Object: object{
		"apiVersion": rules.GroupVersion().String(), "kind": "ClusterTaintRule",
		"metadata": object{"name": "odd-one-that-would-empty-the-fleet"},
		"spec":     object{"taints": []any{object{"key": "example.com/everything", "effect": "NoExecute", "addOnMatchSeconds": int64(0)}}},
	}})
	from, to := s.ruledPair()
	ns := s.namespace()
	sideways := deployment(ns, "sideways", from, 1, oneOf(from, to))
	sideways.SetAnnotations(map[string]string{prefix + "purge-mode": "Sideways"})
	preserved := deployment(ns, "preserved", from, 1, oneOf(from, to))
	specOf(preserved)["failover"] = object{"cluster": object{"statePreservation": object{
		"rules": []any{object{"aliasLabelName": "checkpoint", "jsonPath": "{.jobStatus.checkpoint}"}},
	}}}
	placement := oneOf(from, to)
	placement["workloadAffinity"] = object{"affinity": object{"groupByLabelKey": "team"}}
	s.put(deployment(ns, "beside", from, 1, placement)) // the lab's scheduler cannot do it either
	s.run(sideways, preserved, deployment(ns, "fine", from, 1, oneOf(from, to)))
	blocked := map[string]string{
		ns + "/sideways": "Malformed", ns + "/preserved": "StateUnreadable", ns + "/beside": "NotSupportedYetPlacement",
	}

	s.kill(from)
	s.phase(from, "Evacuated")
	want := map[string]string{ns + "/fine": "Migrated"}
	for key, reason := range blocked {
		s.blocked(from, key, reason)
		want[key] = "Abandoned"
	}
	s.leftAlone(slices.Collect(maps.Keys(blocked))...)
	s.recovers(from, want)
	s.refusedRule("odd-one-that-would-empty-the-fleet", "example.com/everything")
	s.warned(ns, "sideways", "EvictWorkloadFromClusterBlocked")
}

// refusedRule: it says so itself, and no cluster ever had its taint.
func (s *scene) refusedRule(name, taintKey string) {
	rule, err := s.api.Resource(rules).Get(s.ctx, name, metav1.GetOptions{})
	require.NoError(s, err)
	conditions, _, err := unstructured.NestedSlice(rule.Object, "status", "conditions")
	require.NoError(s, err)
	require.Len(s, conditions, 1)
	accepted, ok := conditions[0].(object)
	require.True(s, ok)
	require.Equal(s, []any{"Accepted", "False"}, []any{accepted["type"], accepted["status"]})
	require.NotEmpty(s, accepted["message"])
	all, err := s.api.Resource(clusters).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for i := range all.Items {
		c, err := decode[cluster](&all.Items[i])
		require.NoError(s, err)
		require.Nil(s, c.taint(taintKey, "NoExecute"), "%s has the taint of a refused rule", c.Name)
	}
}

// warned: an Event on the binding tells its owners.
func (s *scene) warned(namespace, name, reason string) {
	all, err := s.api.Resource(events).Namespace(namespace).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	require.True(s, slices.ContainsFunc(all.Items, func(u unstructured.Unstructured) bool {
		about, _, err := unstructured.NestedString(u.Object, "involvedObject", "name")
		return err == nil && about == name && u.Object["reason"] == reason && u.Object["type"] == "Warning"
	}), "no Event says that %s/%s is %s", namespace, name, reason)
}

// malformedMessages has somebody send nonsense to everything that runs for a
// failover: messages without a field, and such that are not even of their kind.
//
// It guards invariant 12: each is ignored, or refused, and harms nothing.
func malformedMessages(s *scene) {
	from, to := s.ruledPair()
	app := s.deploy("app", from, 2, oneOf(from, to), faultStuckReadyAt+"="+to+"=1")
	s.kill(from)
	waits := func(e *clusterFailover) bool {
		return e.Migrations[app].Phase == "AwaitingHealth" && e.Pace.Tier == "normal"
	}
	s.awaitFailover(from, "waits for health", waits)

	sent := map[string][]string{
		failoverID(from): {
			"cluster-observed", "bindings-changed", "adopt", "grant", "pace-changed", "migration-reports", "cluster-recovered",
		},
		migrationID(from, app): {"binding-observed", "recover", "migration-adopted"},
		pacerID:                {"fleet-observed", "grant-request", "permits-used"},
	}
	for id, signals := range sent {
		for _, signal := range signals {
			for _, nonsense := range []any{nil, "nonsense", 42, []any{}, object{}, object{"who": 1}} {
				require.NoError(s, s.temporal.SignalWorkflow(s.ctx, id, "", signal, nonsense))
			}
		}
	}
	for _, update := range []string{"pause", "resume", "cancel", "taint", "untaint"} {
		handle, err := s.temporal.UpdateWorkflow(s.ctx, client.UpdateWorkflowOptions{
			WorkflowID: failoverID(from), UpdateName: update, Args: []any{object{"who": operator}},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err == nil {
			err = handle.Get(s.ctx, nil)
		}
		require.Error(s, err, "%s without a reason", update)
	}
	s.remains(2*time.Second, "goes on as before", func() bool { return len(s.find(app).held(from)) == 1 })
	s.awaitFailover(from, "still waits for health", waits)
	s.annotate(app, faultStuckReadyAt, "")
	s.phase(from, "Evacuated")
	s.releasedWhenItRan(app, from)
	s.recovers(from, map[string]string{app: "Migrated"})
}

// secondEvictor runs a failover beside Karmada's own taint manager, which is turned on: it evicts, outside the pace,
// a binding that Lifeboat leaves alone. It is turned off in the order that preflight names, the controller that ends
// its tasks last.
//
// It guards the halt of §4.15: nothing more is evicted until an operator resumes, a resume
// while the task stands halts again, and the failover then ends as any other.
//
// A binding that has nowhere else to run is held beside Karmada's task, whose end is not its end then.
//
// Rules: R4.15-28, R4.15-29, R4.15-31.
func secondEvictor(s *scene) {
	s.Cleanup(func() {
		s.knobs(context.Background(), object{"taintManager": false, "gracefulEvictionEnabled": true})
	})
	s.knobs(s.ctx, object{"taintManager": true, "gracefulEvictionEnabled": false})
	from, to := s.ruledPair()
	app := s.deploy("app", from, 1, tolerating(oneOf(from, to), 30*time.Second))
	theirs := s.deploy("theirs", from, 1, tolerating(oneOf(from, to), 5*time.Second), prefix+"enabled=false")
	last := s.deploy("last", from, 1, tolerating(oneOf(from), 5*time.Second))

	s.kill(from)
	halted := func(e *clusterFailover) bool {
		return e.Paused != nil && e.Paused.Who == "lifeboat" && strings.Contains(e.Paused.Reason, "SecondEvictor") &&
			strings.Contains(e.Paused.Reason, "--enable-no-execute-taint-eviction=false")
	}
	s.awaitFailover(from, "halted beside a second evictor", halted)
	s.knobs(s.ctx, object{"taintManager": false})
	require.Equal(s, "TaintManager", s.find(theirs).Spec.Tasks[0].Producer)
	s.awaitFailover(from, "due, and paused", func(e *clusterFailover) bool { return e.waits(app, "ready", "Paused") })
	s.order("resume", from)
	s.awaitFailover(from, "halted again", halted)
	s.remains(3*time.Second, "nothing is evicted", func() bool { return len(s.find(app).Spec.Tasks) == 0 })

	s.await("the last copy is held beside Karmada's task", func() (bool, string) {
		b := s.find(last)
		return len(b.Spec.Tasks) == 2 && len(b.held(from)) == 1, fmt.Sprintf("%+v", b)
	})
	s.await("and Karmada's task alone goes", func() (bool, string) { return s.dropTheirs(last), "" })

	s.knobs(s.ctx, object{"gracefulEvictionEnabled": true})
	s.await("Karmada has ended its task", func() (bool, string) {
		return len(s.find(theirs).Spec.Tasks) == 0, fmt.Sprintf("%+v", s.find(theirs))
	})
	s.order("resume", from)
	s.await("the other has moved", func() (bool, string) {
		b := s.find(app)
		return slices.Equal(b.targets(), []string{to}) && len(b.Spec.Tasks) == 0, fmt.Sprintf("%+v", b)
	})
	s.releasedWhenItRan(app, from)
	require.Equal(s, []string{to}, s.find(theirs).targets())
	s.recovers(from, map[string]string{app: "Migrated", last: "Restored"})
}

// dropTheirs does what a timeout does to the tasks of Karmada's taint manager; false where the
// binding changed meanwhile.
func (s *scene) dropTheirs(key string) bool {
	at := s.named(key)
	client := s.api.Resource(resourceOf(at)).Namespace(at.GetNamespace())
	u, err := client.Get(s.ctx, at.GetName(), metav1.GetOptions{})
	require.NoError(s, err)
	tasks, _, err := unstructured.NestedSlice(u.Object, "spec", "gracefulEvictionTasks")
	require.NoError(s, err)
	tasks = slices.DeleteFunc(tasks, func(t any) bool {
		task, is := t.(object)
		return is && task["producer"] == "TaintManager"
	})
	require.NoError(s, unstructured.SetNestedSlice(u.Object, tasks, "spec", "gracefulEvictionTasks"))
	_, err = client.Update(s.ctx, u, metav1.UpdateOptions{})
	return err == nil
}

// knobs changes how the lab's Karmada runs.
func (s *scene) knobs(ctx context.Context, changes object) {
	require.NoError(s, s.lab.control(ctx, "knobs", "", changes))
}
