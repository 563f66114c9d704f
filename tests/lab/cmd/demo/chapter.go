package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// chapter is the failover of one cluster as told so far.
type chapter struct {
	*status
	phase string // as last told
	told  map[string]bool
}

// entered tells a new phase of a failover.
func (s *story) entered(cluster string, c *chapter) {
	name, text, glyph, colour := s.in(bold, cluster+" "+c.Phase), "", "▶", cyan
	switch c.Phase {
	case "Suspected":
		colour = yellow
		text = fmt.Sprintf("Ready=%s %s; nothing is written before the rule's %d s have passed", c.View.Ready, c.View.ReadyReason, addSeconds)
	case "Confirmed":
		colour, text = red, "the failure is believed"
	case "Evacuating":
		colour, text = red, fmt.Sprintf("the most urgent first, %g evictions per second in the whole fleet", c.Pace.Rate)
	case "Evacuated":
		colour, text = green, "nothing left to do but wait for it; "+c.outcomes()
	case "Recovering":
		text = fmt.Sprintf("nothing more is evicted; it must stay well for %d s", removeSeconds)
	case "Settling":
		text = "what has not moved stays, what has no place goes back, what is placed goes on"
	default:
		colour, text = green, c.outcomes()
	}
	if c.Link != "" && !c.told["link"] {
		c.told["link"] = true
		text += "\n         " + s.in(dim, "↳ "+c.Link)
	}
	s.tell(time.Now(), glyph, colour, name+": "+text)
}

// outcomes is "30 Migrated, 1 Restored".
func (c *chapter) outcomes() string {
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(c.Counts)) {
		if n := c.Counts[outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	if blocked := c.count("blocked"); blocked > 0 {
		parts = append(parts, fmt.Sprintf("%d Blocked", blocked))
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing had to move")
}

func (c *chapter) count(states ...string) int {
	n := 0
	for _, i := range c.Items {
		if slices.Contains(states, i.State) {
			n++
		}
	}
	return n
}

// moving counts the migrations that wait for nobody: one that waits for a fence does so until an operator
// vouches for it, or its cluster is back.
func (c *chapter) moving() int {
	n := 0
	for _, m := range c.Moves {
		if m.Phase != awaitingFence {
			n++
		}
	}
	return n
}

// tellBlocked tells once who cannot move, and why.
func (s *story) tellBlocked(cluster string, c *chapter) {
	for _, i := range c.Items {
		key := "blocked " + i.Key.String() + i.Reason
		if i.State != "blocked" || c.told[key] {
			continue
		}
		c.told[key] = true
		kind, _, _ := strings.Cut(i.Resource, " ")
		s.tell(time.Now(), "■", yellow, s.row(i.Key.String(), kind, "stays on "+cluster, clipped(i.Reason+": "+i.Message)))
	}
}

// tellWaiting tells once who waits long for health, and who needs an operator's eyes.
func (s *story) tellWaiting(cluster string, c *chapter) {
	for _, binding := range slices.Sorted(maps.Keys(c.Moves)) {
		m := c.Moves[binding]
		key := "waits " + binding + m.Message
		long := c.Now.Sub(m.Since) > longHealth && m.Phase == "AwaitingHealth" && m.Reason == "NotHealthy"
		if c.told[key] || (!long && m.Attention == "") {
			continue
		}
		c.told[key], c.told["waits "+binding] = true, true
		kind, _, _ := strings.Cut(m.Resource, " ")
		note := m.Reason + ": " + m.Message
		if m.Attention != "" {
			note = "needs attention: " + note
		}
		where := "old copy stays held"
		if m.Phase == awaitingFence {
			where = "stays on " + cluster
		}
		s.tell(time.Now(), "…", yellow, s.row(binding, kind, where, clipped(note)))
	}
}

// summary is the line of progress.
func (s *story) summary(cluster string, c *chapter) string {
	done, moving := len(c.Results), len(c.Moves)
	queued, tolerating, blocked := c.count("due", "ready"), c.count("tolerating"), c.count("blocked")
	all := done + moving + queued + tolerating + blocked
	if all == 0 {
		return ""
	}
	parts := []string{
		fmt.Sprintf("%s %s %d/%d done", cluster, s.in(green, bar(done, all, 20)), done, all), fmt.Sprintf("%d moving", moving),
	}
	for _, p := range []struct {
		n    int
		what string
	}{{queued, "queued"}, {tolerating, "tolerating"}, {blocked, "blocked"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if c.Phase == "Evacuating" {
		parts = append(parts, s.pace(c, queued))
	}
	if len(c.PendingPurges) > 0 {
		parts = append(parts, fmt.Sprintf("%d old copies to purge", len(c.PendingPurges)))
	}
	return strings.Join(parts, s.in(dim, " · "))
}

// pace says how fast it goes, and how long the queue takes at that rate.
func (s *story) pace(c *chapter, queued int) string {
	if c.Pace.Rate <= 0 {
		return c.Pace.Tier + " (" + c.Pace.Reason + ")"
	}
	text := fmt.Sprintf("%g/s", c.Pace.Rate)
	if queued > 0 {
		text += fmt.Sprintf(" · last eviction in about %.0f s", float64(queued)/c.Pace.Rate)
	}
	return text
}
