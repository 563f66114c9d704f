package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
)

// Activities look at Karmada and act on it. All dependencies are ports.
type Activities struct {
	Reader     Reader
	Recent     FleetReader  // shared lists of clusters and rules; nil: Reader's
	Cached     BindingCache // every binding as last seen; nil: they are listed
	Writer     Writer
	Events     EventRecorder
	Owners     Owners
	Migrations Migrations // nil: none can be queried, as in a plan without Temporal
	Launcher   Launcher   // nil: none is started, as in a plan
	// Applications: nil: no earlier failover of an application is known, as in a plan.
	Applications Applications
	Pacer        Pacer
	Failovers    Failovers
	Prober       Prober // nil: no probes
	// Controller is the leader Lease of the controller itself; nil: migrations look more often.
	Controller ManagerReader
	Manager    ManagerReader // nil: health has to outlast detection before each release
	Audit      AuditSink     // nil: no audit trail
	// SecondEvictor is what speaks for another evictor on this Karmada, empty when nothing
	// does. While something does, nothing new begins. Nil: not looked for.
	SecondEvictor func() string
	Clock         Monotonic
	Meter         Meter
	Log           *slog.Logger
	Settings      Settings
}

// Names under which the activities are registered. They live in histories: never rename one.
const (
	NameBeginFailover  = "BeginFailover"
	NameAssessCluster  = "AssessCluster"
	NameWriteTaints    = "WriteTaints"
	NameListTargeting  = "ListTargeting"
	NameAssessPolicies = "AssessPolicies"
	NamePreCheck       = "PreCheck"
	NameEvict          = "Evict"
	NameEvictAgain     = "EvictAgain"
	NameObserve        = "Observe"
	NameRelease        = "Release"
	NameObserveWork    = "ObserveWork"
	NameRestore        = "Restore"
	NameHoldAgain      = "HoldAgain"
	NameMarkTask       = "MarkTask"
	NameFindOrphans    = "FindOrphans"
	NameAssessFleet    = "AssessFleet"
	NameRecallPacer    = "RecallPacer"

	NameAssessApplication = "AssessApplication"
)

