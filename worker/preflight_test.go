package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/mocks"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// world is a Temporal and a Karmada as the preflight finds them.
type world struct {
	notReady error
	rules    error
	evidence string
	denied   string // verb or subresource that is not granted
}

func (w world) Ready(context.Context, []string) error { return w.notReady }

func (w world) Rules(context.Context) ([]rules.Rule, error) { return nil, w.rules }

func (w world) SecondEvictor(context.Context) (string, error) { return w.evidence, nil }

func (w world) Preflight(_ context.Context, permissions []k8sadapter.Permission) []k8sadapter.Finding {
	var findings []k8sadapter.Finding
	for _, p := range permissions {
		findings = append(findings, k8sadapter.Finding{Permission: p, Allowed: w.denied == "" || p.Verb != w.denied && p.Subresource != w.denied})
	}
	return findings
}

var quiet = slog.New(slog.DiscardHandler)

func enforcing() config.Config {
	c := config.Default()
	c.Mode = rules.ModeEnforce
	return c
}

func (w world) check(t *testing.T, mode rules.Mode) error {
	t.Helper()
	c := config.Default()
	c.Mode = mode
	answered, err := preflight(t.Context(), c, w, guardFor(c, w, func(bool) {}, quiet), quiet)
	require.Equal(t, w.notReady == nil && !silent(w.rules), answered)
	return err
}

func TestAWorkerStartsWhereItCanWork(t *testing.T) {
	require.NoError(t, world{}.check(t, rules.ModeObserve))
	require.NoError(t, world{}.check(t, rules.ModeEnforce))
	require.NoError(t, world{rules: karmada.ErrUnreachable}.check(t, rules.ModeEnforce), "it waits for Karmada")
	missing := errors.New("namespace does not exist; " + process.SetupHint)
	require.ErrorIs(t, world{notReady: missing}.check(t, rules.ModeObserve), missing)
	require.ErrorContains(t, world{rules: karmada.ErrGone}.check(t, rules.ModeObserve), "lifeboat setup")
}

// returning is a Karmada that answers only from the third question on.
type returning struct {
	world
	asked int
}

func (r *returning) Rules(ctx context.Context) ([]rules.Rule, error) {
	if r.asked++; r.asked < 3 {
		return nil, karmada.ErrUnreachable
	}
	return r.world.Rules(ctx)
}

