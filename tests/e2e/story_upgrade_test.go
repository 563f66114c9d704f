package e2e

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

// upgradeFrom is where `make upgrade` has put the programs of the version before this one.
var upgradeFrom = flag.String("upgrade-from", "", "play the upgrade from the programs in this `folder`")

// TestUpgrade is a story of `make upgrade`: it wants the programs of another version.
func TestUpgrade(t *testing.T) {
	if *upgradeFrom == "" {
		t.Skip("make upgrade plays it")
	}
	told := &ledger{times: map[string]time.Duration{}}
	told.run(t, story{name: "upgraded_in_mid_failover", short: "up", size: 3, tell: upgraded, own: true}, shared)
	for name, took := range told.times {
		say("upgrade: %-53s ok, %3.0f s", name, took.Seconds())
	}
}

// upgraded begins a failover with the programs of another version, and replaces them in its
// middle: first a worker of this version comes beside the one of that, then the controller is
// replaced, then the old worker goes.
//
// It guards invariants 1, 2, 5 and 6 across versions: nothing is done twice, nothing is
// forgotten, and this version's worker takes over every history that the other began.
func upgraded(s *scene) {
	old, err := filepath.Abs(*upgradeFrom)
	require.NoError(s, err)
	require.NoError(s, s.stopProduct())
	s.built = old
	require.NoError(s, s.inMode(s.ctx, "enforce"))
	const optedOut = prefix + "enabled"
	l := s.oneOfEachKind(optedOut)
	from := s.c(1)

	s.built = ""
	before, beside := s.worker, s.besides("beside")
	s.annotate(l.idle, optedOut, "")
	s.awaitFailover(from, "both versions work", func(e *clusterFailover) bool { return e.outcome(l.idle) != nil })
	require.NoError(s, s.controller.stop())
	require.NoError(s, s.startController(s.ctx))
	require.NoError(s, before.stop())
	s.worker = beside
	s.annotate(l.slow, faultStuckReadyAt, "")
	s.order("confirm-fenced", l.fenced, "--cluster", from)
	s.awaitFailover(from, "and the new one alone", func(e *clusterFailover) bool {
		return e.outcome(l.slow) != nil && e.outcome(l.fenced) != nil
	})

	s.recovers(from, map[string]string{
		l.moved: "Migrated", l.slow: "Migrated", l.fenced: "Migrated", l.idle: "Migrated", l.bare: "Restored",
	})
	s.onceEach(l.fenced)
	ids := []string{pacerID, failoverID(from)}
	for _, k := range []string{l.slow, l.bare} { // the other went in a run of its own, once somebody had vouched
		ids = append(ids, migrationID(from, k))
	}
	for _, id := range ids {
		by := s.tasks(id)
		say("upgrade: %s: %d tasks by the old worker, of which %d failed, %d by the new one", id,
			by.done[before.identity()], by.failed[before.identity()], by.done[beside.identity()])
		require.Positive(s, by.done[before.identity()], "%s was begun by the old one", id)
		require.Positive(s, by.done[beside.identity()], "%s was ended by the new one", id)
		// Where a change is behind workflow.GetVersion, the old one fails at what the new one has begun.
		require.Zero(s, by.failed[beside.identity()], "%s: the new one can go on with what the old one began", id)
	}
}

