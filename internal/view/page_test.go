package view_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// published is where the runbook is in these pages.
const published = "https://example.org/operations.md"

// evacuating is a failover in the middle of its work.
func evacuating() view.Failover {
	return view.Failover{
		Cluster: "member1", Phase: phase.FailoverEvacuating, Mode: rules.ModeEnforce, Attempt: 1,
		Reason: reason.ConditionsMatch, Why: "Ready=False ClusterNotReachable, taint acme.io/failed:NoExecute of ClusterTaintRule unready",
		Now: fixtures.At(600), Since: fixtures.T0, Confirmed: fixtures.At(300), Entered: fixtures.At(302), ETA: fixtures.At(720), Runbook: published,
		Counts: view.Counts{
			Affected: 48, Settled: 21, Moving: 2, Waiting: 18, Tolerating: 5, Blocked: 2, Flagged: 1,
			BlockedBy: map[reason.Reason]int{reason.NoTarget: 1, reason.NotSupportedComps: 1},
			Outcomes:  map[phase.Outcome]int{phase.OutcomeMigrated: 20, phase.OutcomeSkipped: 1},
		},
		Pace: pace.Pace{
			Tier: pace.TierNormal, Rate: 0.5, Reason: reason.FleetHealthy, FaultRate: 1.0 / 6,
			FleetHealth: pace.FleetHealth{Total: 6, Faulty: []string{"member1"}},
		},
		Next: []view.Line{
			{Binding: "shop/cart-deployment", At: fixtures.At(300), Priority: 10, Reason: reason.AwaitingPermit, To: []string{"member2", "member3"}},
			{Binding: "shop/mail-deployment", At: fixtures.At(900), Reason: reason.AwaitingDue},
		},
		Blocked: []view.Line{
			{Binding: "shop/db-statefulset", Reason: reason.NoTarget, Message: "0 candidates: member4 is not Ready", At: fixtures.At(630)},
			{Binding: "shop/job-deployment", Reason: reason.NotSupportedComps, Message: "it has 2 components"},
		},
		Moving: []view.Line{
			{Binding: "shop/api-deployment", Phase: phase.MigrationAwaitingHealth, To: []string{"member3"}, Reason: reason.NotHealthy, Message: "1 of 3 replicas ready on member3", Attention: reason.GracefulTimeout, Placed: true, At: fixtures.At(310)},
			{Binding: "shop/web-deployment", Phase: phase.MigrationPlacing, Reason: reason.NotPlaced, Message: "the scheduler has seen generation 4 of 5", At: fixtures.At(598)},
		},
		Windows: view.WindowLines(standing(rules.Windows{
			windowKey: {Rule: "unready", Taint: failedTaint, Last: rules.Matches, Matching: true, Since: fixtures.T0},
		}, []karmada.AddedTaint{{Rule: "unready", Key: failedTaint.Key, Effect: failedTaint.Effect}})),
		PendingPurge: []record.PendingPurge{{Key: karmada.BindingKey{Namespace: "shop", Name: "old-deployment"}, Namespace: "karmada-es-member1", Work: "old-6f"}},
	}
}

func changed[T any](v T, f func(*T)) T {
	f(&v)
	return v
}

// standing are windows, and taints of Lifeboat that stand on the cluster.
func standing(windows rules.Windows, added []karmada.AddedTaint) rules.Evidence {
	e := rules.Evidence{Windows: windows, Added: added}
	for _, a := range added {
		e.Standing = append(e.Standing, a.Key+":"+string(a.Effect))
	}
	return e
}

