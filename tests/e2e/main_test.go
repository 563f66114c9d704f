package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// shared is the one lab with the product on it that all stories use.
var shared *world

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := newFolder()
	if err != nil {
		return failed("make a folder for this run", err)
	}
	if shared, err = startWorld(ctx, folder, allMembers()); err != nil {
		return failed("start the lab and Lifeboat, logs are in "+folder, err)
	}
	// The kernel kills what else runs when this process ends.
	goOn := context.AfterFunc(ctx, func() {
		os.Exit(failed("play to the end, it was interrupted", errors.Join(context.Cause(ctx), shared.lab.close())))
	})
	code := m.Run()
	goOn()
	if err := record(ctx, shared, *recordTo); err != nil {
		code = max(code, failed("record the histories", err))
	}
	if err := shared.stop(); err != nil {
		code = max(code, failed("stop everything in order", err))
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "stories: logs are in", folder)
		return code
	}
	if err := os.RemoveAll(folder); err != nil {
		return failed("remove the run's folder", err)
	}
	return 0
}

func failed(what string, err error) int {
	fmt.Fprintf(os.Stderr, "stories: could not %s:\n%v\n", what, err)
	return 1
}

// newFolder is a fresh folder below .test, which git ignores.
func newFolder() (string, error) {
	root, err := filepath.Abs("../../.test")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(root, 0o750); err != nil {
		return "", err
	}
	return os.MkdirTemp(root, "e2e-")
}

// recordTo is where the histories of the stories that were told are kept, for
// tests/replay. Empty keeps none.
var recordTo = flag.String("record", "", "keep the finished histories of the stories in this `folder`")

// pacerID is the workflow that paces all failovers.
const pacerID = "fleet-pacer"

// record saves every finished run. The pacer never finishes: it is ended here, once
// nobody needs it any more.
func record(ctx context.Context, w *world, folder string) error {
	if folder == "" {
		return nil
	}
	if err := w.stopProduct(); err != nil {
		return err
	}
	if err := w.temporal.TerminateWorkflow(ctx, pacerID, "", "its history is recorded"); err != nil {
		return fmt.Errorf("end the pacer: %w", err)
	}
	runs, err := w.temporal.finished(ctx, w.lab.At.TemporalNamespace)
	if err != nil {
		return err
	}
	nth := map[string]int{}
	for _, run := range runs {
		id := run.GetExecution().GetWorkflowId()
		nth[id]++
		name := fmt.Sprintf("%s.%d.json.gz", strings.ReplaceAll(id, "/", "_"), nth[id])
		if err := w.temporal.save(ctx, run, filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("record %s: %w", id, err)
		}
	}
	say("recorded %d histories in %s", len(runs), folder)
	return nil
}

// finished lists, oldest first, the runs that have ended in order, and the pacer's.
// The list may lag by a moment; a run that it misses is just not recorded.
func (t temporal) finished(ctx context.Context, namespace string) ([]*workflowpb.WorkflowExecutionInfo, error) {
	list, err := t.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, PageSize: 1000})
	if err != nil {
		return nil, err
	}
	var runs []*workflowpb.WorkflowExecutionInfo
	for _, run := range list.GetExecutions() {
		status := run.GetStatus()
		inOrder := status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED || status == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
		if inOrder || run.GetExecution().GetWorkflowId() == pacerID {
			runs = append(runs, run)
		}
	}
	slices.SortFunc(runs, func(x, y *workflowpb.WorkflowExecutionInfo) int {
		return x.GetStartTime().AsTime().Compare(y.GetStartTime().AsTime())
	})
	return runs, nil
}

func (t temporal) save(ctx context.Context, run *workflowpb.WorkflowExecutionInfo, file string) error {
	events, err := t.events(ctx, run.GetExecution().GetWorkflowId(), run.GetExecution().GetRunId())
	if err != nil {
		return err
	}
	content, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(&history.History{Events: events})
	if err != nil {
		return err
	}
	if content, err = forgetMachine(content); err != nil {
		return err
	}
	return writeCompressed(file, content)
}

// forgetMachine takes out who ran it and where: a replay does not need it.
func forgetMachine(content []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var all any
	if err := decoder.Decode(&all); err != nil {
		return nil, err
	}
	without(all, "identity")
	return json.Marshal(all)
}

func without(value any, name string) {
	switch v := value.(type) {
	case []any:
		for _, each := range v {
			without(each, name)
		}
	case map[string]any:
		delete(v, name)
		if v["kind"] == "TASK_QUEUE_KIND_STICKY" {
			v["name"] = "sticky" // its name begins with the host's
		}
		for _, each := range v {
			without(each, name)
		}
	}
}

func writeCompressed(file string, content []byte) (err error) {
	out, err := os.Create(file) //nolint:gosec // the folder is the caller's choice
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = packed.Write(content)
	return errors.Join(err, packed.Close())
}
