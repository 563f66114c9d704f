package main

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

func TestAWorkerHasNoVersionUntilADeploymentIsNamed(t *testing.T) {
	require.Equal(t, worker.DeploymentOptions{}, deployed(config.Default().Temporal.Versioning))
	require.Equal(t, worker.DeploymentOptions{
		UseVersioning: true, Version: worker.WorkerDeploymentVersion{DeploymentName: "lifeboat", BuildID: "v2"},
	}, deployed(config.Versioning{Deployment: "lifeboat", BuildID: "v2"}))
}

func TestABuildIsCalledAsTheProgramUnlessItIsNamed(t *testing.T) {
	was := telemetry.Version
	t.Cleanup(func() { telemetry.Version = was })
	telemetry.Version = "v0.3.0"
	for want, is := range map[string]config.Versioning{"": {}, "v0.3.0": {Deployment: "lifeboat"}, "b": {Deployment: "lifeboat", BuildID: "b"}} {
		c := config.Default()
		c.Temporal.Versioning = is
		got, err := named(c)
		require.NoError(t, err)
		require.Equal(t, config.Versioning{Deployment: is.Deployment, BuildID: want}, got.Temporal.Versioning)
	}
	telemetry.Version = unstamped
	c := config.Default()
	c.Temporal.Versioning.Deployment = "lifeboat"
	_, err := named(c)
	require.ErrorContains(t, err, `temporal.versioning.buildId = "": this program has no version of its own: name the build here`)
	require.Equal(t, process.ExitUsage, exitCode(err))
}

// known is what Temporal says of a deployment.
type known struct {
	client.WorkerDeploymentHandle
	current *worker.WorkerDeploymentVersion
	err     error
}

func (k known) GetHandle(string) client.WorkerDeploymentHandle { return k }

func (k known) Describe(context.Context, client.WorkerDeploymentDescribeOptions) (client.WorkerDeploymentDescribeResponse, error) {
	var r client.WorkerDeploymentDescribeResponse
	r.Info.RoutingConfig.CurrentVersion = k.current
	return r, k.err
}

func TestABuildThatGetsNoWorkSaysWhatGivesItSome(t *testing.T) {
	const command = `command="temporal worker deployment set-current-version --deployment-name lifeboat --build-id b"`
	const waits = "this build gets no work until it is made the current one"
	me := config.Versioning{Deployment: "lifeboat", BuildID: "b"}
	mine := worker.WorkerDeploymentVersion{DeploymentName: "lifeboat", BuildID: "b"}
	for name, is := range map[string]struct {
		known
		says []string
	}{
		"nobody knows it yet":   {known: known{err: serviceerror.NewNotFound("no such deployment")}, says: []string{waits, `current="workers without a version"`, command}},
		"no build is current":   {known: known{}, says: []string{waits, `current="workers without a version"`, command}},
		"another is current":    {known: known{current: &worker.WorkerDeploymentVersion{DeploymentName: "lifeboat", BuildID: "a"}}, says: []string{waits, `current="build a"`, command}},
		"it does not answer":    {known: known{err: context.DeadlineExceeded}, says: []string{"could not ask whether this build is the current one"}},
		"it is the current one": {known: known{current: &mine}, says: []string{"this build is the current one"}},
	} {
		var said bytes.Buffer
		require.NoError(t, introduce(t.Context(), me, is.known, slog.New(slog.NewTextHandler(&said, nil))), name)
		for _, part := range is.says {
			require.Contains(t, said.String(), part, name)
		}
		require.Equal(t, slices.Contains(is.says, waits), bytes.Contains(said.Bytes(), []byte("no work")), name)
	}
}

func TestATemporalWithoutDeploymentsIsNamedAtTheStart(t *testing.T) {
	me := config.Versioning{Deployment: "lifeboat", BuildID: "b"}
	off := known{err: serviceerror.NewPermissionDenied("worker deployment versions are disabled", "")}
	err := introduce(t.Context(), me, off, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, off.err)
	require.ErrorContains(t, err, "temporal.versioning.deployment")
	require.NoError(t, introduce(t.Context(), config.Versioning{}, off, slog.New(slog.DiscardHandler)), "who has no version asks nothing")
}
