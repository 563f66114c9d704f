package builds

import (
	"flag"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/registry"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

// server is the lab's Temporal, as `make lab-bin` builds it.
var server = flag.String("server", "", "run on the Temporal server that this `program` is")

const (
	queue    = "lifeboat"
	name     = "lifeboat" // of the deployment
	pacer    = "fleet-pacer"
	patience = 2 * time.Minute
	look     = 200 * time.Millisecond
)

// lab is a Temporal of its own, and nothing else.
type lab struct {
	*testing.T
	client.Client
}

func newLab(t *testing.T) *lab {
	t.Helper()
	if *server == "" {
		t.Skip("make upgrade says with which server")
	}
	program, err := filepath.Abs(filepath.Join("../..", *server))
	require.NoError(t, err)
	args := []string{"--address=" + free(t), "--http-port=0", "--namespace=lifeboat", "--db-file=" + filepath.Join(t.TempDir(), "temporal.db")}
	for _, attribute := range workflows.SearchAttributeNames() {
		args = append(args, "--search-attribute="+attribute+"=Keyword")
	}
	cmd := exec.Command(program, args...) //nolint:gosec,noctx // Lifeboat's own server, killed below
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	l := &lab{T: t}
	t.Cleanup(func() {
		if l.Client != nil {
			l.Close()
		}
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait(), "it was killed")
	})
	l.await("Temporal answers", func() bool {
		l.Client, err = client.DialContext(t.Context(), client.Options{HostPort: args[0][len("--address="):], Namespace: "lifeboat"})
		return err == nil
	})
	return l
}

func free(t *testing.T) string {
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close() //nolint:errcheck // given away on purpose
	return listener.Addr().String()
}

func (l *lab) await(what string, is func() bool) {
	l.Helper()
	require.Eventually(l, is, patience, look, what)
	l.Log(what)
}

// work starts a worker of a build; one without a name has no version.
func (l *lab) work(build string) worker.Worker {
	options := worker.Options{Identity: "worker of build " + build}
	if build != "" {
		options.DeploymentOptions = worker.DeploymentOptions{
			UseVersioning: true, Version: worker.WorkerDeploymentVersion{DeploymentName: name, BuildID: build},
		}
	}
	w := worker.New(l.Client, queue, options)
	registry.Register(w)
	require.NoError(l, w.Start())
	return w
}

// is makes a build the current one; one without a name leaves the work to workers without a version.
func (l *lab) is(build string) {
	l.await("build "+build+" is current", func() bool {
		_, err := l.WorkerDeploymentClient().GetHandle(name).SetCurrentVersion(l.Context(), client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil
	})
}

// handedTo pokes the pacer until its next task was done by a build, and it answers from there.
func (l *lab) handedTo(build string) {
	l.await("the pacer is at build "+build, func() bool {
		if l.SignalWorkflow(l.Context(), pacer, "", "nobody-listens", nil) != nil {
			return false
		}
		d, err := l.DescribeWorkflowExecution(l.Context(), pacer, "")
		v := d.GetWorkflowExecutionInfo().GetVersioningInfo()
		at := v.GetDeploymentVersion().GetBuildId() == build && v.GetVersionTransition() == nil
		return err == nil && at && (build == "" || v.GetBehavior() == enumspb.VERSIONING_BEHAVIOR_AUTO_UPGRADE)
	})
	_, err := l.QueryWorkflow(l.Context(), pacer, "", workflows.QueryStatus)
	require.NoError(l, err, "it answers")
}

// A workflow goes from workers without a version to a build, to the next one, back, and to none
// again, each time with the workers before it gone. No task of it fails.
func TestAWorkflowMovesFromBuildToBuildAndBack(t *testing.T) {
	l := newLab(t)
	_, err := l.WorkerDeploymentClient().GetHandle(name).Describe(t.Context(), client.WorkerDeploymentDescribeOptions{})
	var missing *serviceerror.NotFound
	require.ErrorAs(t, err, &missing, "what a worker takes for the first build of a deployment")

	before := l.work("")
	_, err = l.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: pacer, TaskQueue: queue}, workflows.TypeFleetPacer, workflows.FleetPacerParams{})
	require.NoError(t, err)
	l.handedTo("")
	for _, build := range []string{"a", "b", "a", ""} {
		next := l.work(build)
		l.is(build)
		before.Stop()
		l.handedTo(build)
		before = next
	}
	before.Stop()

	events := l.GetWorkflowHistory(t.Context(), pacer, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		if failed := event.GetWorkflowTaskFailedEventAttributes(); failed != nil {
			require.Equal(t, enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, failed.GetCause(), "news came meanwhile: %s", failed)
		}
	}
}
