package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// sentSignals records signals.
type sentSignals struct {
	lines   []string
	verdict *proof.HoldVerdict // the last one
}

func (r *sentSignals) add(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *sentSignals) Cluster(f rules.ClusterFact, start bool) {
	verb := "signal"
	if start {
		verb = "start"
	}
	if f.Deleted {
		verb += " deleted"
	}
	r.add("%s %s@%s", verb, f.Cluster, f.ResourceVersion)
}

func (r *sentSignals) Changed(cluster string, f proof.BindingFact) {
	r.add("changed %s: %s", cluster, factText(f))
}

func (r *sentSignals) Owner(owner string, f proof.BindingFact) {
	r.add("owner %s: %s", owner, factText(f))
	r.verdict = f.Verdict
}

func (r *sentSignals) Adopt(cluster string, f proof.BindingFact) {
	r.add("adopt %s: %s", cluster, factText(f))
}

func (r *sentSignals) Application(f proof.BindingFact, start bool) {
	r.add("application %s start %t", factText(f), start)
}

func (r *sentSignals) Fleet(rules.Probed) { r.add("fleet") }

func factText(f proof.BindingFact) string {
	text := f.Key.String() + "@" + f.ResourceVersion
	if f.Deleted {
		text += " deleted"
	}
	if f.SecondEvictor {
		text += " second evictor"
	}
	return text
}

// take returns the signals since the last call.
func (r *sentSignals) take() []string {
	lines := r.lines
	r.lines = nil
	return lines
}

// runs are the workflows that run; nil means that Temporal does not answer.
type runs map[string]bool

func (r runs) Running(_ context.Context, id string) (bool, error) {
	if r == nil {
		return false, errors.New("no answer")
	}
	return r[id], nil
}

func notReady() rules.Rule {
	return rules.Rule{
		Name: "not-ready",
		MatchConditions: []rules.MatchCondition{{
			ConditionType: karmada.ConditionReady, Operator: rules.OperatorNotIn, StatusValues: []corev1.ConditionStatus{corev1.ConditionTrue},
		}},
		Taints: []karmada.RuleTaint{{Key: "not-ready", Effect: corev1.TaintEffectNoExecute}},
	}
}

func cluster(name, version string, ready corev1.ConditionStatus) *karmada.Cluster {
	return &karmada.Cluster{
		Name: name, UID: "uid", ResourceVersion: version,
		Conditions: []karmada.Condition{{Type: karmada.ConditionReady, Status: ready}},
	}
}

func newRouter() (*sentSignals, *Router) {
	signals := &sentSignals{}
	router := NewRouter(signals)
	router.RulesChanged([]rules.Rule{notReady()})
	return signals, router
}

// Rules: R4.3-2.
func TestRouter_ClusterEvents_SignalThePacerAndTheFailover(t *testing.T) {
	healthy, failed := cluster("a", "1", corev1.ConditionTrue), cluster("a", "1", corev1.ConditionFalse)
	healthyLater, failedLater := cluster("a", "2", corev1.ConditionTrue), cluster("a", "2", corev1.ConditionFalse)
	optedOut, tainted := *failed, *failedLater
	optedOut.Annotations = map[string]string{karmada.AnnotationEnabled: "false"}
	tainted.Annotations = optedOut.Annotations
	tainted.Added = []karmada.AddedTaint{{Key: "not-ready", Effect: corev1.TaintEffectNoExecute}}
	for _, tc := range []struct {
		name  string
		first *karmada.Cluster
		open  bool
		event func(*Router)
		want  []string
	}{
		{name: "failed", first: healthy, event: func(r *Router) { r.ClusterChanged(healthy, failedLater) }, want: []string{"fleet", "start a@2"}},
		{name: "heartbeat", first: failed, event: func(r *Router) { r.ClusterChanged(failed, failedLater) }},
		{name: "recovered", first: failed, open: true, event: func(r *Router) { r.ClusterChanged(failed, healthyLater) }, want: []string{"fleet", "signal a@2"}},
		{name: "its failover closed", first: failed, open: true, event: func(r *Router) { r.Closed("a") }, want: []string{"start a@1"}},
		{name: "deleted", first: failed, open: true, event: func(r *Router) { r.ClusterDeleted(failedLater) }, want: []string{"fleet", "signal deleted a@2"}},
		{name: "opted out", first: &optedOut, event: func(*Router) {}},
		{name: "opted out with a Lifeboat taint", first: &optedOut, event: func(r *Router) { r.ClusterChanged(&optedOut, &tainted) }, want: []string{"start a@2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			signals, router := newRouter()
			router.ClusterChanged(nil, tc.first)
			if tc.open {
				router.Opened("a")
			}
			signals.take()
			tc.event(router)
			require.Equal(t, tc.want, signals.take())
		})
	}
}

