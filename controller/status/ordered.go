package status

import (
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// ordered shows what humans ordered about bindings, a namespace or all, and what they
// are asked.
func (v View) ordered(s *workflows.FailoverStatus) {
	for n, o := range s.Lines() {
		if n == rows {
			v.Line("          and %d more orders by hand", len(s.Lines())-n)
			break
		}
		until := ""
		if !o.Until.IsZero() {
			until = " until " + o.Until.UTC().Format("15:04:05") + " UTC"
		}
		v.Line("By hand   %s%s: %s, by %s", o.What, until, o.Whom, o.By)
	}
	if n := asked(s); n > 0 {
		v.Line("Approval  %d await it; without one they stay", n)
	}
}

// asked is how many of those shown await a human's approval.
func asked(s *workflows.FailoverStatus) int {
	n := 0
	for _, i := range s.Items {
		if i.State == workflows.ItemBlocked && i.Reason == reason.AwaitingApproval {
			n++
		}
	}
	return n
}
