package phase

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
)

// The diagrams in the documents are printed from the tables.
func TestDiagrams_AreThoseOfTheTables(t *testing.T) {
	fixtures.Golden(t, "../../docs/diagrams/failover.mmd", diagramOf(FailoverSuspected, failoverSteps))
	fixtures.Golden(t, "../../docs/diagrams/migration.mmd", diagramOf(MigrationChecking, migrationSteps))
}

// diagramOf prints a table as a Mermaid state diagram, its terminal phases last.
func diagramOf[P interface {
	~string
	Terminal() bool
}, E ~string](start P, steps []step[P, E]) string {
	lines := []string{"stateDiagram-v2", "    [*] --> " + string(start)}
	var ends []string
	for _, from := range phasesOf(steps) {
		for _, s := range steps {
			if !slices.Contains(s.From, from) {
				continue
			}
			lines = append(lines, fmt.Sprintf("    %s --> %s: %s", from, s.To, s.On))
			if end := fmt.Sprintf("    %s --> [*]", s.To); s.To.Terminal() && !slices.Contains(ends, end) {
				ends = append(ends, end)
			}
		}
	}
	return strings.Join(append(lines, ends...), "\n") + "\n"
}

// phasesOf are the phases that something leads out of, in the order of the table.
func phasesOf[P, E ~string](steps []step[P, E]) (phases []P) {
	for _, s := range steps {
		for _, from := range s.From {
			if !slices.Contains(phases, from) {
				phases = append(phases, from)
			}
		}
	}
	return phases
}
