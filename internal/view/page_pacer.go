package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// Pacer is the content of the page of the pacer.
type Pacer struct {
	Now    time.Time
	Pace   pace.Pace
	Config pace.Config
	// HaltedBy and RateBy are who ordered it and the reason; empty without an order.
	HaltedBy string
	RateBy   string
	// HaltedAt is when the halt was ordered, zero if unknown.
	HaltedAt time.Time
	// Out are the permits that have not expired.
	Out []pace.Granted
	// Next is the moment of the next permit.
	Next     time.Time
	Requests []RequestLine
	// Unknown is why the fleet, or its Unhealthy applications, could not be counted; empty where they were.
	Unknown string
	// Suspected are the releases that hold the moves of applications.
	Suspected []string
	Granted   int64
	Written   int64
	Unused    int64
	// Assessed is when the fleet was last assessed.
	Assessed time.Time
	// Runbook is the URL of the runbook; empty makes no links.
	Runbook string
}

// RequestLine is one cluster that requests permits.
type RequestLine struct {
	Cluster  string
	Want     int
	Priority int32
	Paused   bool
}

// PacerPage is the live page of the FleetPacer. Always below MaxPage.
func PacerPage(v Pacer) string { return fit(v.Doc) }

// Doc has the rate of evictions, its reason, and the failovers that request permits.
func (v Pacer) Doc(rows int) Doc {
	p := &page{book: v.Runbook, rows: rows}
	p.Title = v.headline()
	p.asOf(v.Now, false)
	p.fact("Reason", v.why(p))
	p.fact("Faulty", v.faulty(rows))
	if v.Unknown != "" {
		p.note("**⚠ Could not be counted:** %s. What could not be counted gets no permit; it is counted again every few seconds", text(v.Unknown))
	}
	for _, scope := range v.Suspected {
		p.note("**⚠ %s:** %s. None of them moves; to move them all the same: `lifeboat resume fleet --reason \"…\"`", p.reason(reason.ReleaseSuspected), text(scope))
	}
	p.fact("Ordered", v.ordered())
	p.fact("Ends", v.ends())
	p.fact("Queued", v.queued())
	p.fact("Rule", v.rule())
	p.fact("Outstanding", v.outstanding())
	p.fact("Next permit", v.next())
	p.fact("Since the pacer's first start", fmt.Sprintf("%d permits given, %d evictions written, %d permits passed unused or unreported",
		v.Granted, v.Written, v.Unused))
	p.actions(v.actions())
	v.requests(p)
	return p.Doc
}

func (v Pacer) headline() string {
	switch {
	case v.Pace.Tier == "":
		return "The fleet has not been judged yet: nothing is evicted"
	case v.Pace.Tier == pace.TierHalted:
		return "Halted: no failover of the fleet evicts anything"
	case v.Pace.Unlimited:
		return "Evictions flow without a limit"
	case v.Pace.Tier == pace.TierReduced:
		return "Evictions flow at a reduced rate: " + spoken(v.Pace.Rate)
	default:
		if want, _ := v.wanted(); want == 0 {
			return "Evictions may flow: " + spoken(v.Pace.Rate) + "; none is queued"
		}
		return "Evictions flow: " + spoken(v.Pace.Rate)
	}
}

// explanations describe the reasons of a pace.
var explanations = map[reason.Reason]string{
	reason.FleetHealthy:      "few enough clusters are faulty",
	reason.FleetUnhealthy:    "too many clusters are faulty at once: moving load quickly could fell the rest",
	reason.AllFaulty:         "every cluster looks failed, probably by Lifeboat's own fault: check Lifeboat's and Karmada's network first",
	reason.FleetUnknown:      "the fleet could not be counted",
	reason.HaltedByOperator:  "an operator paused it, or configured the rate 0",
	reason.StateLost:         "the pacer's earlier run was terminated or cannot be read: its permits are unknown, an operator must resume",
	reason.RateSetByOperator: "an operator set the rate",
	reason.FirstStart:        "this is its first start",
}

func (v Pacer) why(p *page) string {
	line := p.because(v.Pace.Reason, explanations[v.Pace.Reason])
	if v.Pace.Total > 0 {
		line += fmt.Sprintf("%s, %.0f %%", faulty(v.Pace, 0), v.Pace.FaultRate*100)
	}
	if !v.Assessed.IsZero() {
		line += ", as counted " + Moment(v.Assessed, v.Now)
	}
	return line
}

func (v Pacer) faulty(rows int) string {
	shown := v.Pace.Faulty[:min(len(v.Pace.Faulty), rows+10)]
	line := escaper.Replace(strings.Join(shown, ", "))
	if more := len(v.Pace.Faulty) - len(shown); more > 0 {
		line += fmt.Sprintf(" … and %d more", more)
	}
	return line
}

func (v Pacer) ordered() string {
	var parts []string
	if v.HaltedBy != "" {
		line := "paused "
		if !v.HaltedAt.IsZero() {
			line += Moment(v.HaltedAt, v.Now) + " "
		}
		parts = append(parts, line+"by "+quoted(v.HaltedBy))
	}
	if v.RateBy != "" {
		parts = append(parts, "rate set by "+quoted(v.RateBy))
	}
	return strings.Join(parts, " · ")
}