func failoverPages() map[string]view.Failover {
	plain := evacuating()
	bare := view.Failover{Cluster: "member1", Mode: rules.ModeEnforce, Now: fixtures.At(600), Since: fixtures.T0, Attempt: 1, Entered: fixtures.At(590)}
	suspected := rules.Windows{windowKey: {Rule: "unready", Taint: failedTaint, Last: rules.Undecided, Matching: true, Since: fixtures.At(500)}}
	well := rules.Windows{windowKey: {Rule: "unready", Taint: failedTaint, Last: rules.Mismatches, Since: fixtures.At(580)}}
	added := []karmada.AddedTaint{{Rule: "unready", Key: failedTaint.Key, Effect: failedTaint.Effect}}
	return map[string]view.Failover{
		"evacuating": plain,
		"evacuating-paused": changed(plain, func(v *view.Failover) {
			v.PausedBy, v.Next, v.Moving, v.PendingPurge = "kim: looking at it", plain.Next[:1], nil, nil
			v.Counts.Flagged = 0
		}),
		"evacuating-ordered": changed(plain, func(v *view.Failover) {
			v.Orders = []view.OrderLine{
				{What: view.OrderPaused, Whom: "namespace bank", By: "kim: month end"},
				{What: "snoozed", Whom: "shop/cart-deployment", Until: fixtures.At(1800), By: "ada: the cluster is coming back | soon"},
				{What: "priority 100", Whom: "shop/mail-deployment", By: "kim: paying customers"},
			}
			v.Next = append(plain.Next[:2:2], view.Line{Binding: "bank/ledger-deployment", At: fixtures.At(300), Reason: reason.Paused})
			v.Moving, v.PendingPurge, v.Counts.Flagged = nil, nil, 0
		}),
		"evacuating-reduced": changed(plain, func(v *view.Failover) {
			v.Pace.Tier, v.Pace.Reason, v.Pace.Rate, v.Halted = pace.TierReduced, reason.FleetUnhealthy, 0.1, 5*time.Minute
		}),
		"evacuating-after-a-halt": changed(plain, func(v *view.Failover) { v.Halted = 5 * time.Minute }),
		"evacuating-halted": changed(plain, func(v *view.Failover) {
			v.Pace = pace.Judge(pace.FleetHealth{Total: 6, Faulty: []string{"a", "b", "c", "d", "e", "f"}}, limits)
			v.ETA = time.Time{}
		}),
		"evacuating-unproven": changed(plain, func(v *view.Failover) {
			v.Counts.Moving, v.Counts.Unproven, v.PendingPurge = 1, 5, nil
			v.Moving = plain.Moving[:1:1]
			for i, why := range []reason.Reason{
				reason.AwaitingFence, reason.StateNeedsSource, reason.AwaitingFence, reason.AwaitingFence, reason.AwaitingFence,
			} {
				v.Moving = append(v.Moving, view.Line{
					Binding: fmt.Sprintf("bank/db-%d-statefulset", i), Phase: phase.MigrationAwaitingFence, Reason: why,
					Message: "member1 does not answer", To: []string{"member2", "member3"}, Attention: why, At: fixtures.At(305),
				})
			}
		}),
		"suspected": changed(bare, func(v *view.Failover) {
			v.Phase, v.Reason, v.Why, v.Windows = phase.FailoverSuspected, reason.WindowRunning, "Ready=False (ClusterNotReachable)", view.WindowLines(standing(suspected, nil))
		}),
		"observe": changed(bare, func(v *view.Failover) {
			v.Phase, v.Mode, v.Reason = phase.FailoverEvacuated, rules.ModeObserve, reason.ConditionsMatch
			v.Counts = view.Counts{Affected: 2, Settled: 2, Outcomes: map[phase.Outcome]int{phase.OutcomeWouldMove: 1, phase.OutcomeWouldBlock: 1}}
		}),
		"recovering-attempt-2": changed(bare, func(v *view.Failover) {
			v.Phase, v.Attempt, v.Reason, v.Windows = phase.FailoverRecovering, 2, reason.ClusterRecovered, view.WindowLines(standing(well, added))
			v.Counts = view.Counts{Affected: 4, Settled: 1, Moving: 1, Tolerating: 2}
		}),
		"stopped": changed(bare, func(v *view.Failover) {
			v.Phase, v.Reason, v.StoppedBy = phase.FailoverStopped, reason.Cancelled, "kim: planned work"
		}),
		"recovered": changed(bare, func(v *view.Failover) {
			v.Phase, v.Reason = phase.FailoverRecovered, reason.ClusterRecovered
			v.Counts = view.Counts{Affected: 3, Settled: 3, Outcomes: map[phase.Outcome]int{phase.OutcomeMigrated: 2, phase.OutcomeRestored: 1}}
		}),
	}
}

func TestFailoverPages(t *testing.T) {
	goldenPages(t, rendered("failover-", failoverPages(), view.FailoverPage))
}

// moving is a migration that waits for its new copy.
func moving() view.Migration {
	return view.Migration{
		Binding: "shop/cart-deployment", Resource: "Deployment shop/cart", From: "member1", To: []string{"member2"},
		Phase:  phase.MigrationAwaitingHealth,
		Why:    rules.Due{Affected: true, At: fixtures.At(300), Taint: rules.TaintRef{Key: "acme.io/failed", Effect: corev1.TaintEffectNoExecute}, Reason: reason.TaintUntolerated},
		Reason: reason.NotHealthy, Message: "1 of 3 replicas ready on member2",
		Now: fixtures.At(600), Began: fixtures.At(310), Entered: fixtures.At(312), Written: fixtures.At(311), MustHold: 10 * time.Second, OldWork: "karmada-es-member1/cart-6f",
		Flagged: fixtures.At(1211), Parent: "cluster-failover/member1", Runbook: published,
	}
}

