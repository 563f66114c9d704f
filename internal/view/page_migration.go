package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Migration is the content of the page of one migration.
type Migration struct {
	Binding  string
	Resource string // "Deployment shop/cart"
	From     string
	To       []string
	Phase    phase.Migration
	// Why is the taint that made it due.
	Why rules.Due
	// Reason and Message are of its state now.
	Reason  reason.Reason
	Message string
	// Attention is why an operator must look at it, reason.None when nothing needs attention.
	Attention    reason.Reason
	Now          time.Time
	Began        time.Time
	Entered      time.Time // when this phase began
	Written      time.Time // when the eviction was written
	HealthySince time.Time
	// Flagged is when it will need attention for taking too long, zero when it will not.
	Flagged time.Time
	// Unproven reports that the old copy is then released without a proof, by configuration.
	Unproven bool
	// MustHold is how long health must hold before the release.
	MustHold time.Duration
	// Purge is how the old copy is deleted; Fence is the proof that it is dead, empty without one.
	Purge karmada.PurgeMode
	Fence string
	// State is the state that the new copy gets, labels by name.
	State map[string]string
	// OldWork is the Work on the failed cluster, "<namespace>/<name>".
	OldWork string
	// Ordered names who ordered recovery or cancel, empty without an order.
	Ordered string
	Result  *record.Result
	// Parent is the workflow id of its failover; OfApplication reports that it is the failover of the application.
	Parent        string
	OfApplication bool
	// Runbook is the URL of the runbook; empty makes no links.
	Runbook string
}

// MigrationPage is the live page of a BindingMigration. Always below MaxPage.
func MigrationPage(v Migration) string { return fit(v.Doc) }

// Doc has the state of the migration, what it waits for, and what the operator can do. It has no tables.
func (v Migration) Doc(int) Doc {
	p := &page{book: v.Runbook}
	p.Title = v.headline()
	p.asOf(v.Now, v.Result != nil)
	switch {
	case v.Attention == reason.None:
	case v.Result == nil && WaitsForProof(v.Phase, v.Reason):
		p.note("**⚠ Waits for you:** %s", p.reason(v.Attention))
	default:
		p.note("**⚠ Needs attention:** %s", p.reason(v.Attention))
	}
	p.fact("Workload", text(v.Resource))
	p.fact("How far", v.steps())
	p.fact("Now", p.because(v.Reason, v.Message))
	if v.Result == nil {
		p.fact("Why a proof", v.whyProof())
		p.fact("Comes next", v.comesNext())
		p.fact("When", v.when(p))
		p.fact("Could go to", v.couldGo())
		p.fact("Old copy", v.oldCopy())
	}
	p.fact("Fence", text(v.Fence))
	p.fact("State that goes along", v.state())
	p.fact("Why it moves", v.why(p))
	p.fact("Ordered", text(v.Ordered))
	p.fact("Times", times(v.Now, instant{"began", v.Began}, instant{"evicted", v.Written}, instant{string(v.Phase) + " since", v.Entered}))
	p.actions(v.Actions())
	return p.Doc
}

// whyProof explains the wait for a proof, which only purge mode Directly needs.
func (v Migration) whyProof() string {
	if v.Phase != phase.MigrationAwaitingFence || v.Reason == reason.OldCopyGoing {
		return ""
	}
	return "its purge mode is Directly: two copies must never run at once, so the old one has to be dead before a new one begins"
}

// when is when a slow migration is flagged.
func (v Migration) when(p *page) string {
	switch {
	case v.unfenced():
		return "without limit"
	case v.Flagged.IsZero() || v.Attention != reason.None || !slices.Contains(flagged, v.Phase):
		return ""
	}
	then := "no time-out deletes the old copy"
	if v.Unproven {
		then = "once it is placed the old copy goes then, proven or not (`health.releaseUnproven`)"
	}
	return fmt.Sprintf("flagged as %s at %s; %s", p.reason(reason.GracefulTimeout), Moment(v.Flagged, v.Now), then)
}

