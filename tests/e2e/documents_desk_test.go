package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/lifeboat-failover/lifeboat/tests/documents"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// run types one command of a document and holds how it ends against the table.
func (d *desk) run(step documents.Step) {
	says := regexp.MustCompile("(?m)" + step.Says)
	var out string
	var code int
	right := func() (bool, string) {
		out, code = d.answer(step, says)
		out = d.documented(out)
		ok := (code == step.Exit || step.Or != 0 && code == step.Or) && says.MatchString(out)
		return ok, fmt.Sprintf("$ %s\nended with %d, and said:\n%s", step.Run, code, out)
	}
	if step.Look {
		d.await("$ "+step.Run, right)
		return
	}
	ok, seen := right()
	require.True(d, ok, "%s\nthe table wants %d, and /%s/", seen, step.Exit, step.Says)
	d.Logf("$ %s", step.Run)
}

// answer is what a command says, and its exit code.
func (d *desk) answer(step documents.Step, until *regexp.Regexp) (string, int) {
	line := d.real(step.Run)
	switch program, rest, _ := strings.Cut(line, " "); {
	case program == "export":
		d.env = append(d.env, strings.Fields(strings.ReplaceAll(rest, "temporal-frontend:7233", d.lab.At.TemporalAddress))...)
		return "", 0
	case program == "temporal":
		return d.temporalCLI(rest)
	case step.Serves:
		return d.served(line, step, until)
	case strings.Contains(line, "--reason "):
		line += " --yes" // as docs/cli.md says for whoever has no terminal
	}
	cmd := d.shell(line)
	switch {
	case strings.HasPrefix(line, "lifeboat setup"): // which is for who installs
		cmd.Env = append(slices.Clone(cmd.Env), "KUBECONFIG=setup.kubeconfig")
	case strings.HasPrefix(line, "kubectl "):
		cmd.Env = append(slices.Clone(cmd.Env), "KUBECONFIG=host.kubeconfig", "KUBECACHEDIR="+filepath.Join(d.folder, "cache"))
	}
	out, err := cmd.CombinedOutput()
	return string(out), exitCode(d, err)
}

// exitCode is the code of a program that has ended.
func exitCode(t require.TestingT, err error) int {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode()
	}
	require.NoError(t, err)
	return 0
}

func (d *desk) shell(line string) *exec.Cmd {
	cmd := exec.CommandContext(d.ctx, "sh", "-c", line, "sh", "status", "") //nolint:gosec // from a document of this repository
	cmd.Dir, cmd.Env = d.folder, d.env
	return cmd
}

// served starts what ends only when it is told to, and tells it so once it says what it
// should, or is ready.
func (d *desk) served(line string, step documents.Step, until *regexp.Regexp) (string, int) {
	address, err := freeAddress(d.ctx)
	require.NoError(d, err)
	line = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(line, address)
	cmd := d.shell("exec " + line)
	cmd.Env = append(slices.Clone(cmd.Env), "LIFEBOAT_LISTEN_ADDRESS="+address, "LIFEBOAT_CODEC_ADDRESS="+address)
	if strings.HasPrefix(line, "lifeboat-worker") {
		cmd.Env = append(cmd.Env, "KUBECONFIG=secrets/worker/kubeconfig")
	} else if strings.HasPrefix(line, "lifeboat controller") {
		cmd.Env = append(cmd.Env, "KUBECONFIG=secrets/controller/kubeconfig")
	}
	p, err := launch(line, filepath.Join(d.TempDir(), "log"), cmd)
	require.NoError(d, err)
	told := func() string { return tail(p.log, 1000) }
	d.awaitQuietly("$ "+line, func() (bool, string) {
		if p.ended() != nil {
			return true, ""
		}
		if step.Says != "" {
			return until.MatchString(d.documented(told())), told()
		}
		return ask(d.ctx, http.DefaultClient, "http://"+address+"/readyz") == "", told()
	})
	require.NoError(d, ignore(cmd.Process.Signal(syscall.SIGINT), os.ErrProcessDone))
	<-p.done
	return told(), exitCode(d, p.end)
}

func ignore(err, what error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

// real puts the lab's names for those of the documents.
func (d *desk) real(text string) string {
	for _, p := range []struct{ of, with string }{
		{of: `<cluster>`, with: d.c(1)},
		{of: `<file or folder>|/var/log/lifeboat`, with: d.trail},
		{of: `\bmember(\d)\b`, with: d.story.short + "$1"},
		{of: `\bshop\b`, with: d.namespace()},
	} {
		text = regexp.MustCompile(p.of).ReplaceAllString(text, p.with)
	}
	return text
}

// documented is real the other way attempt.
func (d *desk) documented(text string) string {
	text = regexp.MustCompile(`\b`+d.story.short+`(\d)\b`).ReplaceAllString(text, "member$1")
	return regexp.MustCompile(`\b`+d.namespace()+`\b`).ReplaceAllString(text, "shop")
}

// temporalCLI asks the server what the temporal CLI would: that is not there.
func (d *desk) temporalCLI(rest string) (string, int) {
	flag := func(name string) string {
		found := regexp.MustCompile(`--` + name + ` (?:"([^"]*)"|'([^']*)'|(\S+))`).FindStringSubmatch(rest)
		require.NotNil(d, found, "%s wants --%s", rest, name)
		return found[1] + found[2] + found[3]
	}
	verb, _, _ := strings.Cut(rest, " --")
	var answer any
	var err error
	switch verb {
	case "workflow list":
		answer, err = d.temporal.ListWorkflow(d.ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: d.lab.At.TemporalNamespace, Query: flag("query"), PageSize: 10,
		})
	case "workflow describe":
		answer, err = d.temporal.DescribeWorkflowExecution(d.ctx, flag("workflow-id"), "")
	case "workflow signal":
		err = d.temporal.SignalWorkflow(d.ctx, flag("workflow-id"), "", flag("name"), json.RawMessage(flag("input")))
	case "task-queue describe":
		answer, err = d.temporal.WorkflowService().DescribeTaskQueue(d.ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: d.lab.At.TemporalNamespace, TaskQueue: &taskqueuepb.TaskQueue{Name: flag("task-queue")},
			TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
		})
	default:
		require.Fail(d, "no such command of temporal is known here", rest)
	}
	if err != nil {
		return err.Error(), 1
	}
	return fmt.Sprint(answer), 0
}