// Register registers every activity under its own name.
func (a *Activities) Register(r worker.ActivityRegistry) {
	for name, fn := range a.ByName() {
		r.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
}

// ByName has every activity under the name that histories know.
func (a *Activities) ByName() map[string]any {
	return map[string]any{
		NameBeginFailover:     a.BeginFailover,
		NameAssessCluster:     on(a.clusterAssessor, clusterAssessor.AssessCluster),
		NameWriteTaints:       on(a.tainter, tainter.WriteTaints),
		NameListTargeting:     on(a.affectedLister, affectedLister.ListTargeting),
		NameAssessPolicies:    on(a.affectedLister, affectedLister.AssessPolicies),
		NamePreCheck:          on(a.preChecker, preChecker.PreCheck),
		NameEvict:             on(a.evictor, evictor.Evict),
		NameEvictAgain:        on(a.evictor, evictor.EvictAgain),
		NameObserve:           on(a.observer, observer.Observe),
		NameRelease:           on(a.releaser, releaser.Release),
		NameObserveWork:       on(a.leftovers, leftovers.ObserveWork),
		NameEndOldCopies:      on(a.leftovers, leftovers.EndOldCopies),
		NameRestore:           on(a.restorer, restorer.Restore),
		NameHoldAgain:         on(a.actor, actor.HoldAgain),
		NameMarkTask:          on(a.actor, actor.MarkTask),
		NameFindOrphans:       on(a.orphanFinder, orphanFinder.FindOrphans),
		NameAssessFleet:       on(a.fleetAssessor, fleetAssessor.AssessFleet),
		NameRecallPacer:       on(a.fleetAssessor, fleetAssessor.RecallPacer),
		NameAssessApplication: on(a.applicationAssessor, applicationAssessor.AssessApplication),
		NameHoldDependents:    on(a.dependents, dependents.HoldDependents),
		NameDropDependents:    on(a.dependents, dependents.DropDependents),
		NameDropHolder:        on(a.dependents, dependents.DropHolder),
		NameLiftBans:          on(a.leftovers, leftovers.LiftBans),
		NameRecordAudit:       a.RecordAudit,
		NameReportMigration:   a.ReportMigration,
		NameStartMigrations:   a.StartMigrations,
	}
}

// forbiddenRetry is how long a call that lacks a permission waits before it is
// tried again: an operator has to grant it first.
const forbiddenRetry = 30 * time.Second

// Types of the application errors that activities return.
const (
	ErrorForbidden   = "Forbidden"
	ErrorThrottled   = "Throttled"
	ErrorInvalid     = "Invalid"
	ErrorGone        = "Gone"
	ErrorConflict    = "Conflict"
	ErrorUnreachable = "Unreachable"
)

// failure is what follows from an adapter's error. After each of those that are listed the write
// certainly does not stand.
type failure struct {
	is     error
	kind   string
	reason reason.Reason // on the binding
	retry  temporal.ApplicationErrorOptions
}

var failures = []failure{
	{is: karmada.ErrThrottled, kind: ErrorThrottled, reason: reason.Unreachable},
	{is: karmada.ErrForbidden, kind: ErrorForbidden, reason: reason.Forbidden, retry: temporal.ApplicationErrorOptions{NextRetryDelay: forbiddenRetry}},
	{is: karmada.ErrRefused, kind: ErrorForbidden, reason: reason.Forbidden}, // a webhook may be back soon: no long wait
	{is: karmada.ErrInvalid, kind: ErrorInvalid, reason: reason.Invalid, retry: temporal.ApplicationErrorOptions{NonRetryable: true}},
	{is: karmada.ErrGone, kind: ErrorGone, reason: reason.Unreachable, retry: temporal.ApplicationErrorOptions{NonRetryable: true}},
	{is: karmada.ErrConflict, kind: ErrorConflict, reason: reason.Conflict, retry: temporal.ApplicationErrorOptions{Category: temporal.ApplicationErrorCategoryBenign}},
}

// failureOf classifies an error; not definite where the write may stand.
func failureOf(err error) (f failure, definite bool) {
	for _, f := range failures {
		if errors.Is(err, f.is) {
			return f, true
		}
	}
	return failure{kind: ErrorUnreachable, reason: reason.Unreachable}, false
}

// classify turns an adapter's error into what Temporal retries, and how soon. It
// is the one place that decides retry.
func classify(op, object string, err error) error {
	if err == nil {
		return nil
	}
	f, _ := failureOf(err)
	var throttled *karmada.ThrottledError
	if errors.As(err, &throttled) {
		f.retry.NextRetryDelay = throttled.RetryAfter
	}
	return temporal.NewApplicationErrorWithOptions(fmt.Sprintf("%s %s: %v", op, object, err), f.kind, f.retry)
}

// reasonOf is the Reason that an error of a write leaves on its binding.
func reasonOf(err error) reason.Reason {
	f, _ := failureOf(err)
	return f.reason
}

// conflictTries and conflictPause bound how often a write that lost a race
// re-reads and re-decides within one activity.
const (
	conflictTries = 6
	conflictPause = 40 * time.Millisecond
)

// retryConflict runs try until it ends without a conflict. Every try re-reads
// and decides again; the random pause between two tries keeps two writers from meeting again.
func (w writer) retryConflict(ctx context.Context, kind string, try func() error) error {
	for n := 1; ; n++ {
		err := try()
		if !errors.Is(err, karmada.ErrConflict) || n == conflictTries {
			return err
		}
		w.meter.Conflict(kind)
		if w.clock.Wait(ctx, time.Duration(n)*conflictPause+rand.N(conflictPause)) != nil {
			return err
		}
	}
}

// workflowID is the id of the workflow that called the activity, for Events.
func workflowID(ctx context.Context) string {
	return activity.GetInfo(ctx).WorkflowExecution.ID
}
