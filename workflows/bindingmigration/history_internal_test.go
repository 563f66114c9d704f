package bindingmigration

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// histories is how many random histories are drawn; maxLooks after how many looks each binding is
// deleted, so that each history ends.
const (
	histories = 300
	maxLooks  = 25
	// usedAnOldLook is the seed of a history in which the look that found a Directly binding placed
	// proved its health minutes later.
	usedAnOldLook = 3583
)

var historyBegins = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

// Whatever happens to a migration, in whatever order: its arrows are a path of the table, what it
// publishes is the phase that it is in, and what an arrow says has happened before it.
//
// Rules: R4.7-60.
func TestMigration_OfAnyHistory_SendsNoArrowForWhatDidNotHappen(t *testing.T) {
	seen := map[phase.MigrationEvent]int{}
	for seed := range uint64(histories + 1) {
		if seed == histories {
			seed = usedAnOldLook
		}
		h := &random{t: t, Rand: rand.New(rand.NewPCG(seed, 7)), phase: phase.MigrationChecking, left: maxLooks} //nolint:gosec // a test draws
		h.start = h.begin()
		h.run()
		for at, e := range h.entries {
			if e.arrow == "" {
				continue
			}
			seen[e.arrow]++
			fact, known := facts[e.arrow]
			require.True(t, known, "no fact is known of %s", e.arrow)
			require.True(t, fact(h.until(at)), "seed %d: %s from %s without its fact, after:\n%s", seed, e.arrow, e.from, h.story(at))
		}
		require.Equal(t, phase.MigrationDone, h.phase, "seed %d", seed)
	}
	for e := range facts {
		require.Positive(t, seen[e], "no history of %d has %s", histories, e)
	}
}

// random is one history of one migration, drawn while it runs.
type random struct {
	*rand.Rand
	t       *testing.T
	start   workflows.MigrationState
	phase   phase.Migration
	left    int
	version int
	entries []entry
}

// entry is one thing that happened: an arrow, a message, or an activity, scheduled or answered.
type entry struct {
	at     time.Time
	arrow  phase.MigrationEvent
	from   phase.Migration
	told   string
	sent   string // an activity that was scheduled
	act    string // one that was answered, with its answer
	answer any
}

func (h *random) story(until int) (out string) {
	out = fmt.Sprintf("started with %+v\n", h.start)
	for _, e := range h.entries[:until] {
		out += fmt.Sprintf("%s %s%s%s%s %.300s\n", e.at.Format(time.TimeOnly), e.arrow, e.told, e.sent, e.act, fmt.Sprintf("%+v", e.answer))
	}
	return out
}

func (h *random) now(ctx workflow.Context, e entry) {
	e.at = workflow.Now(ctx)
	h.entries = append(h.entries, e)
}

// in tells, n times of a hundred, yes.
func (h *random) in(n int) bool { return h.IntN(100) < n }

func one[T any](h *random, of ...T) T { return of[h.IntN(len(of))] }

// begin draws how the migration is started.
func (h *random) begin() workflows.MigrationState {
	st := workflows.MigrationState{
		Ref: activities.MigrationRef{
			Cluster: "m1", Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}, UID: "u", Mode: rules.ModeEnforce,
			Purge: one(h, karmada.PurgeGracefully, karmada.PurgeGracefully, karmada.PurgeDirectly, karmada.PurgeNever),
		},
		Parent: "cluster-failover/m1", FailoverID: "e", Attempt: 2,
		Terms: activities.Terms{
			Mode: rules.ModeEnforce, Audit: true, MinHealthy: 30 * time.Second, Detection: 90 * time.Second, HealthPoll: 10 * time.Second, Recheck: 10 * time.Second,
			RestoreWait: 30 * time.Second, GracefulTimeout: 45 * time.Second, ReleaseUnproven: h.in(50), Watched: h.in(50), Probe: h.in(50),
		},
	}
	switch {
	case h.in(20):
		st.Start, st.Ref.Named = workflows.StartAdopt, h.in(20)
	case st.Ref.Purge == karmada.PurgeDirectly && h.in(40):
		st.Start = workflows.StartAwaitFence
	case h.in(20):
		st.Start = workflows.StartHold
	default:
		st.Permit = h.permit(historyBegins)
	}
	if h.in(20) {
		st.Ref.State = map[string]string{"app": "cart"}
	}
	return st
}

