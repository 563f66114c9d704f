package bindingmigration

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// settle is how long after a lost answer the binding is read again: by then no
// request of that attempt can still be on its way.
const settle = 5 * time.Second

// listener is what was heard since the last look, and waits for more.
type listener struct {
	*reporter
	// dirty tells that something was heard since the last look.
	dirty bool
	// news is the version of the binding that the newest signal told of.
	news string
	// verdict is that signal, where it carries a verdict that nothing has followed yet.
	verdict *proof.BindingFact
	// awaitsNews tells that nothing can have changed before the next signal.
	awaitsNews bool
	waited     bool // this run has waited at least once
}

// wait sleeps until something is heard or d has passed. What lasts is reported meanwhile.
func (li *listener) wait(d time.Duration, summary string) {
	if in, due := li.reportIn(); due && in < d {
		if in > 0 {
			_ = flow.AwaitFor(li.ctx, in, summary, li.stirred)
			d -= max(in, flow.MinTimer)
		}
		if !li.stirred() {
			li.publish(string(li.st.Phase))
			li.tell(nil)
		}
	}
	if d > 0 {
		_ = flow.AwaitFor(li.ctx, d, summary, li.stirred)
	}
	li.calm()
	li.waited = true
}

// stirred tells that something was heard that nobody has looked at: of a version of the binding
// other than the one that was read or written last, or of anything else.
func (li *listener) stirred() bool {
	return li.dirty || li.news != "" && li.news != li.st.Ref.Seen
}

func (li *listener) calm() { li.dirty, li.news = false, "" }

// heard wakes the next look. A fact about another uid is about another binding.
func (li *listener) heard(f proof.BindingFact) {
	if f.UID == "" || f.Key != li.st.Ref.Key {
		li.log.Warn("ignored a malformed signal", "signal", workflows.SignalBindingObserved, "key", f.Key.String())
		return
	}
	li.news, li.verdict = f.ResourceVersion, nil
	li.dirty = li.dirty || f.Deleted || f.ResourceVersion == ""
	if f.Verdict == nil || f.Deleted || f.UID != li.st.Ref.UID || workflows.Oversized(f) {
		return
	}
	li.verdict = &f
	if !f.Verdict.Health.OK && f.Verdict.Decides(li.st.Ref.Baseline) { // also where a newer version was read meanwhile: health had a break
		li.st.Proof.Breaks()
	}
}

// adoptedBy re-targets reports after the parent's next run or attempt took over. One
// that has dropped its task keeps the attempt that it belongs to: its end is no
// outcome of a failure that came after it.
func (li *listener) adoptedBy(a workflows.MigrationAdopted) {
	if a.FailoverID == "" || a.Attempt <= 0 || len(a.FailoverID) > workflows.MaxText {
		li.log.Warn("ignored a malformed signal", "signal", workflows.SignalMigrationAdopted)
		return
	}
	if !li.st.Over() {
		li.st.FailoverID, li.st.Attempt = a.FailoverID, a.Attempt
	}
	li.dirty = true
	workflow.Go(li.ctx, func(ctx workflow.Context) { li.tellFrom(ctx, li.st.Result) })
}

// letSettle waits until no request without an answer can be on its way any more.
func (li *listener) letSettle(summary string) {
	_ = workflow.NewTimerWithOptions(li.ctx, settle, workflow.TimerOptions{Summary: summary}).Get(li.ctx, nil)
}

// nothingNew tells, once, that the eviction was written a moment ago and that the binding has
// not changed since: a look could only see what was written.
func (li *listener) nothingNew() bool {
	fresh := li.awaitsNews && !li.stirred()
	li.awaitsNews = false
	return fresh
}
