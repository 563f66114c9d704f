package explain

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// unhealthy is the fleet, and its binding Unhealthy on m1.
func unhealthy(t *testing.T) (*world.World, Source) {
	t.Helper()
	w, s := fleet(t)
	s.Settings.Applications = true
	w.Change(cart, func(b *karmada.Binding) {
		b.Application = &karmada.ApplicationFailover{TolerationSeconds: 300}
		b.Status.Aggregated = []karmada.AggregatedItem{{Cluster: "m1", Health: karmada.HealthUnhealthy}, {Cluster: "m2", Health: karmada.HealthHealthy}}
	})
	return w, s
}

// onM1 is the state of the failover of the binding, Unhealthy on m1 for two minutes.
func onM1() workflows.ApplicationStatus {
	st := workflows.ApplicationStatus{Now: now}
	st.Key, st.Phase, st.Reason, st.Message = cart, phase.ApplicationUnhealthy, reason.Unhealthy, "on m1"
	st.Began, st.Entered, st.Next = now.Add(-2*time.Minute), now.Add(-2*time.Minute), now.Add(3*time.Minute)
	st.Mode, st.Look = rules.ModeEnforce, activities.Application{
		Tolerated: 5 * time.Minute,
		Copies:    []rules.CopyHealth{{Cluster: "m1", Health: karmada.HealthUnhealthy}, {Cluster: "m2", Health: karmada.HealthHealthy}},
	}
	st.Clocks = rules.UnhealthyClocks{{Cluster: "m1", Since: now.Add(-2 * time.Minute)}}
	return st
}

const ofCart = "application-failover/shop/cart-deployment"

func TestBinding_Application_SaysHowLongItIsUnhealthyAndWhereItCouldGo(t *testing.T) {
	_, s := unhealthy(t)
	x, text := explained(t, asked(t, s, map[string]any{ofCart + " status": onM1()}, nil, nil), "")
	require.Equal(t, phase.ApplicationUnhealthy, x.Application.Failover.Phase)
	require.Equal(t, activities.ProspectMoves, x.Application.Copies[0].IfOver.Prospect)
	require.Equal(t, []string{"m2", "m3"}, x.Application.Copies[0].IfOver.Candidates)
	fixtures.ContainsAll(t, text,
		"application failover of shop/cart-deployment: Unhealthy, enforce mode ("+ofCart+")",
		"Copies: m1 Unhealthy, for 2m, tolerated until 12:03:00 UTC (in 3m); m2 Healthy", "It tolerates: 5m of Unhealthy", "Now: Unhealthy: on m1",
		`you can: lifeboat cancel shop/cart-deployment --reason "…"`, "m1 Unhealthy; if its time ran out now: it would go to m2 or m3", "http://ui/namespaces/n/workflows/application-failover",
		"m1: no failover of the cluster moves it",
	)

	x, _ = explained(t, s, "m1")
	require.Nil(t, x.Application, "--cluster is about the failover of the cluster")
}

func TestBinding_ApplicationMoves_ShowsItsMigration(t *testing.T) {
	_, s := unhealthy(t)
	st := onM1()
	st.Phase, st.Cluster, st.Move = phase.ApplicationMoving, "m1", &workflows.Migration{Key: cart, Phase: phase.MigrationAwaitingHealth}
	m := workflows.MigrationStatus{Now: now}
	m.Ref, m.Phase, m.To, m.Parent = activities.MigrationRef{Cluster: "m1", Key: cart}, phase.MigrationAwaitingHealth, []string{"m3"}, ofCart
	by := map[string]any{ofCart + " status": st, "binding-migration/m1/shop/cart-deployment status": m}
	x, text := explained(t, asked(t, s, by, nil, nil), "")
	require.NotNil(t, x.Application.Migration)
	require.Contains(t, text, "Moving shop/cart-deployment off m1 to m3")
	require.Contains(t, text, `you can: lifeboat put-back shop/cart-deployment --reason "…"`)
	require.NotContains(t, text, "ran out now")

	st.Phase, st.Reason, st.Message, st.Attention = phase.ApplicationNeedsOperator, reason.SameRevision, "Unhealthy there, too", reason.SameRevision
	by[ofCart+" status"] = st
	x, text = explained(t, asked(t, s, by, nil, nil), "")
	fixtures.ContainsAll(t, text, "Needs attention: SameRevisionSick", "you can: Repair the workload")
	require.Contains(t, x.Runbook, reason.SameRevision)
}

func TestBinding_ApplicationThatCannotMove_SaysWhy(t *testing.T) {
	w, s := unhealthy(t)
	s.Settings.Applications = false
	w.SetReady("m2", false)
	w.SetReady("m3", false)
	x, text := explained(t, s, "")
	require.Contains(t, text, "application: no failover of it runs")
	require.Contains(t, text, "it tolerates 5m of Unhealthy")
	require.Contains(t, text, "Lifeboat does not follow spec.failover.application: applicationFailover.enabled is false")
	require.Contains(t, text, "m1 Unhealthy; if its time ran out now: it should move and could not: NoTarget")
	require.Contains(t, x.Runbook, reason.NoTarget)

	w.Change(cart, func(b *karmada.Binding) { b.Application.TolerationSeconds = -1 })
	_, text = explained(t, s, "")
	require.Contains(t, text, "could not: Malformed: spec.failover.application.decisionConditions.tolerationSeconds is negative")
}

func TestBinding_ApplicationWithoutAHealthInterpreter_SaysThatItsTimeDoesNotRun(t *testing.T) {
	w, s := unhealthy(t)
	w.Change(cart, func(b *karmada.Binding) {
		b.Status.Aggregated = []karmada.AggregatedItem{{Cluster: "m1", Health: karmada.HealthUnknown}, {Cluster: "m2", Health: karmada.HealthHealthy}}
	})
	_, text := explained(t, s, "")
	require.Contains(t, text, "m1 Unknown: its time does not run; if its time ran out now: it would go to m2 or m3")
	require.Contains(t, text, "m2 Healthy; if its time ran out now")
}

func TestBinding_Application_SaysHowItsLastFailoverEnded(t *testing.T) {
	_, s := unhealthy(t)
	rec := func(ago time.Duration, kind record.Kind, edit func(*record.Audit)) record.Audit {
		r := record.Audit{
			Time: now.Add(-ago), Kind: kind, Attempt: 1, FailoverID: "f", Cluster: "m2", Workflow: ofCart, Bindings: []string{cart.String()}, Cause: record.CauseApplication,
		}
		edit(&r)
		return r
	}
	s.Trail = []record.Audit{
		rec(2*time.Hour, record.AuditBindingOutcome, func(r *record.Audit) {
			r.Outcome, r.Reason, r.To = phase.OutcomeMigrated, reason.Purged, []string{"m1"}
		}),
		rec(time.Hour, record.AuditFailoverClosed, func(r *record.Audit) { r.Phase = string(phase.ApplicationMigrated) }),
	}
	x, text := explained(t, s, "")
	require.Equal(t, "f", x.Application.Last.FailoverID)
	require.Contains(t, text, "before: Migrated 11:00:00 UTC (1h ago); off m2, attempt 1: Migrated, Purged, application, now on m1")
	for _, c := range x.Clusters {
		require.Empty(t, c.Ended, "it is no failover of %s", c.Cluster)
	}
}