func (h *random) permit(now time.Time) pace.Permit {
	return pace.Permit{Number: 1, Earliest: now, Latest: now.Add(time.Second)}
}

func (h *random) run() {
	env := flowtest.Watched(arrows{slog.DiscardHandler, h})
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute, Interceptors: []interceptor.WorkerInterceptor{&drawing{h: h}}})
	env.SetStartWorkflowOptions(sdk.StartWorkflowOptions{ID: workflows.BindingMigrationID("", "m1", h.start.Ref.Key)})
	env.SetStartTime(historyBegins)
	for at := time.Duration(0); at < 4*time.Minute; at += time.Duration(1+h.IntN(60_000)) * time.Millisecond {
		if name, arg := h.message(historyBegins.Add(at)); name != "" {
			env.RegisterDelayedCallback(func() { env.SignalWorkflow(name, arg) }, at)
		}
	}
	env.ExecuteWorkflow(Workflow, workflows.BindingMigrationParams{State: h.start})
	require.True(h.t, env.IsWorkflowCompleted(), h.story(len(h.entries)))
	require.NoError(h.t, env.GetWorkflowError())
}

// message draws what somebody tells it.
func (h *random) message(at time.Time) (name string, arg any) {
	who := workflows.Order{Who: "jane", Reason: "a drill"}
	switch n := h.IntN(20); {
	case n < 8:
		h.version++
		f := proof.BindingFact{Key: h.start.Ref.Key, UID: "u", ResourceVersion: fmt.Sprint(100 + h.version)}
		o := h.observation()
		if f.Verdict = (&proof.HoldVerdict{Placed: o.Placed, Health: o.Health, On: o.On, SourceReady: o.SourceReady}); n < 2 {
			f.Verdict = nil
		}
		return workflows.SignalBindingObserved, f
	case n < 10:
		r := workflows.Recover{Attempt: 2 + h.IntN(2)}
		if h.in(30) {
			r.Cancelled, r.PutBack = &who, h.in(50)
		}
		return workflows.SignalRecover, r
	case n < 13:
		verb := one(h, workflows.UpdateCancel, workflows.UpdatePutBack, workflows.UpdateRelease, workflows.UpdatePause, workflows.UpdateResume)
		return workflows.SignalMigrationOrder, workflows.MigrationOrder{CancelOrder: workflows.CancelOrder{Order: who, PutBack: h.in(30)}, Verb: verb}
	case n < 14:
		return workflows.SignalFenced, workflows.Fenced{Fence: proof.Fence{By: proof.FenceByOperator, Who: "jane", At: at}}
	case n < 17:
		return workflows.SignalPermit, h.permit(at)
	default:
		return "", nil
	}
}

func (h *random) verdict(ok bool) reason.Verdict {
	if ok {
		return reason.Verdict{OK: true}
	}
	return reason.Verdict{Reason: reason.NotPlaced, Message: "not yet"}
}

// observation draws a look; most of them are of a binding that is held.
func (h *random) observation() activities.Observation {
	h.version++
	o := activities.Observation{
		Seen: fmt.Sprint(100 + h.version), UID: "u", Gone: h.in(1), Held: h.in(92), Banned: h.in(30), Targeted: h.in(25), Purge: h.start.Ref.Purge, State: h.start.Ref.State,
		Preserved: h.in(3), StateWaived: h.in(20), Placed: h.verdict(h.in(80)), Health: h.verdict(h.in(85)), Observed: h.in(80), LastCopy: h.in(30),
		SourceGone: h.in(3), SourceReady: h.in(40), FenceStands: h.in(20), StraightBack: h.in(30), Outage: "Unknown@1",
	}
	if h.in(2) {
		o.TaskNote = "LifeboatNeedsOperator"
	}
	if h.in(3) {
		o.Purge = one(h, karmada.PurgeGracefully, karmada.PurgeDirectly, karmada.PurgeNever)
	}
	if o.Placed.OK {
		o.Targets, o.On = []string{"m2"}, []karmada.TargetCluster{{Name: "m2", Replicas: 2}}
	} else {
		o.Reschedule = h.in(10)
	}
	if h.in(70) {
		o.OldWork = &karmada.Work{Namespace: "karmada-es-m1", Name: "cart", UID: "w"}
	}
	return o
}

