package workflows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// A signal without a memory, or with one beyond its bounds, takes nothing away.
//
// Rules: R4.1-55.
func TestPacer_KeepsWhatTheExternalProbeKnows(t *testing.T) {
	many := rules.Probed{}
	for i := range 10_001 {
		many[fmt.Sprint(i)] = rules.ProbedMember{}
	}
	known := rules.Probed{"m1": {Endpoint: "1", Up: true}, "m2": {Endpoint: "2"}}
	p := newPacing(t)
	for i, probed := range []rules.Probed{
		{"m3": {Endpoint: "3"}},
		known, nil, many,
		{strings.Repeat("a", 2000): {}},
		{"a": {Endpoint: strings.Repeat("a", 2000)}},
	} {
		p.at(time.Duration(i+1)*time.Second, func() {
			p.env.SignalWorkflow(workflows.SignalFleetObserved, workflows.FleetObserved{Probed: probed})
		})
	}
	require.Equal(t, known, p.run(time.Minute).Probed)
}