// A worker that starts during an outage asks the same questions after it.
//
// Rules: R4.15-27.
func TestAKarmadaThatAnswersLaterIsAskedThen(t *testing.T) {
	c := enforcing()
	fine := &returning{}
	guard := guardFor(c, fine, func(bool) {}, quiet)
	_, err := preflight(t.Context(), c, fine, guard, quiet)
	require.NoError(t, err)
	require.NotEmpty(t, guard.secondEvictor(), "nothing begins before Karmada has answered")
	require.NoError(t, awaitKarmada(t.Context(), time.Millisecond, c, guard))
	require.Equal(t, 3, fine.asked, "once it has answered it is left alone")
	require.Empty(t, guard.secondEvictor())
	denied := &returning{world: world{denied: "patch"}}
	err = awaitKarmada(t.Context(), time.Millisecond, c, guardFor(c, denied, func(bool) {}, quiet))
	require.ErrorIs(t, err, karmada.ErrForbidden)
	fatal := make(chan error, 1)
	host{fatal: fatal}.endWith(func() error { return err })
	require.Equal(t, process.ExitFailed, exitCode(fmt.Errorf("the worker cannot go on: %w", <-fatal)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, awaitKarmada(ctx, time.Hour, c, guardFor(c, denied, func(bool) {}, quiet)), "a worker that stops asks nobody")
}

// Rules: R4.15-23.
func TestTheWorkerWarnsOfSeveralEvictPluginsUnderAny(t *testing.T) {
	c := config.Default()
	c.EvictPlugins.List = append(c.EvictPlugins.List, proof.Plugin{Name: "dns", TaskQueue: "q", Activity: "a"})
	for mode, warns := range map[proof.PluginsMode]bool{proof.PluginsAny: true, proof.PluginsAll: false} {
		var said bytes.Buffer
		c.EvictPlugins.Mode = mode
		log := slog.New(slog.NewTextHandler(&said, nil))
		_, err := preflight(t.Context(), c, world{}, guardFor(c, world{}, func(bool) {}, log), log)
		require.NoError(t, err, "it is no reason not to start")
		require.Equal(t, warns, strings.Contains(said.String(), proof.WarnAnyOfSeveral))
	}
}

// Rules: R4.15-15.
func TestMissingPermissionsAreNamedByVerbAndResource(t *testing.T) {
	err := world{rules: karmada.ErrForbidden, denied: "patch"}.check(t, rules.ModeEnforce)
	require.ErrorIs(t, err, karmada.ErrForbidden)
	require.ErrorContains(t, err, "patch clusters.cluster.karmada.io: to taint and untaint")
	require.ErrorContains(t, err, "patch resourcebindings.work.karmada.io")
	require.NoError(t, world{denied: "patch"}.check(t, rules.ModeObserve), "who observes patches nothing")
}

// Without it no release would ever be proven, and each migration would end at the graceful timeout.
func TestAWorkerThatMayNotUseTheConfiguredProbeSaysWhatToDo(t *testing.T) {
	c := enforcing()
	c.Health.Probe = config.ProbeProxy
	w := world{denied: "proxy"}
	_, err := preflight(t.Context(), c, w, guardFor(c, w, func(bool) {}, quiet), quiet)
	require.ErrorIs(t, err, karmada.ErrForbidden)
	require.ErrorContains(t, err, "get clusters/proxy.cluster.karmada.io: to probe targets: deploy/rbac does not grant it; grant it, or set health.probe to endpoint or none")
	require.NoError(t, w.check(t, rules.ModeEnforce), "by default there is no probe")
}

func TestSettingsCarryWhatWasConfigured(t *testing.T) {
	c := config.Default()
	c.Mode, c.Instance, c.Windows.InFlight, c.Workflow.PendingPurgeWait = rules.ModeEnforce, "eu", 7, 9
	c.ExcludeNamespaces, c.Capacity.UnknownIsRoom = []string{"tools"}, true
	require.False(t, process.Settings(c).StateMissingOK || process.Settings(c).Terms.ReleaseUnproven, "off by default")
	c.WhenStateMissing, c.Health.ReleaseUnproven = config.StateProceed, true
	s := process.Settings(c)
	require.True(t, s.StateMissingOK && s.Terms.ReleaseUnproven)
	require.Equal(t, "eu", s.Instance)
	require.Equal(t, rules.ModeEnforce, s.Terms.Mode)
	require.Equal(t, 7, s.Terms.InFlight)
	require.EqualValues(t, 9, s.Terms.PendingPurgeWait)
	require.Equal(t, []string{"tools"}, s.ExcludeNamespaces)
	require.True(t, s.RoomUnknownOK)
}

func TestWrongUsageEndsWithTwo(t *testing.T) {
	for _, args := range [][]string{{"--nonsense"}, {"extra"}, {"--mode", "maybe"}, {"--set", "pace.evictionRate=-1"}} {
		cmd := command()
		cmd.SetArgs(args)
		err := cmd.ExecuteContext(t.Context())
		require.Equal(t, process.ExitUsage, exitCode(err), "%v: %v", args, err)
	}
	require.Equal(t, process.ExitOK, exitCode(nil))
	require.Equal(t, process.ExitFailed, exitCode(errors.New("other")))
}

const standing = "ResourceBinding shop/cart carries a task of producer TaintManager"

// leaving is a Karmada whose second evictor is gone after some looks.
type leaving struct {
	world
	looks, gone int
	silent      bool
}

func (l *leaving) SecondEvictor(context.Context) (string, error) {
	l.looks++
	switch {
	case l.silent:
		return "", karmada.ErrUnreachable
	case l.looks > l.gone:
		return "", nil
	}
	return standing, nil
}

// Rules: R4.15-19, R4.15-27.
func TestAWorkerBesideASecondEvictorStartsAndSaysWhatToDo(t *testing.T) {
	c := enforcing()
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	var gauge bool
	beside := &leaving{gone: 3}
	guard := guardFor(c, beside, func(on bool) { gauge = on }, log)
	answered, err := preflight(t.Context(), c, beside, guard, log)
	require.NoError(t, err, "it starts: what has begun has to be cleaned up")
	require.True(t, answered)
	require.Equal(t, standing, guard.secondEvictor())
	require.True(t, gauge)
	require.Contains(t, said.String(), "begins no new eviction")
	require.Contains(t, said.String(), "shop/cart")
	flags, controllers := strings.Index(said.String(), "--feature-gates=Failover=false"), strings.Index(said.String(), "-gracefulEviction")
	require.Positive(t, flags)
	require.Greater(t, controllers, flags, "gracefulEviction goes last: it ends the tasks that stand")

	guard.watch(t.Context(), time.Millisecond)
	require.Equal(t, 4, beside.looks, "it looks until the tasks are gone, and then no more")
	require.Empty(t, guard.secondEvictor())
	require.False(t, gauge)
	require.Equal(t, 1, strings.Count(said.String(), "begins no new eviction"), "each finding is logged once")
	require.Contains(t, said.String(), "evicts again")
}

// Rules: R4.15-27.
func TestAGuardThatCannotAskAssumesASecondEvictor(t *testing.T) {
	c := enforcing()
	unseen := &leaving{silent: true}
	guard := guardFor(c, unseen, func(bool) {}, quiet)
	require.Error(t, guard.look(t.Context()))
	require.Equal(t, unanswered, guard.secondEvictor())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	guard.watch(ctx, time.Hour)
	require.NotEmpty(t, guard.secondEvictor())
}

// A worker that observes begins nothing anyway, and asks nothing.
func TestAnObservingWorkerLooksForNoSecondEvictor(t *testing.T) {
	beside := &leaving{gone: 9}
	guard := guardFor(config.Default(), beside, func(bool) { t.Error("it has no gauge") }, quiet)
	require.NoError(t, guard.look(t.Context()))
	guard.watch(t.Context(), time.Hour)
	require.Zero(t, beside.looks)
	require.Empty(t, guard.secondEvictor())
}

// hostCluster is where Karmada's controller manager runs with its flags.
type hostCluster struct {
	flags []string
	err   error
}

func (m hostCluster) ControllerManagerFlags(context.Context, string, string) ([]string, error) {
	return m.flags, m.err
}

// Rules: R4.15-20, R4.15-30.
func TestAWorkerReadsTheFlagsWhereItSeesThem(t *testing.T) {
	evicts := []string{"--feature-gates=Failover=true", "--enable-no-execute-taint-eviction=true"}
	for name, c := range map[string]struct {
		flags  flagReader
		beside bool
		said   string
	}{
		"no flags to be seen": {said: "could not be checked"},
		"no right to read":    {flags: hostCluster{err: karmada.ErrForbidden}, said: "could not be checked"},
		"Karmada evicts":      {flags: hostCluster{flags: evicts}, beside: true, said: "begins no new eviction"},
		"Karmada does not":    {flags: hostCluster{flags: []string{"--feature-gates=Failover=false"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			guard := guardFor(enforcing(), world{}, func(bool) {}, slog.New(slog.NewTextHandler(&said, nil)))
			guard.flags = c.flags
			require.NoError(t, guard.look(t.Context()))
			require.Equal(t, c.beside, guard.secondEvictor() != "")
			if c.said == "" {
				require.Empty(t, said.String())
			}
			require.Contains(t, said.String(), c.said)
		})
	}
}

// A worker that starts, with another configuration perhaps, has the pacer look again. Only
// what an operator should know is logged: a pacer that does not run looks when it begins.
//
// Rules: R4.15-32.
func TestAWorkerThatStartsPublishesItsConfiguration(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		logs bool
	}{
		{name: "told", err: nil},
		{name: "no pacer yet", err: serviceerror.NewNotFound("none")},
		{name: "Temporal is away", err: errors.New("away"), logs: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			client := mocks.NewClient(t)
			client.On("SignalWorkflow", mock.Anything, workflows.FleetPacerID("eu"), "", workflows.SignalFleetObserved, workflows.FleetObserved{}).Return(c.err).Once()
			publish(t.Context(), client, "eu", slog.New(slog.NewTextHandler(&log, nil)))
			require.Equal(t, c.logs, log.Len() > 0, log.String())
		})
	}
}

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
		"it does not answer":    {known: known{err: context.DeadlineExceeded}, says: []string{"cannot check whether this build is the current one"}},
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
	err := introduce(t.Context(), me, off, quiet)
	require.ErrorIs(t, err, off.err)
	require.ErrorContains(t, err, "temporal.versioning.deployment")
	require.NoError(t, introduce(t.Context(), config.Versioning{}, off, quiet), "who has no version asks nothing")
}

