package applicationfailover

import (
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
)

// check has the pre-check say whether there is somewhere to go.
func (f *failover) check(clock rules.UnhealthyClock) {
	st := f.st
	item := activities.Checked{Key: st.Key, UID: st.Look.UID, Purge: st.Look.Policy.PurgeMode, PurgeBySpec: st.Look.Policy.PurgeBySpec, State: st.Look.Policy.State, Approval: st.Approval}
	request := wants(st, 1, clock.Cluster)
	out, err := flow.Run[activities.PreCheckResult](flow.Doing(f.ctx, "look for somewhere to go for "+st.Key.String()), activities.NamePreCheck, activities.PreCheckRequest{
		Cluster: clock.Cluster, Items: []activities.Checked{item}, Mode: st.Mode, Attempt: st.Attempt + 1, Standing: st.Standing, Application: true, Request: &request,
	})
	if err != nil || len(out.Checks) != 1 {
		f.block(reason.Unreachable, fmt.Sprint(err))
		return
	}
	check := out.Checks[0]
	switch {
	case check.Reason != reason.AwaitingApproval:
		st.ApprovalAskedAt = time.Time{}
	case st.ApprovalAskedAt.IsZero():
		st.ApprovalAskedAt = f.now()
	}
	switch check.End {
	case activities.CheckPass:
		st.Check, st.Checked, st.Tries, st.RetryAt = &check, clock.Cluster, 0, time.Time{}
		if out.Requested {
			st.AskedAt = f.now()
		}
	case activities.CheckGone, activities.CheckNotTargeting:
		f.stale = true // the next look says more
		f.block(check.Reason, check.Message)
	case activities.CheckBlocked, activities.CheckOptedOut, activities.CheckFence:
		for _, rule := range check.Asked {
			if !slices.Contains(st.Standing, rule) {
				st.Standing = append(st.Standing, rule)
			}
		}
		f.block(check.Reason, check.Message)
		if st.Approval != item.Approval { // given while this was checked
			st.RetryAt = time.Time{}
		}
	}
}

// expireApproval ends a request for approval that no operator answered in time. A request ends, too, where the copy is to be
// tolerated again.
func expireApproval(st *workflows.ApplicationState, now time.Time) {
	clock := st.Clocks.First(st.Look.Tolerated)
	if clock != nil && tolerating(st, *clock, now) != nil {
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

// block keeps it where it is, and has it checked again later.
func (f *failover) block(why reason.Reason, message string) {
	const doubles = 3
	st := f.st
	wait := max(st.Look.Terms.Recheck, time.Second)
	st.Check, st.Permit = nil, pace.Permit{}
	st.RetryAt = f.now().Add(wait << min(st.Tries, doubles))
	st.Tries++
	f.enter(step{phase: phase.ApplicationBlocked, reason: why, message: reason.Summary(message)})
}
