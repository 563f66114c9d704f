package bindingmigration

import (
	"errors"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// fuzzPhases are the phases that a message can find a migration in.
var fuzzPhases = []phase.Migration{
	phase.MigrationChecking, phase.MigrationQueued, phase.MigrationAwaitingFence, phase.MigrationEvicting, phase.MigrationPlacing,
	phase.MigrationAwaitingHealth, phase.MigrationReleasing, phase.MigrationPurging, phase.MigrationRestoring, phase.MigrationDone,
}

// FuzzMigrationMessages: whatever signals and updates a BindingMigration gets, it takes
// what makes sense, refuses or ignores the rest, and stays one that can go on.
func FuzzMigrationMessages(f *testing.F) {
	for n, script := range []string{
		`signal binding-observed {"key":{"namespace":"shop","name":"cart"},"uid":"u","resourceVersion":"8"}
signal recover {"attempt":2}
signal recover {"attempt":3,"cancelled":{"who":"jane","reason":"x"},"putBack":true}`,
		`signal migration-adopted {"failoverID":"e2","attempt":3}
signal migration-adopted {"failoverID":"e2","attempt":-1}
signal fenced {"fence":{"by":"Operator","who":"jane","at":"2026-01-01T00:00:00Z"}}`,
		`signal migration-order {"who":"jane","reason":"x","verb":"put-back"}
signal migration-order {"verb":"pause"}
signal migration-order {"who":"jane","reason":"x","verb":"pause"}
signal migration-order {"who":"jane","reason":"x","verb":"resume"}`,
		`signal permit {"number":7,"earliest":"2026-03-01T03:00:00Z","latest":"2026-03-01T03:00:01Z"}
signal permit {"number":7,"earliest":"2026-03-01T03:00:00Z","latest":"2126-03-01T03:00:01Z"}`,
		`update cancel {"who":"jane","reason":"x","putBack":true}
update put-back {"who":"jane","reason":"x"}
update release {"who":"jane"}
update confirm-fenced {"who":"jane","reason":"dead","withoutState":true}`,
		"signal recover [\nupdate cancel null\nupdate release 7\nupdate none {}",
	} {
		for phase := range fuzzPhases {
			f.Add(uint8(phase+16*n), script) //nolint:gosec // small
		}
	}
	f.Fuzz(func(t *testing.T, shape uint8, script string) {
		flowtest.Played(t, script, func(ctx workflow.Context) (func() error, error) {
			m := newMigration(ctx, workflows.BindingMigrationParams{State: midway(ctx, shape)})
			return func() error {
				if wrong := malformedState(m.st); wrong != "" {
					return errors.New(wrong)
				}
				return errors.Join(m.sane(workflow.Now(ctx)), flowtest.CarriedWhole(m.st))
			}, m.serve(ctx)
		})
	})
}

// midway is a migration of shop/cart, in a phase and a purge mode by its shape.
func midway(ctx workflow.Context, shape uint8) workflows.MigrationState {
	now := workflow.Now(ctx)
	st := workflows.MigrationState{
		Ref:    activities.MigrationRef{Cluster: "m1", Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}, UID: "u", Purge: karmada.PurgeGracefully},
		Parent: "cluster-failover/m1", FailoverID: "e", Attempt: 2, Phase: fuzzPhases[int(shape%16)%len(fuzzPhases)], Began: now, Entered: now,
		Terms: activities.Terms{Mode: rules.ModeEnforce, Audit: true}, Outage: "False@2026-01-01T00:00:00Z", Start: workflows.StartHold,
	}
	if shape&16 != 0 {
		st.Ref.Purge = karmada.PurgeDirectly
	}
	if shape&32 == 0 {
		st.Evicted = workflows.WriteStands
	}
	if st.Phase == phase.MigrationDone {
		st.Result = &record.Result{Key: st.Ref.Key, UID: "u", Outcome: phase.OutcomeMigrated}
	}
	return st
}

// sane tells what must hold of a migration whatever it was told.
func (m *migration) sane(now time.Time) error {
	about := karmada.BindingKey{Namespace: "shop", Name: "cart"}
	fence := m.st.Ref.Fence
	return errors.Join(
		flowtest.Unless(m.st.Attempt > 0 && m.st.FailoverID != "", "it reports to attempt %d of failover %q, which nobody hears", m.st.Attempt, m.st.FailoverID),
		flowtest.Unless(m.st.Ref.Key == about && m.st.Ref.Cluster == "m1", "it is about %s on %s", m.st.Ref.Key, m.st.Ref.Cluster),
		flowtest.Unless(m.st.Permit == pace.Permit{} || m.st.Permit.Valid(), "it goes by permit %+v", m.st.Permit),
		flowtest.Unless(fence == nil || fence.By != "" && !fence.At.After(now), "it goes by fence %+v at %s", fence, now),
		flowtest.Unless(m.st.Intent.Recover == nil || m.st.Intent.Recover.Attempt > 0, "it recovers in attempt %+v", m.st.Intent.Recover),
		flowtest.Unless(!m.st.Over() || !m.st.Intent.PutsBack(), "it is over, and says that it was put back"),
		m.given(),
	)
}

func (m *migration) given() error {
	orders := []*workflows.Order{m.st.Intent.Cancelled, m.st.Paused}
	if held := m.st.Intent.Held; held != nil {
		orders = append(orders, &held.Order)
	}
	return flowtest.Given(orders...)
}