func migrationPages() map[string]view.Migration {
	plain := moving()
	return map[string]view.Migration{
		"awaiting-health": plain,
		"healthy": changed(plain, func(v *view.Migration) {
			v.Reason, v.Message, v.HealthySince = reason.Healthy, "proven healthy on member2", fixtures.At(595)
		}),
		"serves-workloads": changed(plain, func(v *view.Migration) {
			v.Binding, v.Resource, v.HealthySince = "shop/cart-service", "Service shop/cart", fixtures.At(320)
			v.Reason, v.Message = reason.HeldForParents, "waits for 1 workload of PropagationPolicy shop/cart on member1, shop/cart-deployment first"
		}),
		"of-application": changed(plain, func(v *view.Migration) {
			v.Why, v.Parent, v.OfApplication = rules.Due{}, "application-failover/shop/cart-deployment", true
		}),
		"no-fit": changed(plain, func(v *view.Migration) {
			v.Phase, v.Reason, v.Message, v.Attention = phase.MigrationPlacing, reason.NoClusterFit, "the scheduler found no cluster", reason.GracefulTimeout
		}),
		"no-replicas": changed(plain, func(v *view.Migration) {
			v.To, v.Reason, v.Message = nil, reason.NoReplicas, "its spec.replicas is 0: the scheduler places it on no cluster"
		}),
		"awaiting-fence": changed(plain, func(v *view.Migration) {
			v.Phase, v.Purge, v.Written, v.Attention = phase.MigrationAwaitingFence, karmada.PurgeDirectly, time.Time{}, reason.AwaitingFence
			v.Reason, v.Message = reason.AwaitingFence, "member1 does not answer, and the old copy is not proven dead"
		}),
		"old-copy-going": changed(plain, func(v *view.Migration) {
			v.Phase, v.Purge = phase.MigrationAwaitingFence, karmada.PurgeDirectly
			v.Reason, v.Message = reason.OldCopyGoing, "Karmada deletes the old copy on member1"
		}),
		"restoring": changed(plain, func(v *view.Migration) {
			v.Phase, v.To, v.Reason, v.Message, v.Ordered = phase.MigrationRestoring, nil, reason.Written, "put back", "recovery of member1"
		}),
		"migrated": changed(plain, func(v *view.Migration) {
			v.Phase, v.Reason, v.Message = phase.MigrationDone, reason.PendingPurge, ""
			v.Result = &record.Result{Outcome: phase.OutcomeMigrated, Reason: reason.PendingPurge}
		}),
		"abandoned": changed(plain, func(v *view.Migration) {
			v.Phase, v.To, v.Reason, v.Message, v.Ordered = phase.MigrationDone, nil, reason.ClusterRecovered, "", "recovery of member1"
			v.Result = &record.Result{Outcome: phase.OutcomeAbandoned}
		}),
	}
}

func TestMigrationPages(t *testing.T) {
	goldenPages(t, rendered("migration-", migrationPages(), view.MigrationPage))
}

func pacerPages() map[string]view.Pacer {
	flowing := view.Pacer{
		Now: fixtures.At(600), Pace: pace.Judge(fixtures.Faulty(1, 6), limits), Config: limits, Assessed: fixtures.At(599),
		Out:      []pace.Granted{{Permits: pace.Permits{Number: 17, Size: 2, First: fixtures.At(600), Apart: 2 * time.Second, Window: time.Second}, Cluster: "member1", Used: 1}},
		Next:     fixtures.At(604),
		Requests: []view.RequestLine{{Cluster: "member1", Want: 12, Priority: 10}, {Cluster: "member4", Want: 3, Paused: true}},
		Granted:  18, Written: 15, Unused: 1,
	}
	return map[string]view.Pacer{
		"flowing": flowing,
		"idle":    changed(flowing, func(v *view.Pacer) { v.Out, v.Requests = nil, nil }),
		"done": changed(flowing, func(v *view.Pacer) {
			v.Out, v.Requests, v.Next = nil, []view.RequestLine{{Cluster: "member1"}}, fixtures.At(590)
		}),
		"all-paused": changed(flowing, func(v *view.Pacer) { v.Out, v.Requests = nil, v.Requests[1:] }),
		"waiting": changed(flowing, func(v *view.Pacer) {
			v.Out, v.Next, v.RateBy = nil, fixtures.At(601), "kim: slow down"
		}),
		"all-faulty": changed(flowing, func(v *view.Pacer) {
			v.Pace, v.Out = pace.Judge(fixtures.Faulty(6, 6), limits), nil
		}),
		"reduced": changed(flowing, func(v *view.Pacer) {
			v.Pace = pace.Judge(fixtures.Faulty(12, 20), limits)
		}),
		"halted": changed(flowing, func(v *view.Pacer) {
			v.Pace.Tier, v.Pace.Rate, v.Pace.Reason = pace.TierHalted, 0, reason.HaltedByOperator
			v.Out, v.HaltedBy, v.HaltedAt, v.Runbook = nil, "jane@example.org: what is going on?", fixtures.At(597), published
		}),
		"configured-zero": changed(flowing, func(v *view.Pacer) {
			v.Config.EvictionRate, v.Out = 0, nil
			v.Pace = pace.Judge(fixtures.Faulty(1, 6), v.Config)
		}),
		"state-lost": changed(flowing, func(v *view.Pacer) {
			v.Pace = pace.Pace{Tier: pace.TierHalted, Reason: reason.StateLost}
			v.Out, v.HaltedBy = nil, "lifeboat: the pacer's state was lost"
		}),
		"unlimited": changed(flowing, func(v *view.Pacer) {
			v.Config.Unlimited = true
			v.Pace = pace.Judge(fixtures.Faulty(1, 6), v.Config)
		}),
		"new": {Now: fixtures.T0, Config: limits},
		"uncounted": changed(flowing, func(v *view.Pacer) {
			v.Unknown = "count unhealthy applications: list bindings: Karmada cannot be reached"
		}),
	}
}