// flagged are the phases in which a slow migration is flagged.
var flagged = []phase.Migration{phase.MigrationPlacing, phase.MigrationAwaitingHealth, phase.MigrationAwaitingFence}

func (v Migration) state() string {
	return strings.Join(reason.Texts(slices.Sorted(maps.Keys(v.State)), func(name string) string {
		return code(name + "=" + v.State[name])
	}), ", ")
}

func (v Migration) headline() string {
	name, from := text(v.Binding), text(v.From)
	if v.Result != nil {
		line := fmt.Sprintf("%s: %s", name, v.Result.Outcome)
		if v.Result.Outcome == phase.OutcomeMigrated && len(v.To) > 0 {
			line += " to " + both(v.To)
		}
		return line
	}
	switch v.Phase {
	case phase.MigrationRestoring:
		return fmt.Sprintf("Putting %s back on %s", name, from)
	case phase.MigrationPurging:
		return fmt.Sprintf("%s has moved; its old copy on %s is going", name, from)
	case phase.MigrationAwaitingFence:
		if v.Reason == reason.OldCopyGoing {
			return fmt.Sprintf("%s waits until its copy on %s is deleted", name, from)
		}
		return fmt.Sprintf("%s waits for proof that its copy on %s is dead", name, from)
	case phase.MigrationQueued:
		return fmt.Sprintf("%s is queued: it waits for its permit to move off %s", name, from)
	case phase.MigrationChecking, phase.MigrationEvicting, phase.MigrationPlacing, phase.MigrationAwaitingHealth, phase.MigrationReleasing, phase.MigrationDone:
	}
	line := fmt.Sprintf("Moving %s off %s", name, from)
	if len(v.To) > 0 && v.Reason != reason.NoClusterFit {
		line += " to " + both(v.To)
	}
	return line
}

// unfenced reports that the eviction waits for proof that the old copy is dead.
func (v Migration) unfenced() bool {
	return v.Phase == phase.MigrationAwaitingFence && v.Written.IsZero()
}

// couldGo lists the candidates of the last check, while the eviction waits for proof.
func (v Migration) couldGo() string {
	if !v.unfenced() || len(v.To) == 0 {
		return ""
	}
	return either(v.To) + "; that is checked again when its turn comes"
}

func (v Migration) comesNext() string {
	switch v.Phase {
	case phase.MigrationChecking:
		return "one last look, then one write takes " + text(v.From) + " out of its targets and holds the old copy"
	case phase.MigrationQueued:
		return "a permit; then one last look, and one write takes " + text(v.From) + " out of its targets and holds the old copy"
	case phase.MigrationEvicting:
		return "the answer to that write"
	case phase.MigrationPlacing:
		return "Karmada's scheduler places it elsewhere"
	case phase.MigrationAwaitingFence:
		return v.untilFenced()
	case phase.MigrationAwaitingHealth:
		return v.untilProven()
	case phase.MigrationReleasing:
		return "one last look at the new copies, then the old one is released"
	case phase.MigrationPurging:
		return "the old Work goes; on a cluster that is away it is reported as pending purge"
	case phase.MigrationRestoring:
		return "the scheduler observes it with " + text(v.From) + " still among its targets"
	case phase.MigrationDone:
	}
	return ""
}

func (v Migration) untilProven() string {
	if v.Reason == reason.HeldForParents {
		return "the old copy goes once those that need it have left " + text(v.From)
	}
	if v.HealthySince.IsZero() {
		return fmt.Sprintf("the new copies become healthy and stay so for %s; then the old one goes", Span(v.MustHold))
	}
	return fmt.Sprintf("healthy since %s; the old copy goes when that has held for %s, at %s", Moment(v.HealthySince, v.Now),
		Span(v.MustHold), Moment(v.HealthySince.Add(v.MustHold), v.Now))
}

func (v Migration) untilFenced() string {
	if v.Written.IsZero() {
		return fmt.Sprintf("one of three: its copy is proven dead: it moves. %[1]s answers, but still counts as failed: it moves. %[1]s has recovered: it stays",
			text(v.From))
	}
	if len(v.State) > 0 {
		return "Karmada deletes the copy on " + text(v.From) + "; then the new one begins, with its state"
	}
	return "Karmada deletes the copy on " + text(v.From) + ", or a fence proves that it is dead; then the new one begins"
}

