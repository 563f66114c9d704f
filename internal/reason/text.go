package reason

import (
	"fmt"
	"strings"
)

// MaxName is how long a name in Kubernetes may be, in bytes.
const MaxName = 253

// MaxConditionText is how long a text of a cluster's condition may be, in bytes: far above
// what any controller reports.
const MaxConditionText = 1024

// Bounded cuts a foreign text to MaxConditionText.
func Bounded(text string) string { return Head(text, MaxConditionText) }

// Shortened cuts a text to so many bytes, and shows by "..." that there was more.
func Shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return Head(text, most) + "..."
}

// Head is a text's first bytes, without what the cut left of a character.
func Head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// Count says how many of something there are: "1 binding", "2 bindings".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// List names things for an operator: "m2, m3", or "none".
func List[T ~string](names []T) string {
	if len(names) == 0 {
		return "none"
	}
	words := make([]string, len(names))
	for n, name := range names {
		words[n] = string(name)
	}
	return strings.Join(words, ", ")
}

// maxSummary is Temporal's limit for the summary of an activity or a timer, in bytes.
const maxSummary = 400

// Summary is a text within what Temporal takes as a summary; messages keep to it, too.
func Summary(text string) string { return Shortened(text, maxSummary-3) }

// Verdict is the answer of a check: yes or no, and why.
type Verdict struct {
	OK         bool     `json:"ok"`
	Reason     Reason   `json:"reason,omitempty"`
	Message    string   `json:"message,omitempty"`
	Candidates []string `json:"candidates,omitempty"` // where it could go, sorted
	// Reschedule reports that the eviction must also set rescheduleTriggeredAt, or the
	// scheduler would not look at the binding again, or not at the right affinity group.
	Reschedule bool `json:"reschedule,omitempty"`
}