func TestPacerPages(t *testing.T) {
	goldenPages(t, rendered("pacer-", pacerPages(), view.PacerPage))
}

// crowd makes everything as many and as long as it can get.
func crowd(n int, word string) view.Failover {
	v := evacuating()
	v.Cluster, v.Why, v.PausedBy, v.StoppedBy = word, word, word, word
	v.Counts.Blocked, v.Counts.Moving, v.Counts.BlockedBy = n+100, n+100, map[reason.Reason]int{reason.NoTarget: n + 100}
	for i := range n {
		name := fmt.Sprint(word, i)
		v.Next = append(v.Next, view.Line{Binding: name, Reason: reason.Waiting, To: []string{word, word}})
		v.Blocked = append(v.Blocked, view.Line{Binding: name, Reason: reason.NoTarget, Message: word})
		v.Moving = append(v.Moving, view.Line{Binding: name, Message: word, To: []string{word}, At: fixtures.T0})
		v.Windows = append(v.Windows, view.WindowLine{Rule: name, Taint: word, Deadline: fixtures.T0})
		v.PendingPurge = append(v.PendingPurge, record.PendingPurge{Key: karmada.BindingKey{Namespace: word, Name: name}, Work: word})
	}
	return v
}

func TestAPageNeverOutgrowsItsBound(t *testing.T) {
	for _, n := range []int{0, 1, 30, 3000} {
		for _, word := range []string{"x", strings.Repeat("long", 300), strings.Repeat("…|*`_", 200)} {
			page := view.FailoverPage(crowd(n, word))
			require.LessOrEqual(t, len(page), view.MaxPage)
			require.True(t, utf8.ValidString(page), "cut at a rune's edge")
		}
	}
	page := view.FailoverPage(crowd(3000, "x"))
	fixtures.ContainsAll(t, page, "… and 3", "## Blocked: 3100")
}

func TestALongPageKeepsWhatMatters(t *testing.T) {
	page := view.FailoverPage(crowd(30, strings.Repeat("long", 300)))
	fixtures.ContainsAll(t, page, "**Reason:**", "**How far:**", "**Pace:**", "## What you can do")
}

// Text from objects neither breaks a table nor makes a heading.
func TestForeignTextIsNoMarkdown(t *testing.T) {
	v := evacuating()
	v.Counts.BlockedBy = map[reason.Reason]int{reason.Malformed: 1}
	v.Blocked = []view.Line{{Binding: "a`b|c", Reason: reason.Malformed, Message: "one|two\n# three\n**four**"}}
	page := view.FailoverPage(v)
	require.NotContains(t, page, "\n# three")
	require.NotContains(t, page, "**four**")
	for _, row := range strings.Split(page, "\n") {
		if strings.Contains(row, "three") {
			require.Equal(t, 4, strings.Count(strings.ReplaceAll(row, `\|`, ""), "|"), "three cells: %s", row)
		}
	}
}

// A backslash in foreign text does not remove the escape: otherwise a link in a reason would look like one of
// the page.
func TestForeignTextTakesNoEscapeAway(t *testing.T) {
	v := evacuating()
	v.Counts.BlockedBy = map[reason.Reason]int{reason.Malformed: 1}
	v.Blocked = []view.Line{{Binding: "shop/cart", Reason: reason.Malformed, Message: `\[all is well](https://evil.example) \*bold\* \|cell`}}
	page := view.FailoverPage(v)
	require.Contains(t, page, "all is well")
	for _, bare := range []string{`\[all`, `\*bold`, `\|cell`} {
		require.NotRegexp(t, `(^|[^\\])(\\\\)*`+bare, page, "an even number of backslashes escapes each other alone")
	}
}

func TestPagesSurviveAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.String().Draw(t, "word")
		v := crowd(rapid.IntRange(0, 3).Draw(t, "n"), word)
		v.Phase = phase.Failover(rapid.SampledFrom([]string{"", "Evacuating", "Recovered", word}).Draw(t, "phase"))
		m := moving()
		m.Binding, m.Message, m.Phase = word, word, phase.Migration(word)
		p := view.Pacer{HaltedBy: word, Requests: []view.RequestLine{{Cluster: word}}}
		for _, page := range []string{view.FailoverPage(v), view.MigrationPage(m), view.PacerPage(p)} {
			if len(page) > view.MaxPage || !strings.HasPrefix(page, "# ") {
				t.Fatalf("a page of %d bytes: %.80s", len(page), page)
			}
		}
	})
}

// Of several rules only those count whose window ends the phase.
//
// Rules: R4.1-16, R4.1-21, R4.1-46.
func TestFailoverPage_SeveralRules_NamesTheEndOfTheWindowThatCounts(t *testing.T) {
	window := func(rule string, effect corev1.TaintEffect, add, remove int) rules.Window {
		return rules.Window{Rule: rule, Last: rules.Matches, Matching: true, Since: fixtures.At(500), Taint: karmada.RuleTaint{
			Key: "acme.io/" + rule, Effect: effect, AddOnMatch: time.Duration(add) * time.Second, RemoveOnMismatch: time.Duration(remove) * time.Second,
		}}
	}
	well := func(w rules.Window, since int) rules.Window {
		w.Last, w.Matching, w.Since = rules.Mismatches, false, fixtures.At(since)
		return w
	}
	idle := func(w rules.Window) rules.Window {
		w.Last, w.Matching, w.Idle = rules.Neither, false, true
		return w
	}
	unknown := func(w rules.Window) rules.Window {
		w.Last = rules.Undecided
		return w
	}
	late, over := window("late", corev1.TaintEffectNoExecute, 150, 60), window("over", corev1.TaintEffectNoExecute, 90, 60)
	fast := window("fast", corev1.TaintEffectNoExecute, 300, 180)
	twin := well(fast, 590)
	twin.Rule = "twin"
	cordons, slow := window("cordon", corev1.TaintEffectNoSchedule, 30, 60), window("slow", corev1.TaintEffectNoExecute, 600, 900)
	never := well(slow, 0)
	soft := window("soft", karmada.EffectPreferNoExecute, 200, 100)
	at := func(seconds int) string { return view.Moment(fixtures.At(seconds), fixtures.At(600)) }
	for name, c := range map[string]struct {
		phase   phase.Failover
		windows []rules.Window
		stand   string
		fact    string
		says    string // none where it is empty
		only    rules.Mode
		// recorded are the rules of whose taint only the record is left; unreadable: the soft taints cannot be read.
		recorded   string
		unreadable bool
	}{
		"suspected: the first that moves bindings":     {phase: phase.FailoverSuspected, windows: []rules.Window{cordons, fast, slow}, fact: "Comes next", says: "failed at " + at(800)},
		"recovering: the last whose taint stands":      {phase: phase.FailoverRecovering, windows: []rules.Window{well(fast, 500), well(slow, 400), well(window("cordon", corev1.TaintEffectNoSchedule, 30, 3600), 590)}, stand: "fast slow cordon", fact: "Comes next", says: "then Lifeboat's taints go at " + at(1300)},
		"recovering: not one that never stood":         {phase: phase.FailoverRecovering, windows: []rules.Window{well(fast, 500), never}, stand: "fast", fact: "Comes next", says: "go at " + at(680)},
		"recovering: none while one does not run":      {phase: phase.FailoverRecovering, windows: []rules.Window{well(fast, 500), idle(slow)}, stand: "fast slow", fact: "Comes next"},
		"recovering: what never stood runs or not":     {phase: phase.FailoverRecovering, windows: []rules.Window{well(fast, 500), idle(slow)}, stand: "fast", fact: "Comes next", says: "go at " + at(680)},
		"suspected: not one that is unknown now":       {phase: phase.FailoverSuspected, windows: []rules.Window{unknown(over), slow}, fact: "Comes next", says: "failed at " + at(1100)},
		"suspected: none that is over and unknown":     {phase: phase.FailoverSuspected, windows: []rules.Window{unknown(over)}, fact: "Comes next"},
		"suspected: one that is unknown and not over":  {phase: phase.FailoverSuspected, windows: []rules.Window{unknown(late)}, fact: "Comes next", says: "failed at " + at(650)},
		"recovering: another rule confirms before":     {phase: phase.FailoverRecovering, windows: []rules.Window{well(slow, 500), late}, stand: "slow", fact: "Comes next", says: "failed at " + at(650)},
		"recovering: another rule is too late":         {phase: phase.FailoverRecovering, windows: []rules.Window{well(fast, 500), slow}, stand: "fast", fact: "Comes next", says: "go at " + at(680)},
		"recovering: none while it is unknown":         {phase: phase.FailoverRecovering, windows: []rules.Window{unknown(well(late, 500))}, stand: "late", fact: "Comes next"},
		"recovering: the end of another's taint":       {phase: phase.FailoverRecovering, windows: []rules.Window{well(fast, 500), twin}, stand: "fast", fact: "Comes next", says: "go at " + at(680), only: rules.ModeEnforce},
		"suspected: not one that cannot be written":    {phase: phase.FailoverSuspected, windows: []rules.Window{soft, slow}, unreadable: true, fact: "Comes next", says: "failed at " + at(1100)},
		"suspected: none that cannot be written":       {phase: phase.FailoverSuspected, windows: []rules.Window{soft}, unreadable: true, fact: "Comes next"},
		"suspected: a soft one that can be written":    {phase: phase.FailoverSuspected, windows: []rules.Window{soft}, fact: "Comes next", says: "failed at " + at(700)},
		"suspected: any other than a soft one":         {phase: phase.FailoverSuspected, windows: []rules.Window{slow}, unreadable: true, fact: "Comes next", says: "failed at " + at(1100)},
		"recovering: not one that was taken away":      {phase: phase.FailoverRecovering, windows: []rules.Window{well(fast, 500), well(slow, 400)}, stand: "fast", recorded: "slow", fact: "Comes next", says: "go at " + at(680), only: rules.ModeEnforce},
		"recovering: none while such a one is unknown": {phase: phase.FailoverRecovering, windows: []rules.Window{well(fast, 500), unknown(well(over, 500))}, stand: "fast", recorded: "over", fact: "Comes next", only: rules.ModeEnforce},
		"recovering: one that cannot be read":          {phase: phase.FailoverRecovering, windows: []rules.Window{well(fast, 500), well(soft, 590)}, stand: "fast", recorded: "soft", unreadable: true, fact: "Comes next", says: "go at " + at(690), only: rules.ModeEnforce},
		"cordoned: the last cordon that stands":        {phase: phase.FailoverCordoned, windows: []rules.Window{well(cordons, 590), never}, stand: "cordon", fact: "Comes next", says: "uncordoned at " + at(650)},
		"cordoned: its failure, where one runs":        {phase: phase.FailoverCordoned, windows: []rules.Window{well(cordons, 590), slow}, stand: "cordon", fact: "Comes next", says: "failed at " + at(1100)},
		"cordoned: none while its rule matches":        {phase: phase.FailoverCordoned, windows: []rules.Window{cordons, never}, stand: "cordon", fact: "Comes next"},
		"it ends with the longest of those":            {phase: phase.FailoverEvacuating, windows: []rules.Window{fast, never, window("cordon", corev1.TaintEffectNoSchedule, 0, 3600)}, stand: "fast cordon", fact: "Ends", says: "healthy for 3m"},
		"it ends with none that cannot be written":     {phase: phase.FailoverEvacuating, windows: []rules.Window{fast, window("soft", karmada.EffectPreferNoExecute, 0, 3600)}, stand: "fast", unreadable: true, fact: "Ends", says: "healthy for 3m"},
		"a taint that cannot be removed":               {phase: phase.FailoverEvacuating, windows: []rules.Window{well(soft, 100)}, stand: "soft", unreadable: true, fact: "Ends", says: "tainted until the cluster's soft taints can be read"},
		"it ends with one that is due and not there":   {phase: phase.FailoverConfirmed, windows: []rules.Window{window("fast", corev1.TaintEffectNoExecute, 0, 180)}, fact: "Ends", says: "healthy for 3m"},
	} {
		t.Run(name, func(t *testing.T) {
			windows := rules.Windows{}
			var added, recorded []karmada.AddedTaint
			var would []corev1.Taint
			for _, w := range c.windows {
				windows[w.Key()] = w
				if strings.Contains(c.recorded, w.Rule) {
					recorded = append(recorded, karmada.AddedTaint{Rule: w.Rule, Key: w.Taint.Key, Effect: w.Taint.Effect})
				}
				if strings.Contains(c.stand, w.Rule) {
					added = append(added, karmada.AddedTaint{Rule: w.Rule, Key: w.Taint.Key, Effect: w.Taint.Effect})
					would = append(would, corev1.Taint{Key: w.Taint.Key, Effect: w.Taint.Effect})
				}
			}
			enforce, observe := standing(windows, added), rules.Evidence{Windows: windows, Virtual: would, SoftUnreadable: c.unreadable}
			enforce.Added, enforce.SoftUnreadable = append(enforce.Added, recorded...), c.unreadable
			for mode, lines := range map[rules.Mode][]view.WindowLine{
				rules.ModeEnforce: view.WindowLines(enforce), rules.ModeObserve: view.WindowLines(observe),
			} {
				if c.only != "" && c.only != mode {
					continue // a taint that would stand is no rule's
				}
				v := view.Failover{Cluster: "m1", Now: fixtures.At(600), Mode: mode, Phase: c.phase, Reason: reason.ConditionsMatch, Windows: lines}
				page := view.FailoverPage(v)
				if c.says == "" {
					require.NotContains(t, page, "**"+c.fact+":**")
					continue
				}
				fixtures.ContainsAll(t, page, "**"+c.fact+":**", c.says)
			}
		})
	}
}