func TestRouter_NewRule_MayStartAFailover(t *testing.T) {
	signals := &sentSignals{}
	router := NewRouter(signals)
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionFalse))
	require.Equal(t, []string{"fleet"}, signals.take())
	router.RulesChanged([]rules.Rule{notReady()})
	require.Equal(t, []string{"fleet", "start a@1"}, signals.take())
}

func binding(version string, targets []string, tasks ...karmada.Task) *karmada.Binding {
	b := &karmada.Binding{
		Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}, UID: "b", ResourceVersion: version, Tasks: tasks,
	}
	// Any write to spec moves the generation; here each version is one.
	b.Generation = int64(version[0])
	for _, target := range targets {
		b.Clusters = append(b.Clusters, karmada.TargetCluster{Name: target})
	}
	return b
}

func task(from, owner, reason string) karmada.Task {
	return karmada.Task{FromCluster: from, Producer: karmada.Producer, Message: owner, Reason: reason}
}

// Rules: R4.7-50.
func TestRouter_ChangedVerdict_SignalsTheOwnerOfTheHoldTask(t *testing.T) {
	signals, router := newRouter()
	held := task("a", "migration", karmada.TaskReason)
	versions := []*karmada.Binding{
		binding("0", nil, held), binding("1", []string{"b"}, held), binding("2", []string{"b"}, held), binding("3", []string{"b"}, held),
		binding("4", []string{"b"}, held), binding("5", []string{"b", "c"}, held),
	}
	for _, b := range versions[2:] {
		b.Status.ObservedGeneration = b.Generation // placed
		b.Status.Scheduled = &karmada.Condition{Status: corev1.ConditionTrue}
	}
	versions[3].Status.Aggregated = []karmada.AggregatedItem{{Cluster: "b", Applied: true, Health: karmada.HealthUnhealthy}}
	versions[4].Status.Aggregated = []karmada.AggregatedItem{{Cluster: "b", Applied: true, Health: karmada.HealthHealthy}}
	versions[5].Status.Aggregated = versions[4].Status.Aggregated
	router.BindingChanged(nil, versions[0])
	for n := range versions[1:] {
		router.BindingChanged(versions[n], versions[n+1])
	}
	router.BindingDeleted(versions[5])
	require.Equal(t, []string{
		"owner migration: shop/cart@0", "owner migration: shop/cart@2", // not 1 and 3: not placed, and not proven, before and after
		"owner migration: shop/cart@4", "owner migration: shop/cart@5", "owner migration: shop/cart@5 deleted",
	}, signals.take())
}

// Rules: R4.7-55.
func TestRouter_PlainHold_SignalCarriesTheVerdict(t *testing.T) {
	signals, router := newRouter()
	for _, name := range []string{"a", "b"} {
		router.ClusterChanged(nil, cluster(name, "1", corev1.ConditionTrue))
	}
	held := task("a", "migration", karmada.TaskReason)
	held.PurgeMode = karmada.PurgeGracefully
	b := binding("1", []string{"b"}, held)
	b.Status.ObservedGeneration, b.Status.Scheduled = b.Generation, &karmada.Condition{Status: corev1.ConditionTrue}
	b.Status.Aggregated = []karmada.AggregatedItem{{Cluster: "b", Applied: true, Health: karmada.HealthHealthy}}
	router.BindingChanged(nil, b)
	require.NotNil(t, signals.verdict)
	require.True(t, signals.verdict.Placed.OK)
	require.True(t, signals.verdict.Health.OK)
	require.Equal(t, b.Clusters, signals.verdict.On)

	held.PurgeMode = karmada.PurgeDirectly
	router.BindingChanged(b, binding("2", []string{"b"}, held))
	require.Nil(t, signals.verdict, "the migration reads it itself")
}

