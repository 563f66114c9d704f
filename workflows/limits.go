package workflows

import (
	"encoding/json"
	"math"
)

// MaxWho and maxReason bound an order, in bytes: it is carried from run to run, shown on
// pages and mirrored in a memo, and one too long for the server would end its workflow.
const (
	MaxWho    = 256
	MaxReason = 2048
)

// MaxText bounds, in bytes, any other text of a message that is carried (names, ids), and
// maxMessage a message as a whole: far above what is sent, and far below the 2 MB at which
// the server ends a workflow for what it hands on.
const (
	MaxText    = 1024
	maxMessage = 500_000
)

// Oversized tells a message that nobody keeps.
func Oversized(message any) bool { return SizeOf(message) > maxMessage }

// SizeOf is how many bytes something takes in a history, more than any bound where nobody can tell.
func SizeOf(x any) int {
	raw, err := json.Marshal(x)
	if err != nil {
		return math.MaxInt32
	}
	return len(raw)
}

// MaxRate is the highest rate that set-rate takes, in evictions per second.
const MaxRate = 1000