func TestActionsEndWithTheFailover(t *testing.T) {
	for _, p := range failoverPhases {
		require.Equal(t, p.Terminal(), len(view.Failover{Cluster: "m1", Phase: p}.Actions()) == 0, p)
	}
	require.Contains(t, view.Failover{Cluster: "m1", Phase: phase.FailoverEvacuating, PausedBy: "kim"}.Actions()[0], "lifeboat resume m1")
}

// Operators paste commands from a page into a shell: none has a redirection, and every order has a reason.
func TestEveryCommandOfAPageCanBeTyped(t *testing.T) {
	pages := rendered("failover-", failoverPages(), view.FailoverPage)
	maps.Copy(pages, rendered("migration-", migrationPages(), view.MigrationPage))
	maps.Copy(pages, rendered("pacer-", pacerPages(), view.PacerPage))
	maps.Copy(pages, rendered("application-", applicationPages(), view.ApplicationPage))
	command := regexp.MustCompile("`((?:lifeboat|karmadactl) [^`]*)`")
	seen := 0
	for name, page := range pages {
		for _, found := range command.FindAllStringSubmatch(page, -1) {
			seen++
			require.NotContains(t, found[1], "<", name)
			reads := regexp.MustCompile("^(lifeboat (explain|status)|karmadactl) ").MatchString(found[1])
			require.Equal(t, !reads, strings.Contains(found[1], ` --reason "…"`), "%s: %s", name, found[1])
		}
	}
	require.Greater(t, seen, 50)
}

