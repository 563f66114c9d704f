package applicationfailover

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
)

// nextCopy is the copy that is to leave next, nil where no time runs. One whose revision was moved to where it is holds all the
// others (R4.13-7); what has a permit, or approval, to wait for goes on; what is blocked lets the next one go first.
func nextCopy(st *workflows.ApplicationState, now time.Time) *rules.UnhealthyClock {
	running := st.Clocks.Running(st.Look.Tolerated)
	due := func(k rules.UnhealthyClock) bool {
		ends, _ := k.Ends(st.Look.Tolerated)
		return !ends.After(now)
	}
	waits := st.Check != nil || !st.ApprovalAskedAt.IsZero()
	for _, first := range []func(rules.UnhealthyClock) bool{
		st.Arrivals.Unhealthy,
		func(k rules.UnhealthyClock) bool { return waits && k.Cluster == st.Checked && due(k) },
		func(k rules.UnhealthyClock) bool { return due(k) && !isTried(st, k.Cluster, now) },
		func(rules.UnhealthyClock) bool { return true },
	} {
		if at := slices.IndexFunc(running, first); at >= 0 {
			return &running[at]
		}
	}
	return nil
}

// approved reports whether an operator says that the copy on a cluster is to move in an attempt, whatever its revision.
func approved(st *workflows.ApplicationState, cluster string, attempt int) bool {
	return st.Approval.LiftsCap(attempt) && st.Approval.Cluster == cluster
}

// needsApproval reports whether the revision was moved to where it is Unhealthy, and no operator says that it is to move once more.
func needsApproval(st *workflows.ApplicationState, clock rules.UnhealthyClock) bool {
	return st.Arrivals.Unhealthy(clock) && !approved(st, clock.Cluster, st.Attempt+1)
}

// sickCopy is the first copy that is Unhealthy, for longer than tolerated, where its revision was moved to: nil for none, or
// where ends is yet to come.
func sickCopy(st *workflows.ApplicationState, now time.Time) (sick *rules.UnhealthyClock, ends time.Time) {
	running := st.Clocks.Running(st.Look.Tolerated)
	at := slices.IndexFunc(running, st.Arrivals.Unhealthy)
	if at < 0 {
		return nil, ends
	}
	if ends, _ = running[at].Ends(st.Look.Tolerated); ends.After(now) {
		return nil, ends
	}
	return &running[at], ends
}

// isTried reports whether the copy on a cluster is blocked, and is not to be checked yet.
func isTried(st *workflows.ApplicationState, cluster string, now time.Time) bool {
	return st.RetryAt.After(now) && slices.Contains(st.Tried, cluster)
}

// retry is when what is blocked is checked again, or before that the time of another copy is over.
func retry(st *workflows.ApplicationState, now time.Time) time.Time {
	for _, k := range st.Clocks.Running(st.Look.Tolerated) {
		if ends, _ := k.Ends(st.Look.Tolerated); ends.After(now) && ends.Before(st.RetryAt) {
			return ends
		}
	}
	return st.RetryAt
}

// stoppedOn is where the time of a copy stands still, or never began.
func stoppedOn(st *workflows.ApplicationState) string {
	if len(st.Clocks) > 0 {
		return st.Clocks[0].Cluster
	}
	at := slices.IndexFunc(st.Look.Copies, func(c rules.CopyHealth) bool { return c.Health == karmada.HealthUnhealthy })
	return st.Look.Copies[max(at, 0)].Cluster // it is not over, so that there is one
}

// tolerating is the wait until the time of a copy, and a snooze, are over; nil when they are.
func tolerating(st *workflows.ApplicationState, clock rules.UnhealthyClock, now time.Time) *step {
	ends, _ := clock.Ends(st.Look.Tolerated)
	waits := step{phase: phase.ApplicationUnhealthy, reason: reason.Unhealthy, message: "on " + clock.Cluster, until: ends}
	if snooze := st.Snoozed; snooze != nil && snooze.Until.After(ends) {
		waits.until, waits.reason, waits.message = snooze.Until, reason.Snoozed, "by "+snooze.Line()
	}
	if !waits.until.After(now) {
		return nil
	}
	return &waits
}

