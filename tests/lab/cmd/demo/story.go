package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/ledger"
)

const (
	// placeWait is how long an eviction's line waits for the scheduler's answer, to tell both in one.
	placeWait = 600 * time.Millisecond
	// wordWait is how long it waits for Lifeboat's own word on the binding.
	wordWait = 1200 * time.Millisecond
	// longHealth is after how long a wait for health is worth a line.
	longHealth = 5 * time.Second
	// awaitingFence is the phase of a binding that must not run twice while its cluster is silent.
	awaitingFence = "AwaitingFence"
)

// story turns what the ledger saw and what Lifeboat says into lines.
type story struct {
	*screen
	clusters map[string]*chapter
	// evicted is when a binding was evicted from a cluster; untold are those without a line yet.
	evicted map[string]time.Time
	untold  []*eviction
	// placeless were told as having no place yet.
	placeless map[string]bool
	// seen counts what happened, see times.
	seen map[ledger.EntryKind]map[string]int
	// known is what Lifeboat ever said of a binding on a cluster.
	known map[string]subject
}

// eviction is one whose line waits for where it goes and why.
type eviction struct {
	ledger.Entry
	placed bool
	to     []string
}

// subject is a binding in Lifeboat's words.
type subject struct {
	kind   string
	policy int
	cause  string // of an application, empty for what its cluster's failover moves
}

func newStory(s *screen) *story {
	return &story{
		screen: s, clusters: map[string]*chapter{}, evicted: map[string]time.Time{}, placeless: map[string]bool{},
		seen: map[ledger.EntryKind]map[string]int{}, known: map[string]subject{},
	}
}

// times counts the entries of a kind about a cluster or, with "cluster binding", about one binding.
func (s *story) times(kind ledger.EntryKind, about string) int { return s.seen[kind][about] }

func (s *story) remember(e ledger.Entry) {
	if s.seen[e.Kind] == nil {
		s.seen[e.Kind] = map[string]int{}
	}
	s.seen[e.Kind][e.Cluster]++
	s.seen[e.Kind][e.Cluster+" "+e.Binding]++
}

// phase is where a cluster's failover stands, as Lifeboat last said.
func (s *story) phase(cluster string) string {
	if c := s.clusters[cluster]; c != nil {
		return c.Phase
	}
	return ""
}

// happened tells what the ledger saw.
func (s *story) happened(e ledger.Entry) {
	s.remember(e)
	about := e.Cluster + " " + e.Binding
	switch e.Kind {
	case ledger.MemberKilled:
		s.tell(e.At, "✗", red, s.in(bold, e.Cluster)+" stops answering")
	case ledger.MemberRevived:
		s.tell(e.At, "✚", green, s.in(bold, e.Cluster)+" answers again, with the copies it still has")
	case ledger.ClusterReady, ledger.ClusterNotReady:
		s.tell(e.At, "·", dim, e.Cluster+": "+e.Text)
	case ledger.TaintAdded, ledger.TaintRemoved:
		s.tainted(e)
	case ledger.Evicted:
		s.evicted[about] = e.At
		s.untold = append(s.untold, &eviction{Entry: e, to: e.Targets})
	case ledger.Placed:
		s.placed(e, about)
	case ledger.Released:
		s.released(e)
	case ledger.Restored:
		s.restored(e, about)
	case ledger.PutBack, ledger.ReRemoved, ledger.MovedByOthers, ledger.ClusterGone:
		s.tell(e.At, "!", yellow, e.Cluster+" "+e.Binding+": "+e.Text)
	case ledger.Uncovered:
		s.tell(e.At, "✗", red, s.in(red, e.Binding+": "+e.Text))
	case ledger.Covered:
		s.tell(e.At, "·", dim, e.Binding+": "+e.Text)
	case ledger.Running, ledger.Purged:
	}
}

// tainted tells of taints, Karmada's own aside.
func (s *story) tainted(e ledger.Entry) {
	if strings.HasPrefix(e.Text, "cluster.karmada.io/") {
		return
	}
	glyph, verb := "+", "gets the taint "
	if e.Kind == ledger.TaintRemoved {
		glyph, verb = "−", "loses the taint "
	}
	s.tell(e.At, glyph, yellow, e.Cluster+" "+verb+e.Text)
}

// placed tells where the scheduler put a binding, in its eviction's line where that is still to come.
func (s *story) placed(e ledger.Entry, about string) {
	for _, v := range s.untold {
		if v.Cluster+" "+v.Binding == about {
			v.placed, v.to = true, e.Targets
			return
		}
	}
	if s.placeless[about] {
		delete(s.placeless, about)
		s.tell(e.At, "→", blue, s.row(e.Binding, s.kind(e), e.Cluster+" → "+s.in(bold, strings.Join(e.Targets, ", ")), "the scheduler has found a place"))
	}
}

