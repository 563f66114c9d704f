package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"k8s.io/apimachinery/pkg/types"
)

// PreCheckRequest is about whether a batch of due bindings has somewhere to go.
type PreCheckRequest struct {
	Cluster string    `json:"cluster"`
	Items   []Checked `json:"items"`
	// Mode of the failover: only in enforce an Event says why a binding stays.
	Mode rules.Mode `json:"mode,omitempty"`
	// Purge is the failover's purge mode where none is named.
	Purge karmada.PurgeMode `json:"purge,omitempty"`
	// Attempt is the failover's: an approval holds for one. Standing are approval rules that
	// asked before in it, and ask for the rest of it.
	Attempt  int                  `json:"attempt,omitempty"`
	Standing []queue.ApprovalRule `json:"standing,omitempty"`
	// Application: the failover is that of the application, which orders without --cluster reach.
	Application bool `json:"application,omitempty"`
	// Request is sent to the pacer once every binding of the batch could move and needs nothing but a permit; nil sends
	// nothing.
	Request *PermitRequest `json:"request,omitempty"`
}

// object is a binding as an order about this failover names it.
func (r PreCheckRequest) object(key karmada.BindingKey) string {
	if r.Application {
		return key.String()
	}
	return key.String() + " --cluster " + r.Cluster
}

// Checked names one binding.
type Checked struct {
	Key karmada.BindingKey `json:"key"`
	UID types.UID          `json:"uid,omitempty"`
	// Purge is what the attempt has frozen of its purge mode: all of it once a check has
	// told, and before that what stood on the binding itself (PurgeBySpec: in its spec).
	Purge       karmada.PurgeMode `json:"purge,omitempty"`
	PurgeBySpec bool              `json:"purgeBySpec,omitempty"`
	// Fence is what proves the old copy dead, as far as the failover knows.
	Fence *proof.Fence `json:"fence,omitempty"`
	// Approval is an operator's yes, nil without.
	Approval *queue.Approval `json:"approval,omitempty"`
	// State is what the attempt has frozen of its state rules.
	State []karmada.StateRule `json:"state,omitempty"`
}

// ask is what judgeMigration needs beside the binding.
type ask struct {
	frozen    rules.Policy // only its purge mode and state rules count
	byDefault karmada.PurgeMode
	fence     *proof.Fence
	question  Question
	reading
}

// CheckEnd is how a check of one binding came out.
type CheckEnd string

// The ends of a check.
const (
	CheckPass         CheckEnd = "pass"
	CheckBlocked      CheckEnd = "blocked"
	CheckNotTargeting CheckEnd = "notTargeting" // another hand moved it
	CheckGone         CheckEnd = "gone"         // deleted, or another uid
	CheckOptedOut     CheckEnd = "optedOut"
	CheckFence        CheckEnd = "fence" // it would pass, once the old copy is proven dead
)

// Check is the answer for one binding.
type Check struct {
	Key        karmada.BindingKey `json:"key"`
	End        CheckEnd           `json:"end"`
	Reason     reason.Reason      `json:"reason,omitempty"`
	Message    string             `json:"message,omitempty"`
	Candidates []string           `json:"candidates,omitempty"`
	// Held reports that a Lifeboat hold task for this cluster stands already.
	Held bool `json:"held,omitempty"`
	// Reschedule reports that the eviction must also set rescheduleTriggeredAt.
	Reschedule bool `json:"reschedule,omitempty"`
	// Dependents reports that others go where it goes: they are held first.
	Dependents bool `json:"dependents,omitempty"`
	// Follows: it runs no pods, and may wait with its release for workloads of its policy.
	Follows bool `json:"follows,omitempty"`
	// Swap names a former cluster that takes over again, nil for an ordinary eviction.
	Swap *proof.Swap `json:"swap,omitempty"`
	// Purge is how its old copy is to go; frozen for the attempt from the first check on.
	Purge karmada.PurgeMode `json:"purge,omitempty"`
	// Asked are the approval rules that ask an operator; only with AwaitingApproval.
	Asked []queue.ApprovalRule `json:"asked,omitempty"`
	// state are the labels that the write puts into the task; stateless says why it goes
	// without what it was to preserve.
	state     map[string]string
	stateless string
	// workload is the resource template of the binding, for Events.
	workload *karmada.Resource
}

// ends is the check with its end, and why.
func (c Check) ends(end CheckEnd, why reason.Reason, message string) Check {
	c.End, c.Reason, c.Message = end, why, message
	return c
}

// Bounds of one check in a result: a tenant's policy says part of it, a fleet has any
// number of clusters, and an answer of more than 2 MB about a batch of fifty is none.
const (
	maxTold  = 2048 // bytes of a message
	maxNamed = 50   // candidates
)

// told cuts a message to maxTold.
func told(message string) string { return reason.Shortened(message, maxTold) }

// bounded is the check as a result carries it.
func (c Check) bounded() Check {
	c.Message, c.Candidates = told(c.Message), c.Candidates[:min(len(c.Candidates), maxNamed)]
	return c
}

// PreCheckResult has one Check per item, in order.
type PreCheckResult struct {
	Checks []Check `json:"checks"`
	// Requested: the request for a permit was sent.
	Requested bool `json:"requested,omitempty"`
}

// preChecker judges due bindings before they get a permit.
type preChecker struct {
	judge
	reporter reporter
	pacer    Pacer
}

