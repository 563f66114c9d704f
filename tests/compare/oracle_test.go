package compare

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

var oracle = flag.String("oracle", filepath.Join("testdata", "oracle"), "the folder with the real scheduler's answers")

// oracleFiles are what is asked of the oracle, one JSON object a line.
var oracleFiles = []string{"real", "models", "wild"}

// record is one question that a real Karmada scheduler answered.
type record struct {
	File string `json:"-"`
	// N is the record's line in the whole oracle, from 0.
	N int `json:"n"`
	// Clusters and Binding are the raw objects before the eviction.
	Clusters []object `json:"clusters"`
	Binding  object   `json:"binding"`
	// Failing is evacuated; each of Evacuating has a failover of its own.
	Failing    string   `json:"failing"`
	Evacuating []string `json:"evacuating"`
	// EmptyWorkloads tells that the scheduler ran with --enable-empty-workload-propagation.
	EmptyWorkloads bool `json:"enableEmptyWorkloadPropagation"`
	// Karmada is the answer to the eviction, WithReschedule the answer where the
	// eviction sets rescheduleTriggeredAt, too.
	Karmada        outcome `json:"karmada"`
	WithReschedule outcome `json:"withReschedule"`
}

// outcome is what the real scheduler made of an eviction.
type outcome struct {
	// Placed tells that every replica is elsewhere and the generation observed.
	Placed    bool                `json:"placed"`
	Why       string              `json:"why"` // where it is not placed
	Clusters  []api.TargetCluster `json:"clusters"`
	Scheduled string              `json:"scheduled"` // status of the condition
	Message   string              `json:"message"`
}

func (o outcome) names() []string {
	names := make([]string, 0, len(o.Clusters))
	for _, c := range o.Clusters {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// answer is the outcome of the eviction, with or without a reschedule.
func (r record) answer(reschedule bool) outcome {
	if reschedule {
		return r.WithReschedule
	}
	return r.Karmada
}

// question is the record as the random questions are asked.
func (r record) question() question {
	return question{failing: r.Failing, binding: r.Binding, clusters: r.Clusters}
}

// eachRecord reads one file of the oracle, record by record.
func eachRecord(t *testing.T, file string, ask func(record)) {
	packed, err := os.Open(filepath.Join(*oracle, file+".jsonl.gz"))
	require.NoError(t, err)
	defer func() { require.NoError(t, packed.Close()) }()
	plain, err := gzip.NewReader(bufio.NewReader(packed))
	require.NoError(t, err)
	lines := json.NewDecoder(plain)
	lines.UseNumber()
	for {
		r := record{File: file}
		err := lines.Decode(&r)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		ask(r)
	}
}