// oldCopy is the state of the old copy.
func (v Migration) oldCopy() string {
	line := ""
	switch v.Phase {
	case phase.MigrationChecking, phase.MigrationQueued:
		line = "untouched on " + text(v.From)
	case phase.MigrationEvicting:
		line = "on " + text(v.From) + "; it is not yet known whether Lifeboat's write stands, and either way it stays"
	case phase.MigrationPlacing, phase.MigrationAwaitingHealth, phase.MigrationAwaitingFence, phase.MigrationReleasing, phase.MigrationRestoring:
		line = v.heldCopy()
	case phase.MigrationPurging:
		line = "released on " + text(v.From) + "; it is purged as soon as that answers, and nothing waits for it"
	case phase.MigrationDone:
		return ""
	}
	if v.OldWork != "" {
		line += " (Work " + code(v.OldWork) + ")"
	}
	return line
}

func (v Migration) heldCopy() string {
	switch {
	case v.Written.IsZero():
		return "untouched on " + text(v.From) + "; Lifeboat cannot see whether it runs"
	case v.Purge == karmada.PurgeDirectly:
		return "being deleted on " + text(v.From) + " (purge mode Directly); no new copy begins before it is gone or proven dead"
	default:
		return fmt.Sprintf("held on %[1]s until the new one is proven healthy; while %[1]s does not answer, Lifeboat cannot see whether it runs. "+
			"If it is released then, it is purged once %[1]s answers; the move does not wait for that", text(v.From))
	}
}

func (v Migration) why(p *page) string {
	if v.Why.Reason == reason.None {
		return ""
	}
	var parts []string
	if v.Why.Taint.Key != "" {
		parts = append(parts, "taint "+code(v.Why.Taint.Key+":"+string(v.Why.Taint.Effect)))
	}
	if !v.Why.At.IsZero() {
		parts = append(parts, "due "+Moment(v.Why.At, v.Now))
	}
	if v.Parent != "" {
		parts = append(parts, "failover "+code(v.Parent))
	}
	if len(parts) == 0 {
		return p.reason(v.Why.Reason)
	}
	return p.reason(v.Why.Reason) + ": " + strings.Join(parts, ", ")
}

// Actions are what the operator can do now.
func (v Migration) Actions() []string {
	if v.Result != nil {
		return nil
	}
	cancel := fmt.Sprintf("`lifeboat cancel %s --reason \"…\"`, or *Request Cancellation* in the Temporal UI: ", v.object())
	switch v.Phase {
	case phase.MigrationChecking, phase.MigrationQueued, phase.MigrationEvicting:
		return []string{cancel + "do not move it; " + notBefore}
	case phase.MigrationAwaitingFence:
		return v.fenceActions(cancel)
	case phase.MigrationPlacing:
		return []string{"Make room: uncordon or add a cluster that its placement allows.", cancel + "put it back on " + text(v.From)}
	case phase.MigrationAwaitingHealth:
		return []string{
			v.look(),
			v.verb("put-back") + "back to " + text(v.From) + " in one write; refused as long as " + text(v.From) + " is not Ready",
			v.verb("release") + "let the old copy go now, proven or not; only if you know that the new one serves",
			cancel + "keep both copies and leave the old one to you",
		}
	case phase.MigrationReleasing, phase.MigrationPurging, phase.MigrationRestoring:
		if v.Phase == phase.MigrationRestoring && v.Attention != reason.None {
			return []string{"See why karmada-scheduler does not answer: its pods and its log. The old copy on " + text(v.From) + " stays held; it is put back as soon as the scheduler answers."}
		}
		return []string{"Nothing is needed of you."}
	case phase.MigrationDone:
	}
	return nil
}

