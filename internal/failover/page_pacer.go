package failover

import (
	"fmt"
	"strings"
	"time"
)

// PacerView is what the page of the fleet's pacer shows.
type PacerView struct {
	Now    time.Time
	Pace   Pace
	Config PaceConfig
	// HaltedBy and RateBy say who ordered it and why; empty when nobody did.
	HaltedBy string
	RateBy   string
	Chunk    *ChunkLine
	// NextIssue is when the next lease may be given out.
	NextIssue time.Time
	Requests  []RequestLine
	Granted   int64
	Written   int64
	Spent     int64
	// Assessed is when the fleet was last judged.
	Assessed time.Time
	// Actions are what one can do now; empty shows the usual ones.
	Actions []string
}

// ChunkLine is the outstanding chunk of leases.
type ChunkLine struct {
	Number   int64
	Cluster  string
	Size     int
	Written  int
	Returned int
	Expires  time.Time
}

// RequestLine is one cluster that wants leases.
type RequestLine struct {
	Cluster  string
	Want     int
	Priority int32
	Paused   bool
}

// PacerPage is the live page of the FleetPacer. Always below MaxPage.
func PacerPage(v PacerView) string {
	return fit(func(rows int) string {
		p := &page{}
		p.line("# %s\n", v.headline())
		p.asOf(v.Now)
		p.fact("Why", v.why())
		p.fact("Faulty", v.faulty(rows))
		p.fact("Ordered", v.ordered())
		p.fact("Rule", v.rule())
		p.fact("Outstanding", v.outstanding())
		p.fact("Next lease", v.next())
		p.fact("Since the pacer's first start", fmt.Sprintf("%d leases given, %d evictions written, %d expired unused or unreported",
			v.Granted, v.Written, v.Spent))
		p.heading("What you can do")
		p.bullets(v.actions())
		v.requests(p, rows)
		return p.String()
	})
}

func (v PacerView) headline() string {
	switch {
	case v.Pace.Tier == "":
		return "The fleet has not been judged yet: nothing is evicted"
	case v.Pace.Tier == TierHalted:
		return "Halted: no failover of the fleet evicts anything"
	case v.Pace.Unlimited:
		return "Evictions flow without a limit"
	case v.Pace.Tier == TierSlow:
		return "Evictions are slowed down: " + perSecond(v.Pace.Rate)
	default:
		return "Evictions flow: " + perSecond(v.Pace.Rate)
	}
}

// explanations say what a pace's reason means for whoever reads it.
var explanations = map[Reason]string{
	ReasonFleetHealthy:   "few enough clusters are faulty",
	ReasonFleetUnhealthy: "too many clusters are faulty at once: moving load quickly could fell the rest",
	ReasonAllFaulty:      "every cluster looks failed, so it is probably us: check Lifeboat's and Karmada's own network first",
	ReasonFleetUnknown:   "the fleet could not be counted",
	ReasonHaltedByHuman:  "somebody halted it",
	ReasonStateLost:      "the pacer's earlier run cannot be read, so nobody knows what it had granted or been told: a human must resume",
	ReasonRateSetByHuman: "somebody set the rate",
	ReasonFirstStart:     "this is its first start",
}

func (v PacerView) why() string {
	line := because(v.Pace.Reason, explanations[v.Pace.Reason])
	if v.Pace.Total > 0 {
		line += fmt.Sprintf(" (%d of %s faulty, %.0f %%)", len(v.Pace.Faulty), count(v.Pace.Total, "cluster"), v.Pace.FaultRate*100)
	}
	if !v.Assessed.IsZero() {
		line += ", judged " + moment(v.Assessed, v.Now)
	}
	return line
}

func (v PacerView) faulty(rows int) string {
	shown := v.Pace.Faulty[:min(len(v.Pace.Faulty), rows+10)]
	if len(shown) == 0 {
		return ""
	}
	line := text(shown[0])
	for _, name := range shown[1:] {
		line += ", " + text(name)
	}
	if more := len(v.Pace.Faulty) - len(shown); more > 0 {
		line += fmt.Sprintf(" … and %d more", more)
	}
	return line
}

func (v PacerView) ordered() string {
	var parts []string
	if v.HaltedBy != "" {
		parts = append(parts, "halted by "+text(v.HaltedBy))
	}
	if v.RateBy != "" {
		parts = append(parts, "rate set by "+text(v.RateBy))
	}
	return strings.Join(parts, " · ")
}

func (v PacerView) rule() string {
	rate := perSecond(v.Config.EvictionRate)
	if v.Config.Unlimited {
		rate = "unlimited"
	}
	above := "nothing above that"
	if slow := v.Config.slowRate(); slow > 0 {
		above = fmt.Sprintf("above that %s in a fleet of more than %s and nothing in a smaller one",
			perSecond(slow), count(v.Config.LargeFleet, "cluster"))
	}
	return fmt.Sprintf("%s while at most %.0f %% of the clusters are faulty, %s; a lease lasts %s",
		rate, v.Config.UnhealthyThreshold*100, above, short(v.Config.LeaseDuration))
}

func (v PacerView) outstanding() string {
	c := v.Chunk
	if c == nil {
		return "no lease"
	}
	return fmt.Sprintf("grant %d: %s for %s, %d written, %d returned, expires %s",
		c.Number, count(c.Size, "lease"), text(c.Cluster), c.Written, c.Returned, moment(c.Expires, v.Now))
}

func (v PacerView) next() string {
	switch {
	case !v.Pace.Flows():
		return "none while halted"
	case v.Chunk != nil:
		return "after the outstanding one has ended"
	case len(v.Requests) == 0:
		return "nobody asks for one"
	default:
		return moment(v.NextIssue, v.Now)
	}
}

func (v PacerView) actions() []string {
	if len(v.Actions) > 0 {
		return v.Actions
	}
	rate := "`lifeboat rate 0.5 --reason \"…\"`: another rate for the whole fleet, in evictions per second"
	if v.RateBy != "" {
		rate = "`lifeboat rate configured --reason \"…\"`: the configured rate for the whole fleet again"
	}
	if v.HaltedBy != "" || v.Pace.Reason == ReasonHaltedByHuman || v.Pace.Reason == ReasonStateLost {
		return []string{
			"`lifeboat resume fleet --reason \"…\"`: let evictions flow again. What had begun goes on meanwhile, and recoveries take back what is not placed.",
			rate,
		}
	}
	actions := []string{"`lifeboat pause fleet --reason \"…\"`: stop every eviction of the fleet within one lease", rate}
	if v.Pace.Tier == TierHalted {
		return append([]string{"Nothing has to be ordered: evictions flow again as soon as enough clusters are well."}, actions[1:]...)
	}
	return actions
}

func (v PacerView) requests(p *page, rows int) {
	if len(v.Requests) == 0 {
		return
	}
	p.heading("Who asks")
	p.table(grid{
		columns: []string{"Cluster", "Wants", "Highest priority", "State"},
		n:       len(v.Requests),
		row: func(i int) []string {
			r, state := v.Requests[i], "waits"
			switch {
			case r.Paused:
				state = "paused"
			case r.Want == 0:
				state = "wants nothing now"
			}
			return []string{code(r.Cluster), fmt.Sprint(r.Want), fmt.Sprint(r.Priority), state}
		},
	}, rows)
}