// A migration whose old copy is being deleted needs no confirmation.
func TestWaitsForProof(t *testing.T) {
	require.True(t, view.WaitsForProof(phase.MigrationAwaitingFence, reason.None), "no reason yet")
	require.True(t, view.WaitsForProof(phase.MigrationAwaitingFence, reason.AwaitingFence))
	require.True(t, view.WaitsForProof(phase.MigrationAwaitingFence, reason.StateNeedsSource))
	require.False(t, view.WaitsForProof(phase.MigrationAwaitingFence, reason.OldCopyGoing))
	require.False(t, view.WaitsForProof(phase.MigrationAwaitingHealth, reason.AwaitingFence))
}

func TestAPageWithoutARunbookHasNoLinks(t *testing.T) {
	v := evacuating()
	require.Contains(t, view.FailoverPage(v), "[NotHealthy]("+published+"#nothealthy)")
	v.Runbook = ""
	require.NotContains(t, view.FailoverPage(v), "](")
}

// Confirmations come first, and wrong actions are not listed.
func TestActions_FollowTheReasonOfTheFailover(t *testing.T) {
	actions := func(v view.Failover) string {
		v.Cluster, v.Phase = "m1", phase.FailoverEvacuated
		return strings.Join(v.Actions(), "\n")
	}
	require.True(t, strings.HasPrefix(actions(view.Failover{Moving: []view.Line{{Binding: "shop/db", Phase: phase.MigrationAwaitingFence, Attention: reason.AwaitingFence}}, Counts: view.Counts{BlockedBy: map[reason.Reason]int{reason.AwaitingApproval: 1}}}), "`lifeboat confirm-fenced shop/db --cluster m1 "))
	require.NotContains(t, actions(view.Failover{}), "confirm-fenced")
	fenced := migrationPages()["awaiting-fence"]
	require.Contains(t, fenced.Vouch(), "--cluster")
	fenced.OfApplication = true
	require.NotContains(t, strings.Join(fenced.Actions(), ""), "--cluster")
	require.Contains(t, actions(view.Failover{}), "Repair the cluster")

	tainted := actions(view.Failover{Foreign: []string{"maintenance:NoExecute"}})
	require.Contains(t, tainted, "Another actor tainted it with maintenance:NoExecute")
	require.NotContains(t, tainted, "Repair the cluster", "it may be well")

	drained := actions(view.Failover{DrainedBy: "kim: cold", Reason: reason.Drained})
	require.True(t, strings.HasPrefix(drained, "`lifeboat drain m1 --end "))
	require.NotContains(t, drained, "Repair the cluster", "nothing is broken")
}

func TestForeignTaint_HeadlineNamesNoFailure(t *testing.T) {
	v := evacuating()
	v.Reason, v.Foreign = reason.ForeignTaint, []string{"maintenance:NoExecute"}
	page := view.FailoverPage(v)
	require.NotContains(t, strings.SplitN(page, "\n", 2)[0], "has failed")
	require.Contains(t, page, "when the taint is taken off")
}