// The binding stays the same, and its status is evidence no more.
//
// Rules: R4.7-57.
func TestOwners_LookWhenATargetIsLostOrIsBack(t *testing.T) {
	signals, router := newRouter()
	router.ClusterChanged(nil, cluster("b", "1", corev1.ConditionTrue))
	router.BindingChanged(nil, binding("1", []string{"b"}, task("a", "migration", karmada.TaskReason)))
	signals.take()
	router.ClusterChanged(cluster("b", "1", corev1.ConditionTrue), cluster("b", "2", corev1.ConditionFalse))
	require.Contains(t, signals.take(), "owner migration: shop/cart@", "without a version: the owner reads the binding")
	router.ClusterChanged(cluster("b", "2", corev1.ConditionFalse), cluster("b", "3", corev1.ConditionFalse))
	require.Empty(t, signals.take())
	router.ClusterChanged(cluster("b", "3", corev1.ConditionFalse), cluster("b", "4", corev1.ConditionTrue))
	require.Contains(t, signals.take(), "owner migration: shop/cart@")
	router.ClusterDeleted(cluster("b", "5", corev1.ConditionTrue))
	require.Contains(t, signals.take(), "owner migration: shop/cart@")
}

// Rules: R4.9-49.
func TestRouter_TasksOfOthersAndThoseLeftToAnOperator_SignalNoWorkflow(t *testing.T) {
	signals, router := newRouter()
	others := karmada.Task{FromCluster: "a", Producer: "TaintManager", Message: "x"}
	router.BindingChanged(nil, binding("1", nil, others, task("b", "m", karmada.TaskReasonKept), task("c", "m", karmada.TaskReasonNeedsOperator)))
	require.Empty(t, signals.take())
	require.NoError(t, router.Resync(t.Context(), runs{"fleet-pacer": true}, ""))
	require.Empty(t, signals.take())
}

func TestRouter_BindingAddedOrRemoved_SignalsTheOpenFailoversOfItsClusters(t *testing.T) {
	signals, router := newRouter()
	router.Opened("a")
	router.BindingChanged(nil, binding("1", []string{"a", "b"}))
	router.BindingChanged(binding("1", []string{"a", "b"}), binding("2", []string{"b"}))
	router.BindingChanged(binding("2", []string{"b"}), binding("3", []string{"b"}))
	require.Equal(t, []string{"changed a: shop/cart@1", "changed a: shop/cart@2"}, signals.take())
}

func TestRouter_StatusChange_SignalsNoFailover(t *testing.T) {
	signals, router := newRouter()
	router.Opened("a")
	before, after := binding("1", []string{"a"}), binding("1", []string{"a"})
	after.ResourceVersion = "2"
	after.Status.Aggregated = []karmada.AggregatedItem{{Cluster: "a", Health: karmada.HealthHealthy}}
	router.BindingChanged(before, after)
	require.Empty(t, signals.take())
}

// Rules: R4.7-50.
func TestRouter_OwnEviction_SignalsNoWorkflow(t *testing.T) {
	signals, router := newRouter()
	router.Opened("a")
	router.BindingChanged(binding("1", []string{"a"}), binding("2", nil, task("a", "migration", karmada.TaskReason)))
	require.Empty(t, signals.take(), "its migration wrote the change")
}

func TestResync_StartsThePacerAndNeededFailovers(t *testing.T) {
	signals, router := newRouter()
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionFalse))
	router.ClusterChanged(nil, cluster("b", "1", corev1.ConditionTrue))
	signals.take()
	require.NoError(t, router.Resync(t.Context(), runs{}, ""))
	require.Equal(t, []string{"fleet", "start a@1"}, signals.take())

	running := runs{"fleet-pacer": true, "cluster-failover/a": true}
	require.NoError(t, router.Resync(t.Context(), running, ""))
	require.Empty(t, signals.take(), "every workflow runs and has the newest facts")
}