// look shows the new copy and its pods in the last target.
func (v Migration) look() string {
	switch {
	case v.Reason == reason.HeldForParents:
		return "See what keeps those that need it: `lifeboat status " + text(v.From) + "`"
	case len(v.To) == 0:
		return "With 0 replicas it has no new copy."
	}
	kind, name, ok := strings.Cut(v.Resource, " ")
	if !ok {
		return "See why the new copy is not ready: its pods and events on " + both(v.To) + "."
	}
	namespace, bare, namespaced := strings.Cut(name, "/")
	scope := ""
	if namespaced {
		name, scope = bare, " -n "+text(namespace)
	}
	at := text(v.To[len(v.To)-1])
	return fmt.Sprintf("See why the new copy is not ready: `karmadactl describe %[1]s %[2]s%[3]s --operation-scope members --cluster %[4]s`, "+
		"and its pods: `karmadactl get pods%[3]s --operation-scope members --clusters %[4]s`", strings.ToLower(text(kind)), text(name), scope, at)
}

// object is the binding as an order names it: --cluster selects the failover of the cluster.
func (v Migration) object() string {
	if v.OfApplication {
		return text(v.Binding)
	}
	return text(v.Binding) + " --cluster " + text(v.From)
}

// verb is an order about this binding; its effect follows.
func (v Migration) verb(name string) string {
	return fmt.Sprintf("`lifeboat %s %s --reason \"…\"`: ", name, v.object())
}

// notBefore is when a cancelled migration starts again.
const notBefore = "it moves again only with a new failure, or once the whole failover was cancelled and resumed"

func (v Migration) fenceActions(cancel string) []string {
	give, back := "keep the hold and leave it to you", "Bring "+text(v.From)+" back: it goes on by itself."
	if v.Written.IsZero() {
		give = "leave it where it is; " + notBefore
		back = "Bring " + text(v.From) + " back: once it has recovered, nothing has to move."
	}
	if v.Reason == reason.OldCopyGoing {
		return []string{"If it lasts, see why the old copy on " + text(v.From) + " does not end: a finalizer, a pod that does not stop.", cancel + give}
	}
	return []string{
		back,
		fmt.Sprintf("Make sure that the copy there cannot run any more (%s), then `%s`. "+
			"A wrong confirmation means two writers on one disk, and it cannot be taken back.", Dead, v.Vouch()),
		cancel + give,
	}
}

// course lists the phases of this migration when no step fails.
func (v Migration) course() []phase.Migration {
	course := []phase.Migration{phase.MigrationChecking}
	if v.unfenced() { // nothing is written before the proof, and nothing has to be waited for after it
		course = []phase.Migration{phase.MigrationAwaitingFence, phase.MigrationChecking}
	}
	if v.Phase == phase.MigrationQueued { // its dependents are held, or a permit has passed
		course = append(course, phase.MigrationQueued)
	}
	course = append(course, phase.MigrationEvicting, phase.MigrationPlacing)
	directly := v.Purge == karmada.PurgeDirectly && !v.Written.IsZero() && v.Phase != phase.MigrationQueued
	if directly { // the old copy goes first
		course = append(course, phase.MigrationAwaitingFence)
	}
	if !v.unfenced() && (!directly || len(v.State) > 0) {
		course = append(course, phase.MigrationAwaitingHealth)
	}
	return append(course, phase.MigrationReleasing, phase.MigrationPurging, phase.MigrationDone)
}

// steps draws the course, with the current phase in bold.
func (v Migration) steps() string {
	course := v.course()
	at := slices.Index(course, v.Phase)
	if at < 0 || v.Result != nil && v.Result.Outcome != phase.OutcomeMigrated {
		return "**" + string(v.Phase) + "**"
	}
	line := strings.Join(slices.Concat(
		reason.Texts(course[:at], func(done phase.Migration) string { return string(done) + " ✔" }),
		[]string{"**" + string(v.Phase) + "**"},
		reason.Texts(course[at+1:], func(later phase.Migration) string { return string(later) }),
	), " → ")
	if v.Purge == karmada.PurgeDirectly {
		line += " (purge mode Directly: a new copy begins only when the old one is gone or proven dead)"
	}
	return line
}