func TestMigrationPage_RestoreUnanswered_AsksForSomething(t *testing.T) {
	page := view.MigrationPage(changed(migrationPages()["restoring"], func(v *view.Migration) {
		v.Reason, v.Message = reason.RestoreUnanswered, "the scheduler has seen generation 2, Lifeboat's eviction made 3"
		v.Attention = reason.RestoreUnanswered
	}))
	require.NotContains(t, page, "Nothing is needed of you")
	require.Contains(t, page, "karmada-scheduler")
	require.Contains(t, view.MigrationPage(migrationPages()["restoring"]), "Nothing is needed of you")
}

// Rules: R4.9-59.
func TestEachKindOfTaintHasItsOrderThatEndsIt(t *testing.T) {
	for rule, verb := range map[string]string{"not-ready": "cancel m1", karmada.DrainRule: "drain m1 --end", karmada.TaintRule: "taint m1 --end"} {
		require.Equal(t, "lifeboat "+verb+` --reason "…"`, view.EndsTaint(rule, "m1"))
	}
}

func TestPlain_TakesTheMarksAwayAndNothingElse(t *testing.T) {
	for marked, plain := range map[string]string{
		"**⏸ Paused** by kim, see *Moving*":                       "⏸ Paused by kim, see Moving",
		"**[NoTarget](https://example.org/a#b)**: bring one back": "NoTarget: bring one back",
		"`lifeboat pause m1 --reason \"…\"`: `a*b_c`":             "lifeboat pause m1 --reason \"…\": a*b_c",
		`1 \* 2 \\ 3 &lt; 4 \[x\](y)`:                             `1 * 2 \ 3 < 4 [x](y)`,
		"":                                                        "",
		`\`:                                                       `\`,
	} {
		require.Equal(t, plain, view.Plain(marked))
	}
}

func TestPlain_OfForeignText_IsThatText(t *testing.T) {
	const said = `a\*b_c[d](e) <f> #g *h* 1|2`
	v := evacuating()
	v.Blocked = []view.Line{{Binding: "shop/cart", Reason: reason.NoTarget, Message: said}}
	for _, s := range v.Doc(10).Sections {
		if s.Heading == "Blocked: 2" {
			require.Equal(t, "NoTarget: "+said, view.Plain(s.Rows[0][2]))
			return
		}
	}
	require.Fail(t, "no table of what is blocked")
}

var (
	failedTaint = karmada.RuleTaint{
		Key: "acme.io/failed", Effect: corev1.TaintEffectNoExecute, AddOnMatch: 300 * time.Second, RemoveOnMismatch: 180 * time.Second,
	}
	windowKey      = rules.RuleObservation{Rule: "unready", Taint: failedTaint}.Key()
	limits         = pace.Config{EvictionRate: 0.5, UnhealthyThreshold: 0.55, SecondaryRate: 0.1, LargeFleet: 10, UnlimitedChunk: 50}
	failoverPhases = []phase.Failover{
		phase.FailoverSuspected, phase.FailoverCordoned, phase.FailoverUncordoned, phase.FailoverConfirmed,
		phase.FailoverEvacuating, phase.FailoverEvacuated, phase.FailoverRecovering, phase.FailoverSettling,
		phase.FailoverStopped, phase.FailoverFalseAlarm, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone,
	}
)

// bases have golden files of whole pages. The golden file of another page has only the lines that differ from
// the base of its kind: "-" is a line of the base, "+" a line of the page.
var bases = []string{"failover-evacuating", "failover-suspected", "application-unhealthy", "migration-awaiting-health", "pacer-flowing"}

func baseOf(name string) string {
	kind, _, _ := strings.Cut(name, "-")
	return bases[slices.IndexFunc(bases, func(base string) bool {
		return strings.HasPrefix(name, base) || base != bases[0] && strings.HasPrefix(base, kind)
	})]
}

// goldenPages compares each page with its golden file, or with the differences from its base.
func goldenPages(t *testing.T, pages map[string]string) {
	t.Helper()
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			if base := baseOf(name); base != name {
				fixtures.Golden(t, "testdata/pages/"+name+".diff", differences(pages[base], page))
				return
			}
			fixtures.Golden(t, "testdata/pages/"+name+".page", page)
		})
	}
}

// rendered are the pages of some views, by name.
func rendered[V any](prefix string, views map[string]V, page func(V) string) map[string]string {
	out := map[string]string{}
	for name, view := range views {
		out[prefix+name] = page(view)
	}
	return out
}

// differences lists the lines that only one of two texts has, in order. Common lines are
// those of their longest common subsequence.
func differences(from, to string) string {
	a, b := strings.Split(from, "\n"), strings.Split(to, "\n")
	common := make([][]int, len(a)+1) // of a[i:] and b[j:]
	common[len(a)] = make([]int, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		common[i] = make([]int, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out.WriteString("-" + a[i] + "\n")
			i++
		default:
			out.WriteString("+" + b[j] + "\n")
			j++
		}
	}
	return out.String()
}