// answerOf draws what an activity answers; nil is an error.
func (h *random) answerOf(name string) any {
	if h.in(4) && h.left > 0 {
		return nil
	}
	switch name {
	case activities.NameObserve:
		o := h.observation()
		if h.left--; h.left <= 0 {
			o.Gone = true
		}
		return o
	case activities.NameEvict:
		return h.evicted()
	case activities.NameHoldDependents:
		return activities.DependentsResult{Reason: one(h, reason.None, reason.None, reason.None, reason.Conflict)}
	case activities.NameDropDependents:
		return activities.DependentsResult{}
	case activities.NameObserveWork:
		return activities.WorkState{Gone: h.in(50), Away: h.in(10), Superseded: h.in(10), Orphaned: h.in(10)}
	case activities.NameEvictAgain:
		out := h.acted()
		if out.Reason == reason.NotHealthy {
			out.Reason = reason.Healed
		}
		return out
	default:
		return h.acted()
	}
}

// evicted draws the end of an eviction.
func (h *random) evicted() activities.EvictResult {
	ends := []activities.EvictEnd{
		activities.EvictRefused, activities.EvictNotAffected, activities.EvictElsewhere, activities.EvictOptedOut, activities.EvictGone,
		activities.EvictClusterGone, activities.EvictUnknown, activities.EvictUnknown, activities.EvictUnknown,
	}
	end, why := activities.EvictWritten, reason.NoTarget
	if h.in(40) {
		end = one(h, ends...)
	}
	if end == activities.EvictRefused {
		why = one(h, reason.NoTarget, reason.PermitPassed)
	}
	o := h.observation()
	return activities.EvictResult{End: end, Reason: why, Seen: o.Seen, OldWork: o.OldWork}
}

// acted draws the end of a release, a restore, a hold or a mark.
func (h *random) acted() activities.ActResult {
	out := activities.ActResult{Look: h.observation(), End: one(h, activities.ActDone, activities.ActDone, activities.ActDone, activities.ActAlready, activities.ActRefused, activities.ActRefused)}
	if h.in(3) || h.left <= 0 {
		out.End = activities.ActGone
	}
	if out.End == activities.ActRefused {
		out.Reason = one(h, reason.Placed, reason.ForeignTask, reason.ConditionsMatch, reason.PutBackRefused, reason.RestoreUndone, reason.ClusterGone, reason.KarmadaStale, reason.NotHealthy)
		out.Look.SourceGone = out.Reason == reason.ClusterGone
		out.Look.Placed.OK = out.Look.Placed.OK || out.Reason == reason.Placed
	}
	return out
}

// arrows takes the arrows from the workflow's log.
type arrows struct {
	slog.Handler
	h *random
}

func (a arrows) Enabled(context.Context, slog.Level) bool { return true }
func (a arrows) WithAttrs([]slog.Attr) slog.Handler       { return a }

func (a arrows) Handle(_ context.Context, r slog.Record) error {
	require.NotEqual(a.h.t, "refused a transition", r.Message, a.h.story(len(a.h.entries)))
	if r.Message != "phase changed" {
		return nil
	}
	of := map[string]string{}
	r.Attrs(func(at slog.Attr) bool { of[at.Key] = at.Value.String(); return true })
	e := entry{arrow: phase.MigrationEvent(of["event"]), from: a.h.phase}
	require.Equal(a.h.t, string(a.h.phase), of["from"])
	next, err := phase.NextMigration(a.h.phase, e.arrow)
	require.NoError(a.h.t, err)
	require.Equal(a.h.t, string(next), of["to"])
	a.h.entries, a.h.phase = append(a.h.entries, e), next
	return nil
}

// drawing stands between the migration and everything else.
type drawing struct {
	interceptor.WorkerInterceptorBase
	h *random
}

func (d *drawing) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &drawnIn{WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next}, h: d.h}
}

type drawnIn struct {
	interceptor.WorkflowInboundInterceptorBase
	h *random
}

func (d *drawnIn) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return d.Next.Init(&drawnOut{WorkflowOutboundInterceptorBase: interceptor.WorkflowOutboundInterceptorBase{Next: out}, h: d.h})
}

