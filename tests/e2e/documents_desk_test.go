package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/lifeboat-failover/lifeboat/tests/documents"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
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
	case strings.HasPrefix(line, "kubectl get "):
		return d.kubectlGet(strings.TrimPrefix(rest, "get "))
	case strings.HasPrefix(line, "kubectl annotate "):
		return d.kubectlAnnotate(strings.Fields(line)[2:])
	case step.Serves:
		return d.served(line, step, until)
	case strings.Contains(line, "--reason "):
		line += " --yes" // as docs/cli.md says for whoever has no terminal
	}
	cmd := d.shell(line)
	if strings.HasPrefix(line, "lifeboat setup") { // which is for who installs
		cmd.Env = append(slices.Clone(cmd.Env), "KUBECONFIG=setup.kubeconfig")
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
	var out safeBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(d, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	d.awaitQuietly("$ "+line, func() (bool, string) {
		if len(ended) > 0 {
			return true, ""
		}
		if step.Says != "" {
			return until.MatchString(d.documented(out.String())), out.String()
		}
		return ask(d.ctx, http.DefaultClient, "http://"+address+"/readyz") == "", out.String()
	})
	require.NoError(d, ignore(cmd.Process.Signal(syscall.SIGINT), os.ErrProcessDone))
	return out.String(), exitCode(d, <-ended)
}

func ignore(err, what error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

// safeBuffer is read while a program writes to it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
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

// kubectlGet asks the API server what kubectl would: that is not everywhere. The resource
// is found by what the server says that it serves.
func (d *desk) kubectlGet(rest string) (string, int) {
	rest, only, _ := strings.Cut(rest, " | grep ")
	words := strings.Fields(rest)
	resource, err := d.mapper().ResourceFor(schema.GroupVersionResource{Resource: words[0]})
	require.NoError(d, err, rest)
	var in dynamic.ResourceInterface = d.api.Resource(resource)
	name, options := "", metav1.ListOptions{}
	for at := 1; at < len(words); at++ {
		switch words[at] {
		case "-A", "--show-managed-fields":
		case "-n":
			at++
			in = d.api.Resource(resource).Namespace(words[at])
		case "-o":
			at++
			require.Equal(d, "yaml", words[at])
		case "--field-selector":
			at++
			options.FieldSelector = words[at]
		default:
			require.False(d, strings.HasPrefix(words[at], "-"), "not known here: %s", words[at])
			name = words[at]
		}
	}
	return listed(d.ctx, in, name, only, options)
}

// kubectlAnnotate sets an annotation as kubectl does.
func (d *desk) kubectlAnnotate(words []string) (string, int) {
	require.Len(d, words, 5, "kubectl annotate <resource> <name> -n <namespace> <key>=<value>")
	resource, err := d.mapper().ResourceFor(schema.GroupVersionResource{Resource: words[0]})
	require.NoError(d, err)
	key, value, _ := strings.Cut(words[4], "=")
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	require.NoError(d, err)
	_, err = d.api.Resource(resource).Namespace(words[3]).Patch(d.ctx, words[1], types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return err.Error(), 1
	}
	return words[1] + " annotated", 0
}

// mapper knows the resources by what the API server says that it serves.
func (d *desk) mapper() meta.RESTMapper {
	config, err := clientcmd.BuildConfigFromFlags("", d.lab.At.Kubeconfig)
	require.NoError(d, err)
	client, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(d, err)
	groups, err := restmapper.GetAPIGroupResources(client)
	require.NoError(d, err)
	return restmapper.NewDiscoveryRESTMapper(groups)
}

// listed is an object, or those of which a line of kubectl's would have a word in it.
func listed(ctx context.Context, in dynamic.ResourceInterface, name, only string, options metav1.ListOptions) (string, int) {
	if name != "" {
		u, err := in.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), 1
		}
		return fmt.Sprint(u.Object), 0
	}
	list, err := in.List(ctx, options)
	if err != nil {
		return err.Error(), 1
	}
	var names []string
	for i := range list.Items {
		if line := keyOf(&list.Items[i]); strings.Contains(line, only) {
			names = append(names, line)
		}
	}
	if only != "" && len(names) == 0 {
		return "", 1 // as grep
	}
	return strings.Join(names, "\n"), 0
}
