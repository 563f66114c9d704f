package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// underWorkers is a command line where workers publish a configuration, nil for none.
func underWorkers(t *testing.T, inForce map[string]string, line string) string {
	t.Helper()
	w := world.New(time.Now)
	w.AddCluster("member1")
	w.AddCluster("member2")
	w.AddBinding(karmada.Binding{
		Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}, Replicas: 1, SchedulerName: karmada.DefaultSchedulerName,
		Resource: karmada.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "cart"},
		Clusters: []karmada.TargetCluster{{Name: "member1", Replicas: 1}}, Placement: &karmada.Placement{},
	})
	a := newApp()
	a.karmada = func(c config.Config, _ *slog.Logger) (activities.Reader, error) {
		require.Equal(t, inForce["rules.karmadaPolicies"] != "false", c.Rules.KarmadaPolicies)
		return w, nil
	}
	a.dial = func(context.Context, process.TemporalOptions) (*process.Temporal, error) {
		return &process.Temporal{Client: &office{t: t, pacer: &workflows.PacerStatus{PacerState: workflows.PacerState{InForce: inForce}}}, Options: client.Options{}}, nil
	}
	var out strings.Builder
	cmd := a.command("lifeboat")
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(strings.Fields(line))
	require.NoError(t, cmd.ExecuteContext(t.Context()), line)
	return out.String()
}

// Seen: explain said "observe mode" of a fleet that enforces, to a caller who had configured nothing.
//
// Rules: R4.15-32.
func TestWhoPlansOrExplainsGoesByTheConfigurationOfTheWorkers(t *testing.T) {
	told := map[string]string{"mode": "enforce", "rules.karmadaPolicies": "false"}
	require.Contains(t, underWorkers(t, told, "explain shop/cart"), "enforce mode")
	require.Contains(t, underWorkers(t, told, "plan member1 -o json"), `"mode": "enforce"`)
	require.NotContains(t, underWorkers(t, told, "plan member1"), "the caller's is used")
	require.Contains(t, underWorkers(t, told, "plan member1 -o json --set mode=observe"), `"mode": "observe"`, "to see what it would change")
	require.Contains(t, underWorkers(t, nil, "explain shop/cart"), "observe mode")
	require.Contains(t, underWorkers(t, nil, "explain shop/cart"), "the workers' configuration, the caller's is used: no worker has published")
}

// Rules: R4.15-32.
func TestACombinationThatContradictsItselfLeavesTheCallersConfiguration(t *testing.T) {
	out := underWorkers(t, map[string]string{"mode": "enforce", "health.minHealthy": "14m"}, "plan member1 --set health.gracefulTimeout=10m --set health.detection=1m")
	require.Contains(t, out, "it does not go with the caller's")
}