// buildsChangeHands has one build of a Worker Deployment take over from another in the middle of
// a failover, in the middle of a write; then the first once more, and the second again. All that
// is told to Temporal is which build is the current one.
//
// It guards invariants 1, 2, 5, 6 and 8 with versioning on: no workflow is pinned to a build that
// is gone, nothing is done twice, and no task fails.
func buildsChangeHands(s *scene) {
	const optedOut = prefix + "enabled"
	from, to := s.ruledPair()
	slow := s.deploy("slow", from, 2, oneOf(from, to), faultStuckReadyAt+"="+to+"=1")
	late := s.deploy("late", from, 1, oneOf(from, to), optedOut+"=false")

	unversioned := s.worker
	a := s.besides("a", "temporal.versioning.deployment=lifeboat", "temporal.versioning.buildId=a")
	s.is("a")
	require.NoError(s, unversioned.stop())
	s.worker = a
	s.kill(from)
	s.awaitFailover(from, "one waits for its health", func(e *clusterFailover) bool { return e.Migrations[slow].Phase == "AwaitingHealth" })
	s.at("a", pacerID, failoverID(from), migrationID(from, slow))
	answer := s.gate.stopAt(true, func(w write) bool { return w.evicts(late, from) })
	s.annotate(late, optedOut, "")
	s.reaches(answer, "the eviction is written, its answer on its way")

	b := s.besides("b", "temporal.versioning.deployment=lifeboat", "temporal.versioning.buildId=b")
	s.is("b")
	s.at("b", pacerID, failoverID(from), migrationID(from, slow))
	answer.letGo()
	require.NoError(s, a.stop())
	s.worker = b
	s.awaitFailover(from, "what was written goes on", func(e *clusterFailover) bool { o := e.outcome(late); return o != nil && o.Outcome == "Migrated" })

	a = s.besides("a", "temporal.versioning.deployment=lifeboat", "temporal.versioning.buildId=a")
	s.is("a") // a rollback
	s.at("a", pacerID, failoverID(from), migrationID(from, slow))
	require.NoError(s, b.stop())
	s.worker = a
	s.annotate(slow, faultStuckReadyAt, "")
	s.phase(from, "Evacuated")

	b = s.besides("b", "temporal.versioning.deployment=lifeboat", "temporal.versioning.buildId=b")
	s.is("b")
	require.NoError(s, a.stop())
	s.worker = b
	s.recovers(from, map[string]string{slow: "Migrated", late: "Migrated"})
	s.onceEach("")
	for _, id := range []string{pacerID, failoverID(from), migrationID(from, slow), migrationID(from, late)} {
		require.Empty(s, s.tasks(id).failed, id)
	}
}

// besides starts one more worker beside those that run, with settings of its own.
func (s *scene) besides(name string, settings ...string) *process {
	args := []string{"--mode", s.mode}
	for _, each := range settings {
		args = append(args, "--set", each)
	}
	p, err := s.serve(s.ctx, "lifeboat-worker", name, filepath.Join(s.folder, "worker.kubeconfig"), args...)
	require.NoError(s, err)
	s.Cleanup(func() {
		if p.ended() == nil && p != s.worker {
			require.NoError(s, p.stop())
		}
	})
	return p
}

// is makes a build the current one, as soon as Temporal has heard of it, and waits until that is
// everywhere: what `temporal worker deployment set-current-version` does.
func (s *scene) is(build string) {
	all := s.temporal.WorkerDeploymentClient().GetHandle("lifeboat")
	s.await("build "+build+" is current", func() (bool, string) {
		_, err := all.SetCurrentVersion(s.ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		if err != nil {
			return false, err.Error()
		}
		known, err := all.Describe(s.ctx, client.WorkerDeploymentDescribeOptions{})
		want := worker.WorkerDeploymentVersion{DeploymentName: "lifeboat", BuildID: build}
		current := known.Info.RoutingConfig.CurrentVersion
		return err == nil && current != nil && *current == want, fmt.Sprintf("%+v, %v", known.Info.RoutingConfig, err)
	})
}

// at waits until workflows have moved to a build; none is pinned to it.
func (s *scene) at(build string, ids ...string) {
	for _, id := range ids {
		s.await(id+" is at build "+build, func() (bool, string) {
			d, err := s.temporal.DescribeWorkflowExecution(s.ctx, id, "")
			if err != nil {
				return false, err.Error()
			}
			v := d.GetWorkflowExecutionInfo().GetVersioningInfo()
			auto := v.GetBehavior() == enumspb.VERSIONING_BEHAVIOR_AUTO_UPGRADE
			return auto && v.GetDeploymentVersion().GetBuildId() == build, v.String()
		})
	}
}

// identity is what a worker calls itself in Temporal, for as much as is the same in every history.
func (p *process) identity() string { return fmt.Sprintf(":%d", p.cmd.Process.Pid) }

// shares is how many workflow tasks of a run each worker has done, and at how many it failed.
type shares struct{ done, failed map[string]int }

// tasks are those of a workflow's last run.
func (s *scene) tasks(id string) shares {
	by := shares{done: map[string]int{}, failed: map[string]int{}}
	who := func(identity string) string { return identity[strings.LastIndex(identity, ":"):] }
	for _, event := range s.eventsOf(id, "") {
		switch a := event.GetAttributes().(type) {
		case *history.HistoryEvent_WorkflowTaskCompletedEventAttributes:
			by.done[who(a.WorkflowTaskCompletedEventAttributes.GetIdentity())]++
		case *history.HistoryEvent_WorkflowTaskFailedEventAttributes:
			failed := a.WorkflowTaskFailedEventAttributes
			if failed.GetCause() != enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND { // news came meanwhile
				s.Logf("%s: a task failed: %s", id, failed)
				by.failed[who(failed.GetIdentity())]++
			}
		}
	}
	return by
}
