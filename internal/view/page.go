package view

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// MaxPage bounds a page, in bytes: Temporal limits the answer to a query, and a longer page is not read.
const MaxPage = 18000

// rowSteps are the numbers of rows of each table that are tried until the page fits.
var rowSteps = []int{10, 5, 2, 0}

// maxCell bounds one table cell, in runes.
const maxCell = 110

// fit renders with as many rows as the page has room for.
func fit(doc func(rows int) Doc) string {
	var page string
	for _, rows := range rowSteps {
		if page = doc(rows).Markdown(); len(page) <= MaxPage {
			return page
		}
	}
	const tail = "\n\n… the page is cut here\n"
	return reason.Head(page, MaxPage-len(tail)) + tail
}

// page builds a document.
type page struct {
	Doc
	book string // URL of the runbook; empty makes no links
	rows int    // of each table
}

// note adds a line above everything else.
func (p *page) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// fact adds a named line, unless it is empty.
func (p *page) fact(name, value string) {
	if value != "" {
		p.Facts = append(p.Facts, Fact{name, value})
	}
}

// Clock shows a moment in full, with its date.
func Clock(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }

// asOf is when the page was written: at the last event, not when it is read. While no worker runs, the page
// still shows moments that have passed.
func (p *page) asOf(now time.Time, over bool) {
	p.AsOf = Clock(now)
	if !over {
		p.AsOf += ". If something below was due more than a minute ago, " + p.link("no worker answers", "a-worker-is-silent")
	}
}

// link links to a heading of the runbook.
func (p *page) link(words, heading string) string {
	if p.book == "" {
		return words
	}
	return "[" + words + "](" + p.book + "#" + heading + ")"
}

// reason is a reason with a link to its heading.
func (p *page) reason(r reason.Reason) string {
	return "**" + p.link(string(r), strings.ToLower(string(r))) + "**"
}

// table adds a section with a table of n rows of a total, unless n is 0. Only the shown rows are made.
func (p *page) table(s Section, n, total int, row func(i int) []string) {
	if n == 0 {
		return
	}
	for i := range min(p.rows, n) {
		s.Rows = append(s.Rows, row(i))
	}
	s.More = max(n, total) - len(s.Rows)
	p.Sections = append(p.Sections, s)
}

// actions adds the section of what the operator can do now.
func (p *page) actions(actions []string) {
	if len(actions) > 0 {
		p.Sections = append(p.Sections, Section{Heading: "What you can do", Bullets: actions})
	}
}

// escaper keeps foreign text (condition messages, names of objects) from being Markdown. It escapes
// backslashes, too.
var escaper = strings.NewReplacer("\\", "\\\\", "|", "\\|", "\n", " ", "\r", " ", "`", "'", "<", "&lt;", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "#", "\\#")

// text escapes and bounds foreign text.
func text(s string) string { return escaper.Replace(bounded(s)) }

func bounded(s string) string {
	if runes := []rune(s); len(runes) > maxCell {
		return string(runes[:maxCell-1]) + "…"
	}
	return s
}

// code is foreign text as code, empty for none.
func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.NewReplacer("`", "'", "|", "¦", "\n", " ", "\r", " ").Replace(bounded(s)) + "`"
}

// because joins a reason and its message.
func (p *page) because(why reason.Reason, message string) string {
	switch {
	case why == reason.None:
		return text(message)
	case message == "":
		return p.reason(why)
	default:
		return p.reason(why) + ": " + text(message)
	}
}

// Moment is "02:14:05 UTC (4m ago)", "… (in 3m)", with the date when it is another day's.
func Moment(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	layout := "15:04:05"
	if t.UTC().Format(time.DateOnly) != now.UTC().Format(time.DateOnly) {
		layout = "2006-01-02 15:04"
	}
	return t.UTC().Format(layout) + " UTC (" + relative(t, now) + ")"
}

// instant is a named moment.
type instant struct {
	what string
	at   time.Time
}

// times are the moments that are not zero.
func times(now time.Time, of ...instant) string {
	var parts []string
	for _, t := range of {
		if !t.at.IsZero() {
			parts = append(parts, t.what+" "+Moment(t.at, now))
		}
	}
	return strings.Join(parts, " · ")
}

// relative counts in whole seconds, so that a page shows the same distance everywhere.
func relative(t, now time.Time) string {
	switch d := t.Truncate(time.Second).Sub(now.Truncate(time.Second)); {
	case d == 0:
		return "now"
	case d > 0:
		return "in " + Span(d)
	default:
		return Span(-d) + " ago"
	}
}

// Span prints a duration in its two largest units: "45s", "3m20s", "2h5m", "3d4h".
func Span(d time.Duration) string {
	d = max(d, math.MinInt64/2).Round(time.Second) // the smallest duration has no positive counterpart
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + Span(-d)
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return two(d/time.Minute, "m", d%time.Minute/time.Second, "s")
	case d < day:
		return two(d/time.Hour, "h", d%time.Hour/time.Minute, "m")
	default:
		return two(d/day, "d", d%day/time.Hour, "h")
	}
}

func two(a time.Duration, unitA string, b time.Duration, unitB string) string {
	if b == 0 {
		return fmt.Sprintf("%d%s", a, unitA)
	}
	return fmt.Sprintf("%d%s%d%s", a, unitA, b, unitB)
}

// bar draws progress: "██████░░░░ 60 %".
func bar(done, all int) string {
	if all <= 0 {
		return ""
	}
	const width = 20
	full := min(width, max(0, done*width/all))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full) + fmt.Sprintf(" %d %%", min(100, max(0, done*100/all)))
}

// perSecond prints a rate, below one per second as an interval.
func perSecond(rate float64) string {
	switch {
	case rate <= 0:
		return "none"
	case rate < 1:
		return fmt.Sprintf("one every %s", Span(time.Duration(float64(time.Second)/rate)))
	default:
		return fmt.Sprintf("%.4g per second", rate)
	}
}

// either joins clusters with "or", both with "and".
func either(names []string) string { return text(joined(names, "or")) }
func both(names []string) string   { return text(joined(names, "and")) }

func joined(names []string, word string) string {
	if len(names) < 2 {
		return reason.List(names)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// each counts with a singular or plural text.
func each(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// PaceLine is the tier, the rate, and the reason.
func PaceLine(is pace.Pace) string { return Plain((&page{}).pace(is)) }

func (p *page) pace(is pace.Pace) string {
	if is.Tier == "" {
		return ""
	}
	rate := spoken(is.Rate)
	if is.Unlimited {
		rate = "unlimited"
	}
	if is.Tier == pace.TierHalted {
		rate = "**nothing is evicted**"
	}
	return fmt.Sprintf("%s, %s%s: %s", is.Tier, rate, faulty(is, namedClusters), p.reason(is.Reason))
}

// namedClusters is how many faulty clusters are named in a line.
const namedClusters = 3

// faulty counts the faulty clusters, and names up to so many; it is empty before the first count.
func faulty(is pace.Pace, named int) string {
	if is.Total == 0 {
		return ""
	}
	line := fmt.Sprintf(", %d of %s faulty", len(is.Faulty), reason.Count(is.Total, "cluster"))
	if n := len(is.Faulty); n > 0 && n <= named {
		line += " (" + both(is.Faulty) + ")"
	}
	return line
}

// spoken is perSecond, followed by the number that an order takes.
func spoken(rate float64) string {
	if rate <= 0 || rate >= 1 {
		return perSecond(rate)
	}
	return fmt.Sprintf("%s (%.4g/s)", perSecond(rate), rate)
}