func (d *drawnIn) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	d.h.now(ctx, told(d.h, in))
	return d.Next.HandleSignal(ctx, in)
}

type drawnOut struct {
	interceptor.WorkflowOutboundInterceptorBase
	h *random
}

func (d *drawnOut) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	return d.ExecuteActivity(ctx, name, args...)
}

func (d *drawnOut) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if reported, is := flowtest.Reported(ctx, name, args, d.SignalExternalWorkflow); is {
		return reported
	}
	d.h.now(ctx, entry{sent: name})
	answered, settle := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = workflow.Sleep(ctx, time.Duration(d.h.IntN(3000))*time.Millisecond)
		answer := d.h.answerOf(name)
		d.h.now(ctx, entry{act: name, answer: answer})
		if answer == nil {
			settle.SetError(temporal.NewApplicationError("no answer", activities.ErrorForbidden))
			return
		}
		settle.SetValue(answer)
	})
	return answered
}

func (d *drawnOut) SignalExternalWorkflow(ctx workflow.Context, _, _, name string, arg any) workflow.Future {
	if m, is := arg.(workflows.MigrationReports); is {
		require.Equal(d.h.t, d.h.phase, m.Reports[0].Phase, "it reports a phase that it is not in")
	}
	answered, settle := workflow.NewFuture(ctx)
	if d.h.in(3) {
		d.h.now(ctx, entry{act: "unheard"})
		settle.SetError(temporal.NewApplicationError("it does not run", name))
	} else {
		settle.SetValue(nil)
	}
	return answered
}

func (d *drawnOut) UpsertTypedSearchAttributes(_ workflow.Context, with ...temporal.SearchAttributeUpdate) error {
	if shown, is := temporal.NewSearchAttributes(with...).GetKeyword(workflows.SearchPhase); is && d.h.phase != phase.MigrationDone {
		require.Equal(d.h.t, string(d.h.phase), shown, "it publishes a phase that it is not in")
	}
	return nil
}

// told is a message as an entry: an order by its verb, a verdict by its fact.
func told(h *random, in *interceptor.HandleSignalInput) entry {
	read := func(into any) {
		if err := converter.GetDefaultDataConverter().FromPayloads(in.Arg, into); err != nil {
			h.t.Error(err)
		}
	}
	e := entry{told: in.SignalName}
	switch in.SignalName {
	case workflows.SignalMigrationOrder:
		var o workflows.MigrationOrder
		read(&o)
		e.told = o.Verb
	case workflows.SignalRecover:
		var r workflows.Recover
		if read(&r); r.Cancelled != nil {
			e.told = workflows.UpdateCancel
		}
		e.answer = r
	case workflows.SignalBindingObserved:
		var f proof.BindingFact
		if read(&f); f.Verdict != nil {
			e.answer = activities.Observation{Held: true, Placed: f.Verdict.Placed, Health: f.Verdict.Health, SourceReady: f.Verdict.SourceReady}
		}
	}
	return e
}

// past is a history up to an arrow: what came since the last one, with what that one went by, is recent.
type past struct {
	*random
	all, recent []entry
	next        []entry
	now         time.Time
}

func (h *random) until(at int) past {
	p := past{random: h, all: h.entries[:at], next: h.entries[at+1:]}
	from := 0
	for n, e := range p.all {
		if e.arrow != "" {
			from = max(0, n-1) // and the answer that it went by
		}
	}
	if next := slices.IndexFunc(p.next, func(e entry) bool { return e.sent != "" }); next >= 0 {
		p.now = p.next[next].at // an arrow takes no time
	}
	p.recent = p.all[from:]
	return p
}

// look reports whether a recent look, verdict, or look of an act was so.
func (p past) look(so func(activities.Observation) bool) bool {
	return slices.ContainsFunc(p.recent, func(e entry) bool {
		o, is := lookOf(e)
		return is && so(o)
	})
}

func lookOf(e entry) (activities.Observation, bool) {
	switch answer := e.answer.(type) {
	case activities.Observation:
		return answer, true
	case activities.ActResult:
		return answer.Look, true
	default:
		return activities.Observation{}, false
	}
}

