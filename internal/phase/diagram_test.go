package phase

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
)

// The diagrams in the documents are printed from the tables.
func TestDiagrams_AreThoseOfTheTables(t *testing.T) {
	fixtures.Golden(t, "../../docs/diagrams/failover.mmd", failoverDiagram())
	fixtures.Golden(t, "../../docs/diagrams/migration.mmd", migrationDiagram())
}

// failoverDiagram prints the moves of a failover as a Mermaid state diagram.
func failoverDiagram() string {
	d := newDiagram(string(FailoverSuspected))
	for _, s := range failoverSteps {
		d.arrow(string(s.From), string(s.On), string(s.To))
		if s.To.Terminal() {
			d.end(string(s.To))
		}
	}
	return d.String()
}

// migrationDiagram prints the moves of a migration as a Mermaid state diagram.
func migrationDiagram() string {
	d := newDiagram(string(MigrationChecking))
	for _, s := range migrationTable {
		d.arrow(string(s.From), string(s.On), string(s.To))
		if s.To.Terminal() {
			d.end(string(s.To))
		}
	}
	return d.String()
}

type diagram struct {
	lines []string
	ends  []string
}

func newDiagram(start string) *diagram {
	return &diagram{lines: []string{"stateDiagram-v2", "    [*] --> " + start}}
}

func (d *diagram) arrow(from, on, to string) {
	d.lines = append(d.lines, fmt.Sprintf("    %s --> %s: %s", from, to, on))
}

func (d *diagram) end(phase string) {
	if !slices.Contains(d.ends, phase) {
		d.ends = append(d.ends, phase)
	}
}

// String is the whole diagram, ending in a newline.
func (d *diagram) String() string {
	lines := d.lines
	for _, e := range d.ends {
		lines = append(lines, fmt.Sprintf("    %s --> [*]", e))
	}
	return strings.Join(lines, "\n") + "\n"
}