func TestResync_First_FindsFailoversThatOthersStarted(t *testing.T) {
	signals, router := newRouter()
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionTrue))
	signals.take()
	require.NoError(t, router.Resync(t.Context(), runs{"eu/fleet-pacer": true, "eu/cluster-failover/a": true}, "eu"))
	require.Equal(t, []string{"signal a@1"}, signals.take())
}

func TestResync_TemporalAway_IsAnError(t *testing.T) {
	_, router := newRouter()
	require.ErrorContains(t, router.Resync(t.Context(), runs(nil), ""), "no answer")
}

// Rules: R4.9-46, R4.9-47.
func TestResync_TaskWhoseOwnerDoesNotRun_IsAdopted(t *testing.T) {
	signals, router := newRouter()
	router.BindingChanged(nil, binding("1", []string{"b"}, task("a", "migration", karmada.TaskReason)))
	router.BindingChanged(nil, &karmada.Binding{
		Key: karmada.BindingKey{Name: "role"}, ResourceVersion: "1", Tasks: []karmada.Task{task("a", "", karmada.TaskReason)},
	})
	signals.take()
	require.NoError(t, router.Resync(t.Context(), runs{"fleet-pacer": true, "migration": true}, ""))
	require.Equal(t, []string{"adopt a: -/role@1"}, signals.take(), "a task without an owner")
	require.NoError(t, router.Resync(t.Context(), runs{"fleet-pacer": true}, ""))
	require.ElementsMatch(t, []string{"adopt a: -/role@1", "adopt a: shop/cart@1"}, signals.take())
}

func TestResync_TaskThatWasJustReleased_IsNotAdopted(t *testing.T) {
	signals, router := newRouter()
	held := binding("1", []string{"b"}, task("a", "migration", karmada.TaskReason))
	router.BindingChanged(nil, held)
	router.OwnerMissing(held.Key)
	router.BindingChanged(held, binding("2", []string{"b"})) // released
	signals.take()
	require.NoError(t, router.Resync(t.Context(), runs{"fleet-pacer": true}, ""))
	require.Empty(t, signals.take())
}

func TestOwnersToCheck_RotatesAndBeginsWithMissingOwners(t *testing.T) {
	_, router := newRouter()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		router.BindingChanged(nil, &karmada.Binding{
			Key: karmada.BindingKey{Namespace: "n", Name: name}, Tasks: []karmada.Task{task("x", "m-"+name, karmada.TaskReason)},
		})
	}
	names := func() string {
		text := ""
		for _, s := range router.ownersToCheck(2) {
			text += s.fact.Key.Name
		}
		return text
	}
	require.Equal(t, "ab", names())
	require.Equal(t, "cd", names())
	router.OwnerMissing(karmada.BindingKey{Namespace: "n", Name: "b"})
	require.Equal(t, "be", names())
	require.Equal(t, "ab", names())
}

func TestRuleMatches_NameTheClustersThatMatch(t *testing.T) {
	_, router := newRouter()
	router.ClusterChanged(nil, cluster("b", "1", corev1.ConditionFalse))
	router.ClusterChanged(nil, cluster("a", "1", corev1.ConditionFalse))
	router.ClusterChanged(nil, cluster("c", "1", corev1.ConditionTrue))
	matches := router.RuleMatches()
	require.Len(t, matches, 1)
	require.Equal(t, []string{"a", "b"}, matches[0].MatchedClusters)
}

