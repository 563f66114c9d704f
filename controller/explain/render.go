package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/list"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/workflows"
	corev1 "k8s.io/api/core/v1"
)

// View shows an explanation as a tree.
type View struct{ show.Page }

// tree is the tree that is drawn.
type tree struct {
	list.Writer
	page show.Page
}

// leafWidth leaves room for three levels of branches.
const leafWidth = show.Width - 12

func (t tree) leaf(format string, args ...any) {
	t.AppendItem(text.WrapSoft(strings.TrimSpace(t.page.Plain(fmt.Sprintf(format, args...))), leafWidth))
}

// under adds the leaves of grow below the last leaf.
func (t tree) under(grow func()) {
	t.Indent()
	grow()
	t.UnIndent()
}

// Binding shows the reasons for one binding.
func (v View) Binding(x Explained) {
	t := tree{v.Tree(), v.Page}
	if x.Gone {
		t.leaf("%s does not exist any more; this is its history", x.Binding)
	} else {
		t.leaf("%s (%s) on %s", x.Binding, x.Resource, targets(x.Targets))
	}
	t.under(func() {
		for i := range x.Clusters {
			v.cluster(t, x.Binding, &x.Clusters[i])
		}
		v.application(t, x.Application)
		for _, note := range x.Unread {
			t.leaf("not read: %s", note)
		}
	})
	v.Branches(t)
	show.LookUp(v.Page, x.Runbook)
}

func targets(on []karmada.TargetCluster) string {
	if len(on) == 0 {
		return "no cluster"
	}
	return strings.Join(reason.Texts(on, func(t karmada.TargetCluster) string {
		return fmt.Sprintf("%s:%d", t.Name, t.Replicas)
	}), ", ")
}

func (v View) cluster(t tree, binding string, c *Cluster) {
	switch x := c.Failover; {
	case x != nil:
		t.leaf("%s fails over: %s, attempt %d, %s mode (%s)", c.Cluster, v.Coloured(show.Bad, string(x.Phase)), x.Attempt, x.Mode, c.WorkflowID)
		t.under(func() {
			v.failover(t, c)
			for _, answer := range answers(binding, c) {
				t.leaf("you can: %s", view.Plain(answer))
			}
		})
	case c.Unanswered != "":
		t.leaf("%s: its failover did not answer: %s", c.Cluster, c.Unanswered)
	case c.Target:
		t.leaf("%s: no failover of the cluster moves it", c.Cluster)
		t.under(func() { v.stays(t, c) })
	case c.Task != nil:
		t.leaf("%s: no failover; it is no target, and a task holds its old copy there", c.Cluster)
	default:
		t.leaf("%s: no failover, and it is not there", c.Cluster)
	}
	t.under(func() { v.tail(t, c) })
}

// tail is the end of a cluster's branch: the task, and past outcomes.
func (v View) tail(t tree, c *Cluster) {
	if c.Task != nil {
		t.leaf("task of %s stands: %s %s", c.Task.Producer, c.Task.Reason, c.Task.Message)
	}
	for _, e := range c.Ended {
		t.leaf("before: %s, by %s", v.result(e.Attempt, e.Result), sourceOf(e))
		t.under(func() { v.records(t, e) })
	}
	if c.Link != "" {
		t.leaf("%s", c.Link)
	}
}

func (v View) failover(t tree, c *Cluster) {
	x := c.Failover
	t.leaf("Ready %s %s", x.Ready, x.ReadyReason)
	if x.OptedOut {
		t.leaf("the cluster is opted out: nothing follows from it")
	}
	if x.Drain != nil {
		t.leaf("drained by %s: %s", x.Drain.Who, x.Drain.Why)
	}
	for _, o := range x.Ordered {
		t.leaf("tainted with %s by order of %s: %s", o, o.Who, o.Why)
	}
	for _, r := range x.Rules {
		t.leaf("%s", r.Says(v.Now))
	}
	for _, w := range x.Taints {
		t.leaf("taint %s:%s since %s: %s", w.Taint.Key, w.Taint.Effect, v.moment(w.Taint.TimeAdded), v.word(w, x.Policy != nil))
	}
	if x.Policy != nil {
		t.leaf("due %s, as frozen when the attempt was confirmed; priority %d%s%s", v.moment(x.DueAt), x.Priority, byHand(x), stoodStill(x.Frozen))
	}
	if x.Move != nil {
		v.moving(t, c)
	}
	for _, line := range v.standing(x) {
		t.leaf("%s", line)
	}
	for _, r := range x.Results {
		t.leaf("%s", v.result(r.Attempt, r.Result))
	}
}

