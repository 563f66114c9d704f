package view

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// MaxPage is the most bytes that a page ever has: Temporal limits what one query
// may answer, and a person what one look may take in.
const MaxPage = 18000

// rowSteps are how many rows of each table are tried until the page fits.
var rowSteps = []int{10, 5, 2, 0}

// maxCell bounds one table cell, in runes.
const maxCell = 110

// fit renders with as many rows as the page has room for.
func fit(render func(rows int) string) string {
	var page string
	for _, rows := range rowSteps {
		if page = render(rows); len(page) <= MaxPage {
			return page
		}
	}
	const tail = "\n\n… the page is cut here\n"
	return reason.Head(page, MaxPage-len(tail)) + tail
}

// page is a Markdown page in the making. Book is where the runbook is published, empty for nowhere.
type page struct {
	b    strings.Builder
	book string
}

func (p *page) line(format string, args ...any) {
	fmt.Fprintf(&p.b, format+"\n", args...)
}

// fact is a bullet of its own: "- **Reason:** …"; an empty one is left out. Bullets,
// because the Temporal UI spends half a screen on the space between paragraphs.
func (p *page) fact(name, value string) {
	if value != "" {
		p.line("- **%s:** %s", name, value)
	}
}

// asOf says when the page was true: it is written when something happens, not while it
// is read. What is due has a moment below, and stands for ever where nobody works.
func (p *page) asOf(now time.Time, over bool) {
	line := now.UTC().Format("2006-01-02 15:04:05") + " UTC"
	if !over {
		line += ". If something below was due more than a minute ago, " + p.link("no worker answers", "a-worker-is-silent")
	}
	p.line("*As of %s*\n", line)
}

// link leads to a heading of the runbook; where that is published nowhere it is text alone.
func (p *page) link(words, heading string) string {
	if p.book == "" {
		return words
	}
	return "[" + words + "](" + p.book + "#" + heading + ")"
}

// reason is a reason that leads to its heading.
func (p *page) reason(r reason.Reason) string {
	return "**" + p.link(string(r), strings.ToLower(string(r))) + "**"
}

func (p *page) heading(format string, args ...any) {
	p.line("\n## "+format+"\n", args...)
}

// grid is a table: n rows to show of a total, each made only when it is shown.
type grid struct {
	columns []string
	n       int
	total   int
	row     func(i int) []string
}

// table prints at most so many rows, and says how many of the total are not shown.
func (p *page) table(g grid, rows int) {
	shown := min(rows, g.n)
	if shown > 0 {
		p.line("| %s |", strings.Join(g.columns, " | "))
		p.line("|%s", strings.Repeat("---|", len(g.columns)))
		for i := range shown {
			p.line("| %s |", strings.Join(g.row(i), " | "))
		}
		p.line("")
	}
	if more := max(g.n, g.total) - shown; more > 0 {
		p.line("… and %d more\n", more)
	}
}

func (p *page) bullets(items []string) {
	for _, item := range items {
		p.line("- %s", item)
	}
	if len(items) > 0 {
		p.line("")
	}
}

func (p *page) String() string {
	return strings.ReplaceAll(strings.TrimRight(p.b.String(), "\n"), "\n\n\n", "\n\n") + "\n"
}

// escaper keeps foreign text (condition messages, names from objects) from becoming
// Markdown of its own: what it escapes itself, too.
var escaper = strings.NewReplacer("\\", "\\\\", "|", "\\|", "\n", " ", "\r", " ", "`", "'", "<", "&lt;", "*", "\\*", "_", "\\_", "[", "\\[", "#", "\\#")

// text escapes and bounds foreign text.
func text(s string) string {
	if runes := []rune(s); len(runes) > maxCell {
		s = string(runes[:maxCell-1]) + "…"
	}
	return escaper.Replace(s)
}

// code is foreign text as code, empty for none.
func code(s string) string {
	if s == "" {
		return ""
	}
	if runes := []rune(s); len(runes) > maxCell {
		s = string(runes[:maxCell-1]) + "…"
	}
	return "`" + strings.NewReplacer("`", "'", "|", "¦", "\n", " ", "\r", " ").Replace(s) + "`"
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

// moment is "02:14:05 UTC (4m ago)", "… (in 3m)", with the date when it is another day's.
func moment(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	layout := "15:04:05"
	if t.UTC().Format(time.DateOnly) != now.UTC().Format(time.DateOnly) {
		layout = "2006-01-02 15:04"
	}
	return t.UTC().Format(layout) + " UTC (" + relative(t, now) + ")"
}

// clock is the moment of a table's cell, whose column says that it is UTC.
func clock(t, now time.Time) string {
	return strings.Replace(moment(t, now), " UTC (", " (", 1)
}

// relative counts in the seconds that are shown: one moment is as far away everywhere on a page.
func relative(t, now time.Time) string {
	switch d := t.Truncate(time.Second).Sub(now.Truncate(time.Second)); {
	case d == 0:
		return "now"
	case d > 0:
		return "in " + short(d)
	default:
		return short(-d) + " ago"
	}
}

// short prints a duration without what nobody reads: "45s", "3m20s", "2h5m", "3d4h".
func short(d time.Duration) string {
	d = max(d, math.MinInt64/2).Round(time.Second) // the smallest duration has no positive counterpart
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + short(-d)
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

// bar draws how far it is: "██████░░░░ 60 %".
func bar(done, all int) string {
	if all <= 0 {
		return ""
	}
	const width = 20
	full := min(width, max(0, done*width/all))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full) + fmt.Sprintf(" %d %%", min(100, max(0, done*100/all)))
}

// perSecond prints a rate the way people think of it.
func perSecond(rate float64) string {
	switch {
	case rate <= 0:
		return "none"
	case rate < 1:
		return fmt.Sprintf("one every %s", short(time.Duration(float64(time.Second)/rate)))
	default:
		return fmt.Sprintf("%.4g per second", rate)
	}
}

// either names clusters of which it will be one or some, both those of which it is all.
func either(names []string) string { return text(joined(names, "or")) }
func both(names []string) string   { return text(joined(names, "and")) }

func joined(names []string, word string) string {
	if len(names) < 2 {
		return reason.List(names)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// pace is the tier and what follows from it.
func (p *page) pace(is pace.Pace) string {
	if is.Tier == "" {
		return ""
	}
	rate := perSecond(is.Rate)
	if is.Unlimited {
		rate = "unlimited"
	}
	if is.Tier == pace.TierHalted {
		rate = "**nothing is evicted**"
	}
	return fmt.Sprintf("%s, %s (%s)", is.Tier, rate, p.health(is))
}

func (p *page) health(is pace.Pace) string {
	if is.Total == 0 {
		return p.reason(is.Reason)
	}
	return fmt.Sprintf("%s: %d of %s faulty, %.0f %%", p.reason(is.Reason), len(is.Faulty), reason.Count(is.Total, "cluster"), is.FaultRate*100)
}