// The failover is signalled at once, also for a new binding and for one that Lifeboat holds.
//
// Rules: R4.15-28.
func TestRouter_TaskOfTheTaintManager_IsSignalledToTheFailoverOfItsCluster(t *testing.T) {
	theirs := karmada.Task{FromCluster: "a", Producer: karmada.TaintManager}
	other := karmada.Task{FromCluster: "a", Producer: "resource-binding-application-failover-controller"}
	for name, c := range map[string]struct {
		old, now *karmada.Binding
		want     string
	}{
		"evicted just now":         {old: binding("1", []string{"a"}), now: binding("2", []string{"b"}, theirs), want: "changed a: shop/cart@2 second evictor"},
		"seen for the first time":  {now: binding("2", []string{"b"}, theirs), want: "changed a: shop/cart@2 second evictor"},
		"held by Lifeboat as well": {now: binding("2", []string{"b"}, theirs, task("a", "m", karmada.TaskReason)), want: "changed a: shop/cart@2 second evictor"},
		"by another producer":      {old: binding("1", []string{"a"}), now: binding("2", []string{"b"}, other), want: "changed a: shop/cart@2"},
		"elsewhere":                {now: binding("2", []string{"b"}, karmada.Task{FromCluster: "c", Producer: karmada.TaintManager})},
	} {
		t.Run(name, func(t *testing.T) {
			signals, router := newRouter()
			router.Opened("a")
			router.BindingChanged(c.old, c.now)
			var changed []string
			for _, lines := range signals.take() {
				if strings.HasPrefix(lines, "changed") {
					changed = append(changed, lines)
				}
			}
			require.Equal(t, c.want, strings.Join(changed, ", "))
		})
	}
}

// The pacer counts a cluster as faulty while a rule's taint that moves bindings stands, also
// beside other taints of Lifeboat's, and by the rules as they are now.
//
// Rules: R4.5-35.
func TestRouter_ChangedNumberOfFaultyClusters_SignalsThePacer(t *testing.T) {
	signals, router := newRouter()
	with := func(version string, ready corev1.ConditionStatus, taints ...karmada.AddedTaint) *karmada.Cluster {
		c := cluster("a", version, ready)
		c.Added = taints
		return c
	}
	cordon := karmada.AddedTaint{Key: "cordon", Effect: corev1.TaintEffectNoSchedule, Rule: "cordon"}
	moves := karmada.AddedTaint{Key: "not-ready", Effect: corev1.TaintEffectNoExecute, Rule: "not-ready"}
	failing, recovering, well := with("1", corev1.ConditionFalse, cordon, moves), with("2", corev1.ConditionTrue, cordon, moves), with("3", corev1.ConditionTrue, cordon)
	router.ClusterChanged(nil, failing)
	signals.take()
	router.ClusterChanged(failing, recovering)
	require.NotContains(t, signals.take(), "fleet", "its taint stands: it counts as before")
	router.ClusterChanged(recovering, well)
	require.Contains(t, signals.take(), "fleet", "the last taint that moves bindings went")
	router.ClusterChanged(well, with("4", corev1.ConditionUnknown, cordon))
	require.Contains(t, signals.take(), "fleet")
	router.RulesChanged(nil)
	require.Contains(t, signals.take(), "fleet", "no rule matches any more")
	router.RulesChanged(nil)
	require.NotContains(t, signals.take(), "fleet")
}

// orphanedKarmada is a Karmada with taints and tasks of Lifeboat. A second read of a binding may return
// another version: its migration has just ended.
type orphanedKarmada struct {
	activities.Reader
	clusters []karmada.Cluster
	bindings []karmada.Binding
	again    map[karmada.BindingKey]karmada.Binding
}

func (k orphanedKarmada) Clusters(context.Context) ([]karmada.Cluster, error) { return k.clusters, nil }

// Bindings gives one binding to a page.
func (k orphanedKarmada) Bindings(_ context.Context, page activities.Page) (activities.BindingPage, error) {
	at := len(page.Continue)
	out := activities.BindingPage{Bindings: k.bindings[at : at+1]}
	if at+1 < len(k.bindings) {
		out.Next = &activities.Page{Continue: page.Continue + "x"}
	}
	return out, nil
}

func (k orphanedKarmada) Binding(_ context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	if b, changed := k.again[key]; changed {
		return b, nil
	}
	for _, b := range k.bindings {
		if b.Key == key {
			return b, nil
		}
	}
	return karmada.Binding{}, karmada.ErrGone
}

func holding(name string, tasks ...karmada.Task) karmada.Binding {
	return karmada.Binding{Key: karmada.BindingKey{Namespace: "shop", Name: name}, UID: "b", ResourceVersion: "1", Tasks: tasks}
}

