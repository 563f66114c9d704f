package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/mocks"
)

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