// check has the pre-check say whether there is somewhere to go.
func (f *failover) check(clock rules.UnhealthyClock) {
	st := f.st
	if st.Checked != clock.Cluster {
		st.Permit = pace.Permit{} // one to leave another cluster passes unused; the next may come before the answer
	}
	item := activities.Checked{Key: st.Key, UID: st.Look.UID, Purge: st.Look.Policy.PurgeMode, PurgeBySpec: st.Look.Policy.PurgeBySpec, State: st.Look.Policy.State, Approval: st.Approval}
	request := wants(st, 1, clock.Cluster)
	out, err := flow.Run[activities.PreCheckResult](flow.Doing(f.ctx, "look for somewhere to go for "+st.Key.String()), activities.NamePreCheck, activities.PreCheckRequest{
		Cluster: clock.Cluster, Items: []activities.Checked{item}, Mode: st.Mode, Attempt: st.Attempt + 1, Standing: st.Standing, Application: true, Request: &request,
	})
	if err != nil || len(out.Checks) != 1 {
		f.block(clock.Cluster, reason.Unreachable, fmt.Sprint(err))
		return
	}
	check := out.Checks[0]
	checked(st, clock.Cluster, check.Reason, f.now())
	switch check.End {
	case activities.CheckPass:
		st.Check, st.Tries = &check, 0
		if out.Requested {
			st.AskedAt = f.now()
		}
	case activities.CheckGone, activities.CheckNotTargeting:
		f.stale = true // the next look says more
		f.block(clock.Cluster, check.Reason, check.Message)
	case activities.CheckBlocked, activities.CheckOptedOut, activities.CheckFence:
		for _, rule := range check.Asked {
			if !slices.Contains(st.Standing, rule) {
				st.Standing = append(st.Standing, rule)
			}
		}
		f.block(clock.Cluster, check.Reason, check.Message)
		if st.Approval != item.Approval { // given while this was checked
			st.RetryAt = time.Time{}
		}
	}
}

// checked notes which copy was checked, and since when that awaits approval.
func checked(st *workflows.ApplicationState, cluster string, found reason.Reason, now time.Time) {
	another := st.Checked != cluster
	st.Checked = cluster
	switch {
	case found != reason.AwaitingApproval:
		st.ApprovalAskedAt = time.Time{}
	case another, st.ApprovalAskedAt.IsZero():
		st.ApprovalAskedAt = now
	}
}

// expireApproval ends a request for approval that no operator answered in time. A request ends, too, where the copy has healed, or
// is to be tolerated again.
func expireApproval(st *workflows.ApplicationState, now time.Time) {
	asks := func(k rules.UnhealthyClock) bool { return k.Cluster == st.Checked }
	running := st.Clocks.Running(st.Look.Tolerated)
	at := slices.IndexFunc(running, asks)
	if at >= 0 && tolerating(st, running[at], now) != nil || !slices.ContainsFunc(st.Clocks, asks) {
		endRequest(st)
		return
	}
	expired, over := queue.ExpireApproval(reason.Verdict{Reason: st.Reason, Message: st.Message}, st.ApprovalAskedAt, now, st.Look.Terms.AskFor)
	if over {
		st.Expired, st.RetryAt = expired, time.Time{}
	}
}

// endRequest ends a request for approval, answered or not.
func endRequest(st *workflows.ApplicationState) {
	st.ApprovalAskedAt, st.Expired = time.Time{}, reason.Verdict{}
}

// block keeps the copy on a cluster where it is, and has it checked again later.
func (f *failover) block(cluster string, why reason.Reason, message string) {
	const doubles = 3
	st := f.st
	wait := max(st.Look.Terms.Recheck, time.Second)
	st.Check, st.Permit = nil, pace.Permit{}
	if !st.RetryAt.After(f.now()) { // all of them are to be checked again at one time
		st.RetryAt, st.Tried = f.now().Add(wait<<min(st.Tries, doubles)), nil
		st.Tries++
	}
	st.Tried, st.Blocked = append(st.Tried, cluster), reason.Verdict{Reason: why, Message: reason.Summary(message)}
	f.enter(step{phase: phase.ApplicationBlocked, reason: st.Blocked.Reason, message: st.Blocked.Message})
}
