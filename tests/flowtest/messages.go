package flowtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// message is one signal or update as it reaches a workflow: not validated
// carries.
type message struct {
	Update  bool
	Name    string
	Payload []byte
}

// MessagesOf reads a script: "signal <name> <payload>" or "update <name> <payload>" a line.
func MessagesOf(script string) []message {
	var out []message
	for line := range strings.Lines(script) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, payload, _ := strings.Cut(rest, " ")
		if kind == "signal" || kind == "update" {
			out = append(out, message{Update: kind == "update", Name: name, Payload: []byte(payload)})
		}
		if len(out) == 20 {
			break
		}
	}
	return out
}

// deliver sends it as it stands: to make sense of it is for the SDK and the handler.
func (m message) deliver(t *testing.T, env *testsuite.TestWorkflowEnvironment, id int) {
	raw := converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: m.Payload,
	})
	if m.Update {
		env.UpdateWorkflow(m.Name, strconv.Itoa(id), verdict{t, m}, raw)
		return
	}
	env.SignalWorkflow(m.Name, raw)
}

// verdict receives the result of an update.
type verdict struct {
	t *testing.T
	message
}

// Accept checks that every accepted order says who gives it, and why.
func (v verdict) Accept() {
	var o workflows.Order
	if err := json.Unmarshal(v.Payload, &o); v.Name != workflows.UpdateClaim && (err != nil || o.Malformed() != "") {
		v.t.Errorf("%s was taken, of nobody or for no reason: %s", v.Name, v.Payload)
	}
}

// Reject is what nonsense gets, by a validator that stands it.
func (v verdict) Reject(err error) {
	var panicked *temporal.PanicError
	if errors.As(err, &panicked) {
		v.t.Errorf("%s: %s: %v", v.Name, v.Payload, err)
	}
}

// Complete does not matter: no main loop runs here.
func (v verdict) Complete(any, error) {}

// Played hands a script to a workflow, a message a second, and lets it look after each.
func Played(t *testing.T, script string, serve func(workflow.Context) (look func() error, err error)) {
	messages := MessagesOf(script)
	env := PatientEnv()
	env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(nil)
	env.RegisterActivityWithOptions(func(activities.ReportRequest) error { return nil }, activity.RegisterOptions{Name: activities.NameReportMigration})
	for n, m := range messages {
		env.RegisterDelayedCallback(func() { m.deliver(t, env, n) }, time.Duration(n+1)*time.Second-time.Millisecond)
	}
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		look, err := serve(ctx)
		for range len(messages) + 1 {
			if err == nil {
				err = errors.Join(workflow.Sleep(ctx, time.Second), look())
			}
		}
		return err
	})
	require.NoError(t, env.GetWorkflowError(), "after:\n%s", script)
}

// CarriedWhole reports whether a state that messages have made is carried to the next run as it is.
func CarriedWhole[T any](st *T) error {
	before, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("it cannot be carried over: %w", err)
	}
	read := new(T)
	if err := json.Unmarshal(before, read); err != nil {
		return fmt.Errorf("the next run cannot read it: %w", err)
	}
	if after, err := json.Marshal(read); err != nil || !bytes.Equal(before, after) {
		return fmt.Errorf("the next run reads %s of %s (%w)", after, before, err)
	}
	return nil
}

// Given reports whether an order that stands names who gave it, and why.
func Given(orders ...*workflows.Order) error {
	for _, o := range orders {
		if o != nil && o.Malformed() != "" {
			return fmt.Errorf("an order stands of which %s", o.Malformed())
		}
	}
	return nil
}

// Unless is what is wrong where something does not hold.
func Unless(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}