// word is the effect of the binding's policy on a taint.
func (v View) word(w rules.TaintWord, known bool) string {
	switch {
	case !known:
		return "it moves what does not tolerate it"
	case w.Reason == reason.TaintUntolerated:
		return "no toleration matches, so it moves at once"
	case w.Until.IsZero() && w.Toleration != nil:
		return "tolerated for ever by " + toleration(*w.Toleration)
	case w.Until.IsZero():
		return "moves nothing of it (" + string(w.Reason) + ")"
	case w.Toleration != nil:
		return "tolerated by " + toleration(*w.Toleration) + " until " + v.moment(w.Until)
	default:
		return "tolerated until " + v.moment(w.Until)
	}
}

func toleration(t corev1.Toleration) string {
	key := cmp.Or(t.Key, "any key")
	if t.Value != "" {
		key += "=" + t.Value
	}
	long := "without limit"
	if t.TolerationSeconds != nil {
		long = fmt.Sprintf("%d s", *t.TolerationSeconds)
	}
	return fmt.Sprintf("[%s %s, %s]", key, cmp.Or(string(t.Effect), "any effect"), long)
}

// byHand names the frozen priority that an order replaced.
func byHand(x *workflows.Explanation) string {
	if x.Item == nil || x.Priority == x.Policy.Priority {
		return ""
	}
	return fmt.Sprintf(" by hand, it was %d", x.Policy.Priority)
}

func stoodStill(frozen []rules.Interval) string {
	if len(frozen) == 0 {
		return ""
	}
	return fmt.Sprintf("; toleration clocks stood still %d times", len(frozen))
}

// standing is what a binding waits for before its migration.
func (v View) standing(x *workflows.Explanation) []string {
	switch {
	case x.Item != nil:
		return v.queued(x)
	case x.Move != nil && x.Move.WantsPermit:
		return v.kept(x)
	case x.Move != nil || len(x.Results) > 0:
		return nil
	case x.Phase == phase.FailoverSuspected && x.Reason == reason.MemberAnswers:
		return []string{"waits for: Karmada's access to " + x.Cluster + " to be repaired; the member itself answers", "you can: " + view.Plain(view.Overrule(x.Cluster))}
	case x.Phase == phase.FailoverSuspected || x.Phase == phase.FailoverConfirmed:
		return []string{"waits for: the failure to be confirmed; until then nothing is listed"}
	case x.Phase == phase.FailoverCordoned:
		return []string{"it stays: the cluster is only cordoned, no taint that moves bindings stands"}
	default:
		return []string{"it is not in the queue: no taint moves it, it is opted out, or it came after the last listing"}
	}
}

// kept are the orders that keep a binding from a permit.
func (v View) kept(x *workflows.Explanation) (out []string) {
	if x.Paused != nil {
		out = append(out, fmt.Sprintf("paused by %s: %s", x.Paused.Who, x.Paused.Reason))
	}
	if p := x.PausedBy; p != nil {
		out = append(out, fmt.Sprintf("%s is paused by %s: %s", p.Scope, p.Who, p.Reason))
	}
	if z := x.SnoozedBy; z != nil {
		out = append(out, fmt.Sprintf("%s is snoozed until %s by %s: %s", z.Scope, v.moment(z.Until), z.Who, z.Reason))
	}
	return out
}

func (v View) queued(x *workflows.Explanation) []string {
	i := x.Item
	out := append([]string{fmt.Sprintf("queue: %s, %d come before it", i.State, x.Ahead)}, v.kept(x)...)
	out = append(out, fmt.Sprintf("pace: %s; this cluster requests %d", view.PaceLine(x.Pace), x.Asked.Want))
	waits := view.WaitsFor(i.Reason, i.Message)
	switch i.State {
	case queue.Tolerating:
		waits += ", " + v.moment(x.DueAt)
	case queue.Due, queue.Behind, queue.Fence, queue.Paused, queue.Ended:
	case queue.Ready, queue.Hold:
		waits += "; it could go to " + strings.Join(i.To, ", ")
	case queue.Blocked:
		again := "looked at again " + v.moment(i.RetryAt)
		if i.Permanent {
			again = "not looked at again in this attempt unless it changes"
		}
		return append(out, v.Coloured(show.Busy, "blocked: ")+waits, again)
	case queue.Idle:
		return append(out, "nothing moves it: "+waits)
	}
	return append(out, "waits for: "+waits)
}

func because(reason reason.Reason, message string) string {
	return show.Joined(": ", string(reason), message)
}

// moving draws the page of the migration, or the last state that the failover got if the migration does not
// answer.
func (v View) moving(t tree, c *Cluster) {
	m, s := c.Failover.Move, c.Migration
	if s == nil {
		t.leaf("moving: %s since %s, to %s (%s); its migration does not answer", m.Phase, v.moment(m.PhaseSince()), strings.Join(m.Targets(), ", "), because(m.Reason, m.Message))
		return
	}
	v.migration(t, c.Cluster, s)
}

