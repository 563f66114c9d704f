package view_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
)

func applicationPages() map[string]view.Application {
	unhealthy := view.Application{
		Binding: "shop/cart-deployment", Resource: "Deployment shop/cart", Phase: phase.ApplicationUnhealthy, Reason: reason.Unhealthy, Message: "on member1",
		Now: fixtures.At(600), Began: fixtures.At(480), Since: fixtures.At(480), Next: fixtures.At(780), Tolerated: 5 * time.Minute, Runbook: published,
		Copies: []rules.CopyHealth{{Cluster: "member1", Health: karmada.HealthUnhealthy}, {Cluster: "member2", Health: karmada.HealthHealthy}},
		Clocks: rules.UnhealthyClocks{{Cluster: "member1", Since: fixtures.At(480)}},
	}
	return map[string]view.Application{
		"unhealthy": unhealthy,
		"clock-stopped": changed(unhealthy, func(v *view.Application) {
			v.Reason, v.Next = reason.ClockStopped, time.Time{}
			v.Clocks = rules.UnhealthyClocks{{Cluster: "member1", Ran: time.Minute}}
		}),
		"awaiting-approval": changed(unhealthy, func(v *view.Application) {
			v.Phase, v.Reason, v.Message = phase.ApplicationBlocked, reason.AwaitingApproval, "capacityDeficit"
		}),
		"approval-expired": changed(unhealthy, func(v *view.Application) {
			v.Phase, v.Reason, v.Message = phase.ApplicationBlocked, reason.ApprovalExpired, "it was not approved within 1h0m0s: capacityDeficit"
		}),
		"observe": changed(unhealthy, func(v *view.Application) {
			v.Mode, v.Phase, v.Reason, v.Message = rules.ModeObserve, phase.ApplicationBlocked, reason.WouldMove, "observe: it would leave member1"
		}),
		"moving": changed(unhealthy, func(v *view.Application) {
			v.Phase, v.Reason, v.Next, v.Migration = phase.ApplicationMoving, reason.None, time.Time{}, "binding-migration/member1/shop/cart-deployment"
		}),
		"needs-operator": changed(unhealthy, func(v *view.Application) {
			v.Phase, v.Reason, v.Attention, v.Next = phase.ApplicationNeedsOperator, reason.SameRevision, reason.SameRevision, time.Time{}
			v.Arrivals, v.Migration = rules.Arrivals{{Cluster: "member1"}}, "binding-migration/member2/shop/cart-deployment"
			v.Placed = true
		}),
		"needs-operator-before-it-moves": changed(unhealthy, func(v *view.Application) {
			v.Phase, v.Reason, v.Attention, v.Next = phase.ApplicationNeedsOperator, reason.SameRevision, reason.SameRevision, time.Time{}
			v.Arrivals = rules.Arrivals{{Cluster: "member1"}}
		}),
		"stopped": changed(unhealthy, func(v *view.Application) {
			v.Phase, v.Reason, v.Ordered = phase.ApplicationStopped, reason.Cancelled, []string{"cancelled by kim: later"}
		}),
		"healed": changed(unhealthy, func(v *view.Application) {
			v.Phase, v.Reason, v.Next, v.Clocks = phase.ApplicationHealed, reason.Healed, time.Time{}, nil
		}),
	}
}

func TestApplicationPages(t *testing.T) {
	goldenPages(t, rendered("application-", applicationPages(), view.ApplicationPage))
}