// Rules: R4.9-55, R4.9-46, R4.9-49.
func TestFindOrphans_ListsTaintsRecordsAndTasksWithoutAnOwner(t *testing.T) {
	tainted := cluster("a", "1", corev1.ConditionTrue)
	tainted.Added = []karmada.AddedTaint{{Key: "down", Effect: corev1.TaintEffectNoExecute}}
	tainted.Drain, tainted.Ordered = &karmada.Drain{}, []karmada.OrderedTaint{{Key: "disks"}}
	owned := cluster("b", "1", corev1.ConditionTrue)
	owned.Stopped = &karmada.StoppedBy{}
	k := orphanedKarmada{
		clusters: []karmada.Cluster{*tainted, *owned, *cluster("c", "1", corev1.ConditionFalse)},
		bindings: []karmada.Binding{
			holding("alone", task("b", "gone", karmada.TaskReason)),
			holding("both", task("a", "works", karmada.TaskReason), task("d", "", karmada.TaskReason)),
			holding("ended", task("a", "gone", karmada.TaskReason)),
			holding("kept", task("a", "gone", karmada.TaskReasonKept), task("b", "gone", karmada.TaskReasonNeedsOperator)),
			holding("others", karmada.Task{FromCluster: "a", Producer: "TaintManager", Message: "gone"}),
		},
		again: map[karmada.BindingKey]karmada.Binding{{Namespace: "shop", Name: "ended"}: holding("ended")},
	}
	run := runs{"works": true, "eu/cluster-failover/b": true}
	found := fixtures.Must(FindOrphans(t.Context(), k, run, "eu", ""))(t)
	require.Equal(t, 1, found.Owned)
	require.Equal(t, 2, found.Left)
	fact := func(name string) proof.BindingFact {
		return proof.BindingFact{Key: karmada.BindingKey{Namespace: "shop", Name: name}, UID: "b", ResourceVersion: "1"}
	}
	require.Equal(t, []Orphan{
		{Cluster: "a", OnCluster: []string{"taint down:NoExecute", "annotation " + karmada.AnnotationDrain, "annotation " + karmada.AnnotationOrderedTaints}},
		{Cluster: "b", Tasks: []OrphanTask{{Binding: fact("alone"), Owner: "gone"}}},
		{Cluster: "d", Tasks: []OrphanTask{{Binding: fact("both")}}},
	}, found.Orphans)

	one := fixtures.Must(FindOrphans(t.Context(), k, run, "eu", "d"))(t)
	require.Equal(t, []string{"d"}, []string{one.Orphans[0].Cluster})
	require.Len(t, one.Orphans, 1)
	require.Zero(t, one.Left+one.Owned)

	_, err := FindOrphans(t.Context(), k, runs(nil), "", "")
	require.ErrorContains(t, err, "no answer", "no answer does not mean that the owner is gone")
}

// adoptions is a Sender that records adopt signals.
type adoptions struct{ adopts []workflows.Adopt }

func (*adoptions) Signal(context.Context, string, string, any) error { return ErrNotRunning }

func (l *adoptions) SignalWithStart(_ context.Context, _ Start, _ string, arg any) error {
	adopt, _ := arg.(workflows.Adopt)
	l.adopts = append(l.adopts, adopt)
	return nil
}

// Rules: R4.9-55.
func TestAdopt_CarriesTheOrderAndKeepsSignalsSmall(t *testing.T) {
	by := workflows.Order{Who: "ada", Reason: "a drill"}
	for tasks, sizes := range map[int][]int{0: {0}, 1: {1}, 900: {400, 400, 100}} {
		l := &adoptions{}
		require.NoError(t, Adopt(t.Context(), l, "", Orphan{Cluster: "a", Tasks: make([]OrphanTask, tasks)}, by))
		var got []int
		for _, adopt := range l.adopts {
			require.Equal(t, by, adopt.By)
			require.Equal(t, "a", adopt.Cluster)
			got = append(got, len(adopt.Bindings))
		}
		require.Equal(t, sizes, got)
	}
}