// Whoever shares a task queue with another instance, or starts a workflow for one that does
// not exist, has nothing done on this worker's Karmada.
func TestAWorkerActsForItsOwnInstanceAlone(t *testing.T) {
	key := karmada.BindingKey{Namespace: "shop", Name: "cart"}
	for id, own := range map[string]bool{
		workflows.ClusterFailoverID("eu", "m1"):       true,
		workflows.BindingMigrationID("eu", "m1", key): true,
		workflows.FleetPacerID("eu"):                  true,
		workflows.ClusterFailoverID("", "m1"):         false,
		workflows.ClusterFailoverID("us", "m1"):       false,
		workflows.BindingMigrationID("us", "m1", key): false,
		workflows.FleetPacerID("eu-2"):                false,
	} {
		t.Run(id, func(t *testing.T) {
			suite := &testsuite.WorkflowTestSuite{}
			env := suite.NewTestWorkflowEnvironment()
			env.SetTestTimeout(time.Minute)
			env.SetWorkerOptions(worker.Options{
				DeadlockDetectionTimeout: time.Minute, Interceptors: []interceptor.WorkerInterceptor{&ownInstance{instance: "eu"}},
			})
			env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: id, TaskQueue: "shared"})
			acted := false
			env.RegisterActivityWithOptions(func(context.Context) error { acted = true; return nil }, activity.RegisterOptions{Name: "act"})
			env.ExecuteWorkflow(func(ctx workflow.Context) error {
				ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
					StartToCloseTimeout: time.Minute, RetryPolicy: &sdktemporal.RetryPolicy{MaximumAttempts: 1},
				})
				return workflow.ExecuteActivity(ctx, "act").Get(ctx, nil)
			})
			require.Equal(t, own, acted)
			if !own {
				var refused *sdktemporal.ApplicationError
				require.ErrorAs(t, env.GetWorkflowError(), &refused)
				require.Equal(t, ErrorAnotherInstance, refused.Type())
				require.False(t, refused.NonRetryable(), "a worker of its own may take it")
			}
		})
	}
	require.True(t, workflows.OfInstance("", workflows.FleetPacerID("")))
	require.False(t, workflows.OfInstance("", workflows.FleetPacerID("eu")))
}
