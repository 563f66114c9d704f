package reason

// Verdict is the answer of a check: yes or no, and why.
type Verdict struct {
	OK         bool     `json:"ok"`
	Reason     Reason   `json:"reason,omitempty"`
	Message    string   `json:"message,omitempty"`
	Candidates []string `json:"candidates,omitempty"` // where it could go, sorted
	// Reschedule tells that the eviction must also set rescheduleTriggeredAt, or the
	// scheduler would not look at the binding again, or not at the right affinity group.
	Reschedule bool `json:"reschedule,omitempty"`
}
