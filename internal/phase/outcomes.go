package phase

import (
	"fmt"
	"strings"
)

// outcomes in the order in which a reader wants them.
var outcomes = []Outcome{
	OutcomeMigrated, OutcomeRestored, OutcomeAbandoned, OutcomeKept, OutcomeNeedsOperator, OutcomeSkipped,
	OutcomeMovedByOthers, OutcomeGone, OutcomeBlocked, OutcomeWouldMove, OutcomeWouldBlock,
}

// CountsLine is "12 Migrated, 3 Restored", in a fixed order; "nothing settled" when empty.
func CountsLine(counts map[Outcome]int) string {
	var parts []string
	for _, o := range outcomes {
		if n := counts[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	if len(parts) == 0 {
		return "nothing settled"
	}
	return strings.Join(parts, ", ")
}

// Outcome is what became of one binding in one attempt.
type Outcome string

// The outcomes. Blocked is no end: the binding goes back to the queue.
const (
	OutcomeMigrated      Outcome = "Migrated"
	OutcomeRestored      Outcome = "Restored"
	OutcomeAbandoned     Outcome = "Abandoned"
	OutcomeKept          Outcome = "Kept"
	OutcomeNeedsOperator Outcome = "NeedsOperator"
	OutcomeSkipped       Outcome = "Skipped"
	OutcomeMovedByOthers Outcome = "MovedByOthers"
	OutcomeGone          Outcome = "Gone"
	OutcomeBlocked       Outcome = "Blocked"
	OutcomeWouldMove     Outcome = "WouldMove"
	OutcomeWouldBlock    Outcome = "WouldBlock"
)