// doc draws the notes and facts of a page.
func (v View) doc(t tree, doc view.Doc) {
	for _, note := range doc.Notes {
		t.leaf("%s", v.Coloured(show.Bad, view.Plain(note)))
	}
	for _, f := range doc.Facts {
		if f.Name != "Workload" { // the root says it
			t.leaf("%s: %s", f.Name, view.Plain(f.Value))
		}
	}
}

// migration draws the page of a migration off a cluster.
func (v View) migration(t tree, from string, s *workflows.MigrationStatus) {
	doc := s.View(v.Now).Doc(0)
	t.leaf("%s", view.Plain(doc.Title))
	t.under(func() {
		v.doc(t, doc)
		if s.Permit.Number > 0 {
			t.leaf("went under permit %d of the fleet's pace", s.Permit.Number)
		}
		if len(s.Dependents.Keys) > 0 {
			t.leaf("holds %s on %s", reason.Count(len(s.Dependents.Keys), "dependent"), from)
		}
	})
}

// answers are the orders that a binding waits for.
func answers(binding string, c *Cluster) []string {
	switch x := c.Failover; {
	case c.Migration != nil:
		return c.Migration.View(x.Now).Actions()
	case x.Item == nil || x.Item.State != queue.Blocked:
		return nil
	case x.Item.Reason == reason.AwaitingApproval:
		return []string{fmt.Sprintf("let it move: lifeboat approve %s --cluster %s --reason \"…\"", binding, c.Cluster)}
	case x.Item.Reason == reason.StateNeedsSource:
		return []string{"let it move and begin without its state: " + view.Migration{Binding: binding, From: c.Cluster, Reason: x.Item.Reason}.Vouch()}
	}
	return nil
}

func (v View) result(attempt int, r record.Result) string {
	line := fmt.Sprintf("attempt %d: %s", attempt, cmp.Or(string(r.Outcome), "no outcome on record"))
	on := ""
	if len(r.To) > 0 {
		on = "now on " + strings.Join(r.To, ", ")
	}
	return show.Joined(", ", line, because(r.Reason, r.Message), record.SaidCause(r.Cause), on, view.Moment(r.At, v.Now))
}

// recordLines bounds the records that are drawn for one outcome.
const recordLines = 30

// records draws the records of the audit trail for an outcome.
func (v View) records(t tree, e Ended) {
	for n, r := range e.Records {
		if n == recordLines {
			t.leaf("... and %d more; -o json has them all", len(e.Records)-n)
			break
		}
		what, why := status.Said(r)
		t.leaf("%s %s: %s", v.moment(r.Time), what, why)
	}
}

// sourceOf names the source of an outcome, and of its records.
func sourceOf(e Ended) string {
	if e.From == FromReport && len(e.Records) > 0 {
		return "the report in Temporal; how it came to that, by the audit trail"
	}
	if e.From == FromReport {
		return "the report in Temporal"
	}
	return "the audit trail"
}

// stays draws why nothing moves a binding, and the effect of a failure of its cluster.
func (v View) stays(t tree, c *Cluster) {
	if now := c.Now; now != nil {
		t.leaf("%s mode", now.Mode)
		if now.Plan.Reason == reason.OptedOut || now.Reason == reason.OptedOut {
			t.leaf("opted out: %s", cmp.Or(now.Plan.Message, "the cluster"))
		}
		if now.Plan.Reason == reason.KindStays {
			t.leaf("stays: %s", now.Plan.Message)
		}
		for _, r := range now.Rules {
			t.leaf("rule %s: %s %s", r.Rule, r.Match, because(r.Reason, ""))
		}
		if now.Plan.Prospect != activities.ProspectStays && now.Plan.Prospect != "" {
			t.leaf("and yet a taint should move it (%s): is lifeboat controller running?", now.Plan.Taint)
		}
	}
	if f := c.IfFailed; f != nil {
		t.leaf("if it failed now: %s", v.would(f))
	}
}

func (v View) would(f *Prospect) string {
	p := f.Plan
	rules := slices.DeleteFunc(slices.Clone(f.Rules), func(r activities.ForeseenRule) bool { return r.At.IsZero() })
	switch p.Prospect {
	case activities.ProspectMoves:
		return fmt.Sprintf("due %s by %s, to %s", v.moment(p.Due), p.Taint, strings.Join(p.Candidates, " or "))
	case activities.ProspectBlocked:
		return "it should move and could not: " + because(p.Reason, p.Message)
	case activities.ProspectFence:
		return "it would wait: " + because(p.Reason, p.Message)
	case activities.ProspectStays:
	}
	if len(rules) == 0 && p.Reason != reason.OptedOut && p.Reason != reason.KindStays {
		return "it would stay: no rule puts a taint"
	}
	return "it would stay: " + because(p.Reason, p.Message)
}

// moment is a moment with its distance from now, "never" if it is zero.
func (v View) moment(at time.Time) string { return cmp.Or(view.Moment(at, v.Now), "never") }