// PreCheck judges a batch against one reading of the fleet, of the namespaces and of the policies.
func (p preChecker) PreCheck(ctx context.Context, r PreCheckRequest) (PreCheckResult, error) {
	fleet, err := p.recent().Clusters(ctx)
	if err != nil {
		return PreCheckResult{}, classify("pre-check bindings of cluster", r.Cluster, err)
	}
	var out PreCheckResult
	on := reading{fleet: fleet}
	moved := p.migratedTooOften(ctx, r)
	for _, item := range r.Items {
		check, err := p.checkOne(ctx, r, item, &on)
		if err != nil {
			return PreCheckResult{}, classify("pre-check binding", item.Key.String(), err)
		}
		check = moved.judge(r, item, check).bounded()
		check.Key = item.Key
		if check.End == CheckBlocked {
			p.reporter.blocked(ctx, r, item, check)
		}
		out.Checks = append(out.Checks, check)
	}
	waits := slices.ContainsFunc(out.Checks, func(c Check) bool { return c.End != CheckPass || c.Dependents })
	if r.Request != nil && !waits && p.mayEnforce(r.Mode) {
		out.Requested = p.pacer.Request(ctx, *r.Request) == nil // otherwise its failover sends it
	}
	return out, nil
}

// movesOf is what the pacer says of the moves of a batch: who may not move before when.
type movesOf struct {
	until map[string]time.Time
	err   error
}

// pacerAnswers bounds the question to the pacer.
const pacerAnswers = 15 * time.Second

// migratedTooOften queries the pacer, which knows the moves of every cluster.
func (p preChecker) migratedTooOften(ctx context.Context, r PreCheckRequest) (m movesOf) {
	if !p.mayEnforce(r.Mode) {
		return m
	}
	var bindings []string
	for _, item := range r.Items {
		bindings = append(bindings, item.Key.String())
	}
	ctx, cancel := context.WithTimeout(ctx, pacerAnswers)
	defer cancel()
	m.until, m.err = p.pacer.MigratedTooOften(ctx, bindings)
	return m
}

// judge keeps a binding that could move from being driven round the fleet.
func (m movesOf) judge(r PreCheckRequest, item Checked, check Check) Check {
	until, tooOften := m.until[item.Key.String()]
	switch q := r.question(item); {
	case check.End != CheckPass && check.End != CheckFence:
	case q.Approval.LiftsCap(q.Attempt):
	case m.err != nil:
		return check.ends(CheckBlocked, reason.FleetUnknown, "the pacer does not answer: "+m.err.Error())
	case tooOften:
		return check.ends(CheckBlocked, reason.PingPong, fmt.Sprintf(
			"it moved as often as pace.migrationsPerHour allows; not again before %s, or lifeboat approve %s --reason ...",
			until.Format("15:04:05 MST"), r.object(item.Key)))
	}
	return check
}

// reading is what a batch is judged against. The bindings of the fleet are listed
// once, and only where room or an approval rule decides.
type reading struct {
	fleet  []karmada.Cluster
	room   *placement.Headroom // nil where room does not decide
	tally  *placement.Tally
	extent *placement.Extent // nil where no approval rule needs it
}

// checkOne judges one binding. A yes may come from the cache, since the write repeats the judgement on
// what it reads itself. Everything else ends or delays the eviction, and is read from the API server.
func (p preChecker) checkOne(ctx context.Context, r PreCheckRequest, item Checked, on *reading) (Check, error) {
	if b, known := p.fromCache(item); known {
		if check, err := p.checkBinding(ctx, r, item, on, &b); err != nil || check.End == CheckPass {
			return check, err
		}
	}
	b, gone, err := p.binding(ctx, item.Key, item.UID)
	if gone || err != nil {
		return Check{End: CheckGone, Reason: reason.BindingGone}, err
	}
	return p.checkBinding(ctx, r, item, on, &b)
}

// fromCache is a binding as the watch saw it last, where that is enough for a check: the cache has no
// raw status, from which state is preserved.
func (p preChecker) fromCache(item Checked) (karmada.Binding, bool) {
	if !p.cached() || len(item.State) > 0 {
		return karmada.Binding{}, false
	}
	b, known := p.cache.Binding(item.Key)
	return b, known && (item.UID == "" || b.UID == item.UID)
}

func (p preChecker) checkBinding(ctx context.Context, r PreCheckRequest, item Checked, on *reading, b *karmada.Binding) (Check, error) {
	question := r.question(item)
	if err := p.readAround(ctx, r.Cluster, question, b, on); err != nil {
		return Check{}, err
	}
	check, err := p.judgeMigration(ctx, b, r.Cluster, ask{
		frozen:    rules.Policy{PurgeMode: item.Purge, PurgeBySpec: item.PurgeBySpec, State: item.State},
		byDefault: r.Purge, fence: item.Fence, question: question, reading: *on,
	})
	check.workload = &b.Resource
	return check, err
}

// reporter counts bindings that are blocked, and puts Events on them.
type reporter struct {
	guard
	events EventRecorder
	meter  Meter
}

// blocked counts a no, and in enforce records an Event on the binding.
func (a reporter) blocked(ctx context.Context, r PreCheckRequest, item Checked, check Check) {
	a.meter.Blocked(check.Reason)
	if !a.mayEnforce(r.Mode) {
		return
	}
	e := Event{
		Binding: &item.Key, UID: item.UID, Workload: check.workload, Warning: true, Reason: "EvictWorkloadFromClusterBlocked",
		Message: fmt.Sprintf("stays on %s: %s: %s (workflow %s)", r.Cluster, check.Reason, check.Message, workflowID(ctx)),
	}
	if check.Reason == reason.AwaitingApproval {
		e.Reason = "EvictWorkloadFromClusterAwaitingApproval"
		e.Message = fmt.Sprintf("stays on %s until an operator approves (lifeboat approve %s --reason ...): %s (workflow %s)",
			r.Cluster, r.object(item.Key), check.Message, workflowID(ctx))
	}
	a.events.Record(ctx, e)
}

// byItself is what opts a binding out that needs no other setting.
const byItself = "by its own annotation or by config"
