package replay

import (
	"compress/gzip"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/registry"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// ended are the events that a finished history ends with.
var ended = []enumspb.EventType{
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, // the pacer's, which never finishes by itself
}

// corpus is where the histories are: this version's own, or those of another.
var corpus = flag.String("corpus", "testdata", "replay the histories in this `folder`")

func TestEveryRecordedHistoryReplays(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(*corpus, "*.json.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no history is recorded: run `make record`")
	replayer := worker.NewWorkflowReplayer()
	registry.Register(replayer)
	seen := map[string]int{}
	for _, file := range files {
		recorded := load(t, file)
		first := recorded.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
		seen[first.GetWorkflowType().GetName()]++
		t.Run(filepath.Base(file), func(t *testing.T) {
			last := recorded.GetEvents()[len(recorded.GetEvents())-1]
			require.True(t, slices.Contains(ended, last.GetEventType()), "it ends with %s", last.GetEventType())
			require.NoError(t, replayer.ReplayWorkflowHistoryWithOptions(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)), recorded,
				worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: first.GetWorkflowId()}}))
		})
	}
	for _, kind := range []string{workflows.TypeClusterFailover, workflows.TypeBindingMigration, workflows.TypeFleetPacer, workflows.TypeApplicationFailover} {
		assert.Positive(t, seen[kind], "no history of a %s is recorded", kind)
	}
}

func load(t *testing.T, file string) *history.History {
	packed, err := os.Open(file)
	require.NoError(t, err)
	defer packed.Close() //nolint:errcheck // read only
	content, err := gzip.NewReader(packed)
	require.NoError(t, err)
	recorded, err := client.HistoryFromJSON(io.Reader(content), client.HistoryJSONOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, recorded.GetEvents())
	return recorded
}
