package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// Seen: a drain of a name that is no cluster's left a failover behind that ended as Gone, and
// history, status and the orders did not tell such a name from a cluster that is well.
func TestANameThatIsNoClustersIsNotFoundAndTheNearestIsOffered(t *testing.T) {
	for _, line := range []string{
		"drain member9 --yes --reason x", "undrain member9 --yes --reason x", "taint member9 a:NoExecute --yes --reason x",
		"pause member9 --yes --reason x", "status member9", "history member9",
	} {
		o := &office{refuse: serviceerror.NewNotFound("no such workflow")}
		out, code := o.tell(t, strings.Fields(line)...)
		require.Equal(t, process.ExitNotFound, code, "%s: %s", line, out)
		require.Contains(t, out, "no such cluster: member9; did you mean member1 or member2?", line)
		require.Empty(t, o.started, "%s: no failover was begun", line)
	}
	out, _ := (&office{}).tell(t, "status", "elsewhere")
	require.Contains(t, out, "no such cluster: elsewhere")
	require.NotContains(t, out, "did you mean")
}

func TestAClusterWithoutAFailoverIsNotTakenForNone(t *testing.T) {
	out, code := (&office{}).tell(t, "status", "member1")
	require.Equal(t, process.ExitNotFound, code)
	require.Contains(t, out, "no failover of cluster member1 runs or is kept")
	require.Contains(t, out, "Karmada has the cluster")
	out, code = (&office{}).tell(t, "history", "member1")
	require.Equal(t, process.ExitOK, code, out)
	require.Contains(t, out, "No failover is over")
}

// unreadFleet is a Karmada whose clusters the caller may not list.
type unreadFleet struct{ held }

func (unreadFleet) Cluster(context.Context, string) (karmada.Cluster, error) {
	return karmada.Cluster{}, karmada.ErrForbidden
}

func (unreadFleet) Clusters(context.Context) ([]karmada.Cluster, error) {
	return nil, karmada.ErrForbidden
}

// oneCluster is a Karmada of which the caller may read clusters by name, and not list them.
type oneCluster struct{ unreadFleet }

func (oneCluster) Cluster(_ context.Context, name string) (karmada.Cluster, error) {
	if name != "member1" {
		return karmada.Cluster{}, karmada.ErrGone
	}
	return karmada.Cluster{Name: name, UID: "u"}, nil
}

func TestExists_WhoMayOnlyReadByName_BeginsNoFailoverOnATypo(t *testing.T) {
	for name, want := range map[string]bool{"member1": true, "member9": false} {
		o := &office{t: t}
		a := newApp()
		a.dial = func(context.Context, process.TemporalOptions) (*process.Temporal, error) {
			return &process.Temporal{Client: o, Options: client.Options{}}, nil
		}
		a.karmada = func(config.Config, *slog.Logger) (activities.Reader, error) { return oneCluster{}, nil }
		cmd := a.command("lifeboat")
		cmd.SetOut(&strings.Builder{})
		cmd.SetErr(&strings.Builder{})
		cmd.SetArgs(strings.Fields("drain " + name + " --yes --reason x"))
		err := cmd.ExecuteContext(t.Context())
		if want {
			require.NoError(t, err)
			require.Equal(t, workflows.UpdateDrain, o.update)
			continue
		}
		require.ErrorContains(t, err, "no such cluster: member9")
		require.Empty(t, o.update)
		require.Empty(t, o.started)
	}
}

func TestWhoMayNotReadKarmadaOrdersAllTheSame(t *testing.T) {
	o := &office{t: t}
	a := newApp()
	a.dial = func(context.Context, process.TemporalOptions) (*process.Temporal, error) {
		return &process.Temporal{Client: o, Options: client.Options{}}, nil
	}
	for _, karmada := range []func() (activities.Reader, error){
		func() (activities.Reader, error) { return unreadFleet{}, nil },
		func() (activities.Reader, error) { return nil, errors.New("no kubeconfig") },
	} {
		o.update = ""
		a.karmada = func(config.Config, *slog.Logger) (activities.Reader, error) { return karmada() }
		cmd := a.command("lifeboat")
		cmd.SetOut(&strings.Builder{})
		cmd.SetErr(&strings.Builder{})
		cmd.SetArgs(strings.Fields("drain member9 --yes --reason x"))
		require.NoError(t, cmd.ExecuteContext(t.Context()))
		require.Equal(t, workflows.UpdateDrain, o.update)
	}
}

func TestAVerbThatIsMistypedIsOffered(t *testing.T) {
	out, code := run(t, "statsu")
	require.Equal(t, process.ExitUsage, code)
	require.Contains(t, out, `unexpected argument "statsu"; did you mean status?`)
}

func TestTheNearestNamesAreThoseWithFewestTypos(t *testing.T) {
	names := []string{"member2", "member1", "edge"}
	for wrong, want := range map[string]string{
		"membr1": "; did you mean member1?", "edgee": "; did you mean edge?",
		"member": "; did you mean member1 or member2?", "other": "", "": "",
	} {
		require.Equal(t, want, didYouMean(wrong, names), wrong)
	}
	require.Zero(t, distance("a", "a"))
	require.Equal(t, 3, distance("", "abc"))
}