// acted reports whether an activity has recently ended so.
func (p past) acted(name string, ends ...activities.ActEnd) bool {
	return slices.ContainsFunc(p.recent, func(e entry) bool {
		out, is := e.answer.(activities.ActResult)
		return is && e.act == name && slices.Contains(ends, out.End)
	})
}

func (p past) evicted(ends ...activities.EvictEnd) bool {
	return slices.ContainsFunc(p.recent, func(e entry) bool {
		out, is := e.answer.(activities.EvictResult)
		return is && slices.Contains(ends, out.End)
	})
}

// told reports whether one of these was ever told.
func (p past) told(names ...string) bool {
	return slices.ContainsFunc(p.all, func(e entry) bool { return slices.Contains(names, e.told) })
}

func (p past) ordered() bool {
	return p.told(workflows.UpdateCancel, workflows.SignalRecover)
}

func (p past) wasSent(name string) bool {
	return slices.ContainsFunc(p.all, func(e entry) bool { return e.sent == name })
}

// healthyFor is for how long no look has found it unhealthy, since the first that found it healthy.
func (p past) healthyFor() time.Duration {
	var since time.Time
	for _, e := range p.all {
		o, is := lookOf(e)
		switch {
		case !is:
		case !o.Health.OK && e.act == activities.NameObserve:
			since = time.Time{}
		case o.Health.OK && since.IsZero():
			since = e.at
		}
	}
	if since.IsZero() {
		return -1
	}
	return p.now.Sub(since)
}

// written is for how long the task is known to stand.
func (p past) written() time.Duration {
	for n, e := range p.all {
		if e.arrow == phase.EventWriteStands || e.arrow == phase.EventAdopted {
			return p.now.Sub(p.all[n-1].at)
		}
	}
	return -1
}

func (p past) directly() bool {
	return p.start.Ref.Purge == karmada.PurgeDirectly || p.look(func(o activities.Observation) bool { return o.Purge == karmada.PurgeDirectly })
}

func gone(o activities.Observation) bool       { return o.Gone }
func held(o activities.Observation) bool       { return o.Held }
func placed(o activities.Observation) bool     { return o.Placed.OK }
func unplaced(o activities.Observation) bool   { return !o.Placed.OK }
func sourceGone(o activities.Observation) bool { return o.SourceGone }

