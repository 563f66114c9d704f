package applicationfailover

import (
	"errors"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// fuzzed is the application that the messages are about.
var fuzzed = karmada.BindingKey{Namespace: "shop", Name: "app"}

// fuzzPhases are the phases that a message can find a failover in.
var fuzzPhases = []phase.Application{
	phase.ApplicationUnhealthy, phase.ApplicationQueued, phase.ApplicationBlocked, phase.ApplicationMoving, phase.ApplicationNeedsOperator, phase.ApplicationStopped,
}

// FuzzApplicationMessages: whatever signals and updates an ApplicationFailover gets, it takes what makes sense,
// refuses or ignores the rest, and stays one that can go on.
func FuzzApplicationMessages(f *testing.F) {
	for _, script := range []string{
		`signal binding-observed {"key":{"namespace":"shop","name":"app"},"uid":"u","resourceVersion":"8"}
signal binding-observed {"key":{"name":"other"}}
signal pause {"who":"jane","reason":"x"}
signal pause {"who":"jane","reason":"x","namespace":"other"}
signal pause {}`,
		`signal grant {"number":7,"size":1,"failoverID":"e","earliest":"2026-03-01T03:00:00Z","expires":10000000000}
signal grant {"number":7,"size":2,"failoverID":"e","expires":10000000000}
signal grant {"number":8,"size":-2,"failoverID":"e","expires":9223372036854775807}
signal pace-changed {"pace":{"tier":"normal","rate":1},"suspected":{"scope":"shop/p","above":"2026-03-01T03:00:00Z"}}
signal pace-changed {"suspected":{}}
signal pace-changed {}`,
		`signal migration-reports {"reports":[{"failoverID":"e","attempt":1,"key":{"namespace":"shop","name":"app"},"uid":"u","phase":"Queued","wantsPermit":true}]}
signal migration-reports {"reports":[{"failoverID":"e","attempt":1,"key":{"namespace":"shop","name":"app"},"phase":"AwaitingHealth","placed":true}]}
signal migration-reports {"reports":[{"failoverID":"e","attempt":1,"key":{"namespace":"shop","name":"app"},"phase":"Done","result":{"key":{"namespace":"shop","name":"app"},"outcome":"Migrated","wrote":true}}]}`,
		`signal migration-reports {"reports":[{"failoverID":"e","attempt":1,"key":{"namespace":"shop","name":"app"},"result":{"key":{"namespace":"shop","name":"other"},"outcome":"Migrated"}}]}`,
		`signal migration-reports {"reports":[{"failoverID":"e","attempt":1,"key":{"namespace":"shop","name":"app"},"result":{}}]}`,
		`signal migration-reports {"reports":[{"failoverID":"e","attempt":1,"key":{"namespace":"shop","name":"other"},"phase":"Done","result":{"key":{"namespace":"shop","name":"other"},"outcome":"Blocked","reason":"Cancelled"}}]}
signal migration-reports {"reports":[{"failoverID":"old","attempt":9,"key":{"name":"x"},"takenBy":"cluster-failover/m1"}]}`,
		`update pause {"who":"jane","reason":"x"}
update resume {"who":"jane","reason":"x"}
update resume {"who":"jane","reason":"x","enforce":true}
update snooze {"who":"jane","reason":"x","for":"30m"}
update snooze {"who":"jane","reason":"x","for":"9999999h"}
update approve {"who":"jane","reason":"x","binding":{"namespace":"shop","name":"app"}}
update approve {"who":"jane","reason":"x","namespace":"other"}`,
		`update put-back {"who":"jane","reason":"x","binding":{"namespace":"shop","name":"app"}}
update release {"who":"jane","reason":"x"}
update release {"who":"jane","reason":"x","binding":{"name":"-"}}
update cancel {"who":"jane","reason":"x","putBack":true}
update cancel {"reason":"x"}`,
		"signal binding-observed [\nsignal grant null\nupdate snooze 7\nupdate cancel \"x\"\nupdate none {}\nupdate pause {",
	} {
		for phase := range fuzzPhases {
			f.Add(uint8(phase), script) //nolint:gosec // small
		}
	}
	f.Fuzz(func(t *testing.T, shape uint8, script string) {
		flowtest.Played(t, script, func(ctx workflow.Context) (func() error, error) {
			f := underWay(ctx, shape)
			return func() error {
				expireApproval(f.st, f.now())
				_ = f.decide()
				f.page()
				return errors.Join(f.sane(), flowtest.CarriedWhole(f.st))
			}, f.serve(ctx)
		})
	})
}

// underWay is the failover of shop/app, which is Unhealthy on m1, in a phase and a mode by its shape.
func underWay(ctx workflow.Context, shape uint8) *failover {
	key, now := fuzzed, workflow.Now(ctx)
	f := begin(ctx, workflows.ApplicationFailoverParams{Binding: key, State: &workflows.ApplicationState{
		Key: key, FailoverID: "e", Phase: fuzzPhases[int(shape%16)%len(fuzzPhases)], Reason: reason.Unhealthy, Began: now, Entered: now,
		Mode: rules.ModeEnforce, Cluster: "m1", Revision: "r", Audit: &workflows.Trail{},
		Clocks: rules.UnhealthyClocks{{Cluster: "m1", Revision: "r", Since: now}},
		Look: activities.Application{
			UID: "u", Tolerated: time.Second, Copies: []rules.CopyHealth{{Cluster: "m1", Health: karmada.HealthUnhealthy, Revision: "r"}},
			Terms: activities.Terms{Mode: rules.ModeEnforce, Audit: true},
		},
	}})
	if shape&16 != 0 {
		f.st.Mode = rules.ModeObserve
	}
	switch f.st.Phase { //nolint:exhaustive // the others need nothing more
	case phase.ApplicationMoving, phase.ApplicationNeedsOperator:
		f.st.Attempt, f.st.Before = 1, []string{"m1"}
		f.st.Move = &workflows.Migration{Key: key, UID: "u", Attempt: 1, Phase: phase.MigrationQueued, Since: now, Heard: now, Holds: true, WantsPermit: shape&32 != 0}
	case phase.ApplicationStopped:
		f.st.Stopped = &workflows.Order{Who: "jane", Reason: "a drill"}
	case phase.ApplicationQueued:
		f.st.Check, f.st.Checked, f.st.AskedAt = &activities.Check{}, "m1", now
	}
	return f
}

// sane tells what must hold of a failover whatever it was told.
func (f *failover) sane() error {
	st := f.st
	var snoozed *workflows.Order
	if st.Snoozed != nil {
		snoozed = &st.Snoozed.Order
	}
	return errors.Join(
		flowtest.Unless(st.Key == fuzzed && (st.Move == nil || st.Move.Key == fuzzed), "it is about %s, and moves %+v", st.Key, st.Move),
		flowtest.Unless(st.Last == nil || st.Last.Key == fuzzed && st.Last.Outcome != "", "its last move came to %+v, and nobody reported that", st.Last),
		flowtest.Unless(st.Permit == pace.Permit{} || st.Permit.Valid(), "it goes by permit %+v", st.Permit),
		flowtest.Unless(st.Snoozed == nil || st.Snoozed.Until.Sub(f.now()) <= queue.MaxSnooze, "snoozed: %+v", st.Snoozed),
		flowtest.Unless(st.Approval == nil || st.Approval.Who != "" && st.Approval.Attempt <= st.Attempt+1, "approved: %+v", st.Approval),
		flowtest.Given(st.Stopped, st.Paused, snoozed),
	)
}