// flush tells evictions as soon as their line is complete, or has waited long enough.
func (s *story) flush(now time.Time) {
	for len(s.untold) > 0 {
		v := s.untold[0]
		_, known := s.known[v.Cluster+" "+v.Binding]
		waited := now.Sub(v.At)
		if (!v.placed && waited < placeWait) || (!known && waited < wordWait) {
			break
		}
		s.tellEviction(v)
	}
	s.screen.flush(now)
}

func (s *story) tellEviction(v *eviction) {
	s.untold = slices.DeleteFunc(s.untold, func(x *eviction) bool { return x == v })
	s.placeless[v.Cluster+" "+v.Binding] = len(v.to) == 0
	where := v.Cluster + " → " + s.in(bold, cmp.Or(strings.Join(v.to, ", "), "no place yet"))
	s.tell(v.At, "→", blue, s.row(v.Binding, s.kind(v.Entry), where, s.why(v.Entry)))
}

// finish tells everything that still waits for its line.
func (s *story) finish() {
	for len(s.untold) > 0 {
		s.tellEviction(s.untold[0])
	}
	s.flushAll()
}

// hurry tells a binding's eviction now: something later is about to be told.
func (s *story) hurry(about string) {
	for _, v := range slices.Clone(s.untold) {
		if v.Cluster+" "+v.Binding == about {
			s.tellEviction(v)
		}
	}
}

func (s *story) restored(e ledger.Entry, about string) {
	s.hurry(about)
	why := "the scheduler would have given it straight back"
	if s.placeless[about] {
		why = "no other cluster took it; its copy never stopped"
	}
	s.tell(e.At, "↩", cyan, s.row(e.Binding, s.kind(e), "back on "+e.Cluster, why))
}

func (s *story) released(e ledger.Entry) {
	about := e.Cluster + " " + e.Binding
	s.hurry(about)
	note := ""
	if from, known := s.evicted[about]; known {
		note = fmt.Sprintf("old copy let go after %.1f s", e.At.Sub(from).Seconds())
	}
	s.tell(e.At, "✓", green, s.row(e.Binding, s.kind(e), "runs on "+strings.Join(e.Targets, ", "), note))
}

// row puts the parts of a line under each other.
func (s *story) row(binding, kind, where, note string) string {
	return pad(binding, 30) + " " + s.in(dim, pad(kind, 12)) + " " + pad(where, 28) + " " + s.in(dim, note)
}

// clipped keeps a note on one line; Lifeboat's own page has it in full.
func clipped(note string) string {
	const most = 72
	if runes := []rune(note); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return note
}

// pad fills up to a width, escape sequences aside.
func pad(text string, width int) string {
	visible, escape := 0, false
	for _, r := range text {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			visible++
		}
	}
	return text + strings.Repeat(" ", max(0, width-visible))
}

// learn keeps what Lifeboat says of bindings: one that moves leaves the queue, one that is done leaves both.
func (s *story) learn(cluster string, now *status) {
	note := func(binding, resource string, policy int) {
		kind, _, _ := strings.Cut(resource, " ")
		s.known[cluster+" "+binding] = subject{kind: kind, policy: policy}
	}
	for binding, m := range now.Moves {
		note(binding, m.Resource, m.Policy)
	}
	for _, i := range now.Items {
		note(i.Key.String(), i.Resource, i.Policy)
	}
}

func (s *story) kind(e ledger.Entry) string { return s.known[e.Cluster+" "+e.Binding].kind }

// why says what made a binding move.
func (s *story) why(e ledger.Entry) string {
	c := s.clusters[e.Cluster]
	of, known := s.known[e.Cluster+" "+e.Binding]
	if of.cause != "" {
		return of.cause
	}
	if c == nil || !known || of.policy < 0 || of.policy >= len(c.Dues) {
		return ""
	}
	policy := of.policy
	due := c.Dues[policy]
	note := ""
	if policy < len(c.Policies) && c.Policies[policy].Priority > 0 {
		note = fmt.Sprintf(", priority %d", c.Policies[policy].Priority)
	}
	switch due.Reason {
	case "TaintUntolerated":
		return "does not tolerate the taint" + note
	case "TolerationExpired":
		return fmt.Sprintf("tolerated it for %g s", due.At.Sub(due.Taint.TimeAdded).Seconds()) + note
	default:
		return due.Reason + note
	}
}

// said tells what is new in Lifeboat's own account.
func (s *story) said(cluster string, now *status) {
	c := s.clusters[cluster]
	if c == nil {
		c = &chapter{told: map[string]bool{}}
		s.clusters[cluster] = c
	}
	c.status = now
	s.learn(cluster, now)
	if now.View.Ready != "" && c.phase != now.Phase {
		c.phase = now.Phase
		s.entered(cluster, c)
	}
	s.tellBlocked(cluster, c)
	s.tellWaiting(cluster, c)
	s.setProgress(s.summary(cluster, c))
}