// quoted quotes the operator's reason: jane: “what is going on?”.
func quoted(said string) string {
	who, why, ok := strings.Cut(said, ": ")
	if !ok {
		return text(said)
	}
	return text(who) + ": “" + text(why) + "”"
}

// ends is what ends a halt.
func (v Pacer) ends() string {
	switch {
	case v.Pace.Tier != pace.TierHalted:
		return ""
	case v.HaltedBy != "":
		return "when an operator resumes; never by itself"
	case v.Pace.Reason == reason.HaltedByOperator:
		return "when another rate is set, or configured; never by itself"
	case v.Pace.Reason == reason.FleetUnknown:
		return "by itself, when the fleet can be counted"
	default:
		return "by itself, when enough clusters are healthy"
	}
}

// wanted is how many evictions are requested, and how many of them are paused.
func (v Pacer) wanted() (want, paused int) {
	for _, r := range v.Requests {
		if want += r.Want; r.Paused {
			paused += r.Want
		}
	}
	return want, paused
}

// queued counts the requested evictions, and estimates when the last one begins.
func (v Pacer) queued() string {
	want, paused := v.wanted()
	if want == 0 {
		return "none: no failover requests an eviction; what is blocked or waits for proof is not counted"
	}
	line := reason.Count(want, "eviction")
	if paused > 0 {
		line += fmt.Sprintf(", %d of them paused", paused)
	}
	if left := want - paused; left > 0 && v.Pace.Flows() && !v.Pace.Unlimited {
		last := max(0, time.Duration(float64(left-1)/v.Pace.Rate*float64(time.Second)))
		line += "; the last one begins about " + Moment(slices.MaxFunc([]time.Time{v.Now, v.Next}, time.Time.Compare).Add(last), v.Now)
	}
	return line
}

func (v Pacer) rule() string {
	rate := spoken(v.Config.EvictionRate)
	if v.Config.Unlimited {
		rate = "unlimited"
	}
	above := "nothing above that"
	if reduced := v.Config.ReducedRate(); reduced > 0 {
		above = fmt.Sprintf("above that %s in a fleet of more than %s and nothing in a smaller one",
			perSecond(reduced), reason.Count(v.Config.LargeFleet, "cluster"))
	}
	return fmt.Sprintf("%s while at most %.0f %% of the clusters are faulty, %s; a permit, for one eviction, is given at most %s ahead and lasts %s",
		rate, v.Config.UnhealthyThreshold*100, above, Span(pace.PermitsAhead), Span(pace.PermitWindow))
}

func (v Pacer) outstanding() string {
	if len(v.Out) == 0 {
		return "no permit"
	}
	var parts []string
	for _, g := range v.Out[max(0, len(v.Out)-3):] {
		parts = append(parts, fmt.Sprintf("%s for %s, %d used, until %s", reason.Count(g.Size, "permit"), text(g.Cluster), g.Used, Moment(g.Ends(), v.Now)))
	}
	return strings.Join(parts, "; ")
}

func (v Pacer) next() string {
	want, paused := v.wanted()
	switch {
	case !v.Pace.Flows():
		return "none while halted"
	case want == 0:
		return "no failover requests one"
	case want == paused:
		return "none while all requests are paused"
	default:
		return Moment(v.Next, v.Now)
	}
}

func (v Pacer) actions() []string {
	if v.HaltedBy != "" {
		first := "First ask the operator who paused it."
		if v.Pace.Reason == reason.StateLost {
			first = "First see that nothing runs away, check the rate, and ask the operator who paused it, if one did."
		}
		return []string{
			"`lifeboat resume fleet --reason \"…\"`: let evictions flow again. " + first,
			"Nothing, and it stays paused: no eviction begins. What had begun goes on, and recoveries take back what is not placed.",
			v.rate("once it is resumed: this does not end the pause"),
		}
	}
	rate := v.rate("for the whole fleet, as evictions per second")
	if v.Pace.Tier == pace.TierHalted && v.Pace.Reason != reason.HaltedByOperator {
		return []string{"Nothing has to be ordered: evictions flow again as soon as enough clusters are healthy.", rate}
	}
	return []string{"`lifeboat pause fleet --reason \"…\"`: stop every eviction of the fleet within four seconds", rate}
}

// rate is an order about the rate: back to the configured rate if one is set, else half of the configured
// rate, with its effect.
func (v Pacer) rate(effect string) string {
	if v.RateBy != "" {
		return "`lifeboat rate fleet configured --reason \"…\"`: the configured rate for the whole fleet again"
	}
	half := v.Config.EvictionRate / 2
	if v.Config.Unlimited || half <= 0 {
		half = 0.5
	}
	return fmt.Sprintf("`lifeboat rate fleet %.4g --reason \"…\"`: %s %s; `lifeboat rate fleet configured --reason \"…\"` is the way back",
		half, perSecond(half), effect)
}

func (v Pacer) requests(p *page) {
	p.table(Section{Heading: "Requests", Columns: []string{"Cluster", "Requested", "Highest priority", "State"}}, len(v.Requests), 0, func(i int) []string {
		r, state := v.Requests[i], "waits for its turn"
		switch {
		case r.Paused:
			state = "paused"
		case r.Want == 0:
			state = "has nothing to evict now"
		case !v.Pace.Flows():
			state = "waits for the halt to end"
		}
		return []string{code(r.Cluster), fmt.Sprint(r.Want), fmt.Sprint(r.Priority), state}
	})
}
