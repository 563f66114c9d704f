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
	"path/filepath"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

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