// facts are what each event says has happened.
var facts = map[phase.MigrationEvent]func(past) bool{
	phase.EventDependentsHeld: func(p past) bool {
		return slices.ContainsFunc(p.recent, func(e entry) bool {
			out, is := e.answer.(activities.DependentsResult)
			return is && out.Reason == reason.None
		})
	},
	phase.EventWriteSent: func(p past) bool {
		next := slices.IndexFunc(p.next, func(e entry) bool { return e.sent != "" })
		return next >= 0 && p.next[next].sent == activities.NameEvict
	},
	phase.EventPermitPassed: func(p past) bool { return p.evicted(activities.EvictRefused) },
	phase.EventWriteStands:  func(p past) bool { return p.evicted(activities.EvictWritten) || p.look(held) },
	phase.EventAdopted:      func(p past) bool { return !p.wasSent(activities.NameEvict) && p.look(held) },
	phase.EventFenceAsked: func(p past) bool {
		return p.directly() && (p.start.Start == workflows.StartAwaitFence || p.look(placed) || p.ordered() || p.told(workflows.UpdatePutBack) || p.acted(activities.NameRelease, activities.ActRefused))
	},
	phase.EventFenced: func(p past) bool {
		return p.look(func(o activities.Observation) bool { return o.OldWork == nil || o.FenceStands })
	},
	phase.EventOldCopyGone:   func(p past) bool { return p.look(func(o activities.Observation) bool { return o.OldWork == nil }) },
	phase.EventPlaced:        func(p past) bool { return p.look(placed) },
	phase.EventUnplaced:      func(p past) bool { return p.look(unplaced) },
	phase.EventProvenHealthy: func(p past) bool { return p.healthyFor() >= p.start.Terms.MinHealthy },
	phase.EventGracefulTimeout: func(p past) bool {
		return p.start.Terms.ReleaseUnproven && p.written() > p.start.Terms.GracefulTimeout
	},
	phase.EventReleaseOrdered: func(p past) bool { return p.told(workflows.UpdateRelease) },
	phase.EventSourceGone:     func(p past) bool { return p.look(sourceGone) },
	phase.EventReleaseRefused: func(p past) bool { return p.acted(activities.NameRelease, activities.ActRefused) },
	phase.EventReleased: func(p past) bool {
		return p.acted(activities.NameRelease, activities.ActDone, activities.ActAlready)
	},
	phase.EventCalledOff: func(p past) bool {
		return p.told(workflows.UpdateCancel, workflows.UpdatePutBack, workflows.UpdateRelease)
	},
	phase.EventRecovered: func(p past) bool {
		back := func(o activities.Observation) bool { return o.StraightBack || !o.Placed.OK }
		stayed := func(e entry) bool {
			out, is := e.answer.(activities.ActResult)
			return is && e.act == activities.NameRelease && out.Reason == reason.ClusterRecovered
		}
		return p.told(workflows.SignalRecover, workflows.UpdateCancel) && (p.look(back) || slices.ContainsFunc(p.recent, stayed))
	},
	phase.EventRestoreOrdered: func(p past) bool { return p.told(workflows.UpdateCancel, workflows.UpdatePutBack) },
	phase.EventReturned: func(p past) bool {
		back := func(o activities.Observation) bool { return !o.Held && o.Targeted }
		healed := func(e entry) bool {
			out, is := e.answer.(activities.ActResult)
			return is && e.act == activities.NameEvictAgain && out.End == activities.ActRefused && out.Reason == reason.Healed
		}
		return p.look(back) || slices.ContainsFunc(p.recent, healed)
	},
	phase.EventRestoreRefused: func(p past) bool { return p.acted(activities.NameRestore, activities.ActRefused) },
	phase.EventTaskDropped:    func(p past) bool { return p.look(func(o activities.Observation) bool { return !o.Held }) },

	phase.EventOf(phase.OutcomeGone): func(p past) bool {
		orphaned := func(e entry) bool { w, is := e.answer.(activities.WorkState); return is && w.Orphaned }
		return p.look(gone) || p.evicted(activities.EvictGone) || slices.ContainsFunc(p.recent, orphaned) ||
			p.acted(activities.NameRelease, activities.ActGone) || p.acted(activities.NameRestore, activities.ActGone) || p.acted(activities.NameMarkTask, activities.ActGone)
	},
	phase.EventOf(phase.OutcomeBlocked): func(p past) bool {
		refused := p.evicted(activities.EvictRefused, activities.EvictNotAffected, activities.EvictClusterGone)
		failed := func(e entry) bool { return e.act == activities.NameHoldDependents || e.act == "unheard" }
		stays := func(o activities.Observation) bool { return o.SourceGone || !o.Held && o.Targeted }
		return !p.ordered() && (refused || p.look(stays) || slices.ContainsFunc(p.recent, failed))
	},
	phase.EventOf(phase.OutcomeAbandoned): func(p past) bool {
		return (p.ordered() || p.told(workflows.UpdatePutBack)) && !p.evicted(activities.EvictWritten)
	},
	phase.EventOf(phase.OutcomeMovedByOthers): func(p past) bool {
		elsewhere := func(o activities.Observation) bool { return !o.Held && !o.Targeted }
		return p.evicted(activities.EvictElsewhere) || p.look(elsewhere)
	},
	phase.EventOf(phase.OutcomeSkipped): func(p past) bool { return p.evicted(activities.EvictOptedOut) },
	phase.EventOf(phase.OutcomeNeedsOperator): func(p past) bool {
		noted := func(o activities.Observation) bool { return o.TaskNote != "" }
		return p.start.Ref.Named || p.look(noted) || p.wasSent(activities.NameMarkTask) || p.acted(activities.NameRestore, activities.ActRefused)
	},
	phase.EventOf(phase.OutcomeKept):     func(p past) bool { return p.wasSent(activities.NameMarkTask) },
	phase.EventOf(phase.OutcomeMigrated): func(p past) bool { return p.wasSent(activities.NameRelease) },
	phase.EventOf(phase.OutcomeRestored): func(p past) bool {
		return p.look(func(o activities.Observation) bool { return o.Targeted && o.Observed && !o.Held })
	},
}
