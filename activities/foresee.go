package activities

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ForeseeRequest requests what would become of everything on a cluster if it failed.
type ForeseeRequest struct {
	Cluster string
	// At is when it fails, or for one that has failed the moment of the plan.
	At time.Time
	// Windows are those of a failover that runs already, nil without; so are Virtual, the
	// taints that would stand in observe, Frozen, when toleration clocks stood still, and
	// Policies, what its attempt has frozen of bindings.
	Windows        rules.Windows
	Virtual        []corev1.Taint
	Frozen         []rules.Interval
	Policies       map[karmada.BindingKey]rules.Policy
	queue.Standing // what operators ordered about bindings of that failover
	// Pace is the fleet's as the pacer says; nil has it judged as if the cluster had failed.
	Pace *pace.Pace
	// Rate is an operator's order to the pacer, nil without.
	Rate *float64
	// Migrations is the pacer's memory of which bindings were moved lately, nil when not known.
	Migrations *pace.MigrationLog
	// Skip are bindings that a failover has begun to move, or has an outcome for.
	Skip map[karmada.BindingKey]bool
}

// Foresight is what would become of everything on a cluster.
type Foresight struct {
	Cluster string     `json:"cluster"`
	At      time.Time  `json:"at"`
	Mode    rules.Mode `json:"mode"`
	// Confirmed is when the failure would be confirmed, zero when it never would.
	Confirmed time.Time `json:"confirmed,omitzero"`
	// Reason is why nothing would move at all, empty when something could.
	Reason reason.Reason `json:"reason,omitempty"`
	// Rules are what every rule says, and when its taint would stand.
	Rules []ForeseenRule `json:"rules,omitempty"`
	Pace  pace.Pace      `json:"pace"`
	// Bindings are all that target the cluster, in the order of their turns; those that stay come last.
	Bindings []Foreseen `json:"bindings,omitempty"`
}

// ForeseenRule is one (rule, taint).
type ForeseenRule struct {
	Rule   string        `json:"rule"`
	Taint  string        `json:"taint,omitempty"` // "key:effect"
	Match  rules.Match   `json:"match"`
	Reason reason.Reason `json:"reason,omitempty"`
	// At is when its taint would stand, zero when it never would; Stands: it does already.
	At     time.Time `json:"at,omitzero"`
	Stands bool      `json:"stands,omitempty"`
}

// Prospect is what would become of one binding.
type Prospect string

// The prospects.
const (
	ProspectMoves   Prospect = "Moves"
	ProspectBlocked Prospect = "Blocked"     // it should move and cannot
	ProspectFence   Prospect = "AwaitsFence" // it moves once its old copy is proven dead
	ProspectStays   Prospect = "Stays"       // nothing moves it
)

// Foreseen is what would become of one binding.
type Foreseen struct {
	Key      karmada.BindingKey `json:"-"`
	UID      types.UID          `json:"-"`
	Binding  string             `json:"binding"`         // Key as orders take it
	Taint    string             `json:"taint,omitempty"` // the one that makes it due, "key:effect"
	Resource string             `json:"resource"`
	Priority int32              `json:"priority"`
	Prospect Prospect           `json:"verdict"`
	Reason   reason.Reason      `json:"reason"`
	Message  string             `json:"message,omitempty"`
	// Due is when a taint makes it move; Begins when the pace gives it its turn, zero
	// while nothing is issued.
	Due    time.Time `json:"due,omitzero"`
	Begins time.Time `json:"begins,omitzero"`
	Why    rules.Due `json:"-"`
	// Candidates are the clusters that it could go to.
	Candidates []string          `json:"candidates,omitempty"`
	Purge      karmada.PurgeMode `json:"purgeMode,omitempty"`
	// Need is what it needs elsewhere.
	Need corev1.ResourceList `json:"need,omitempty"`

	// Paused by an operator: it has no turn before it is resumed.
	Paused bool `json:"-"`

	policy rules.Policy
}

// Planner foresees a failover.
type Planner struct {
	worker Activities // those of a worker with the same settings, over a snapshot
}

// NewPlanner judges over a snapshot as a worker with the same settings would, and can
// write nothing. Without moves no migration is asked which copy a migration holds.
func NewPlanner(of *Snapshot, owners Owners, moves Migrations, settings Settings) *Planner {
	return &Planner{Activities{Reader: of, Owners: owners, Migrations: moves, Meter: deaf{}, Log: slog.New(slog.DiscardHandler), Settings: settings}}
}

// deaf counts nothing: a plan is no event.
type deaf struct{}

func (deaf) Evicted(string, string)                         {}
func (deaf) LeftQueue(string, time.Duration, time.Duration) {}
func (deaf) Conflict(string)                                {}
func (deaf) Malformed(string)                               {}
func (deaf) Blocked(reason.Reason)                          {}

// standstill is a clock that stands at one moment.
type standstill struct{ at time.Time }

func (s standstill) Now() time.Time                                       { return s.at }
func (s standstill) ServerNow(context.Context) (time.Time, time.Duration) { return s.at, 0 }

func (standstill) Start() func() time.Duration                     { return func() time.Duration { return 0 } }
func (standstill) Wait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// Foresee goes through a failover in its own order and by its own judgements: which bindings the
// taints would move and when, in which order at the pace, and whether there is
// somewhere to go beside what went before.
func (pl *Planner) Foresee(ctx context.Context, r ForeseeRequest) (Foresight, error) {
	r.At = r.At.UTC()
	out := Foresight{Cluster: r.Cluster, At: r.At}
	now := *pl
	now.worker.Clock = standstill{r.At}
	begin, err := now.worker.BeginFailover(ctx, BeginRequest{Cluster: r.Cluster})
	if err != nil {
		return out, err
	}
	out.Mode = begin.Terms.Mode
	if out.Pace, err = now.foreseePace(ctx, r); err != nil {
		return out, err
	}
	next, err := now.foreseeTaints(ctx, r, &out)
	if err != nil {
		return out, err
	}
	found, err := now.foreseeAffected(ctx, r, next)
	if err != nil {
		return out, err
	}
	found = slices.DeleteFunc(found, func(f Foreseen) bool { return r.Skip[f.Key] })
	return out, now.foreseeTurns(ctx, r, begin.Terms, found, &out)
}

func (pl *Planner) foreseePace(ctx context.Context, r ForeseeRequest) (pace.Pace, error) {
	if r.Pace != nil {
		return *r.Pace, nil
	}
	fleet, err := pl.worker.fleetAssessor().AssessFleet(ctx, FleetRequest{Rate: r.Rate})
	return fleet.Pace, err
}

// ahead is a cluster as it stands, and what its taints will be.
type ahead struct {
	Assessment
	cluster string
	moments []moment
}

// moment is when taints that move bindings change, and those that rules put by then.
type moment struct {
	at  time.Time
	put []corev1.Taint
}

// foreseeTaints lets the windows run out, if the cluster stays as it is.
func (pl *Planner) foreseeTaints(ctx context.Context, r ForeseeRequest, out *Foresight) (ahead, error) {
	c, err := pl.worker.clusterAssessor().AssessCluster(ctx, AssessRequest{Cluster: r.Cluster, ExternalProbe: rules.ExternalProbeDown})
	if err == nil && c.Gone {
		err = fmt.Errorf("cluster %s: %w", r.Cluster, karmada.ErrGone)
	}
	if err != nil {
		return ahead{}, err
	}
	windows := r.Windows
	for _, sight := range c.Sights {
		windows = windows.Advance(sight, r.At)
	}
	reasons := map[rules.WindowKey]rules.RuleObservation{}
	for _, o := range c.Sights[len(c.Sights)-1] {
		reasons[o.Key()] = o
	}
	var moments []moment
	if len(c.Hard)+len(c.Soft)+len(r.Virtual) > 0 {
		moments = append(moments, moment{at: r.At, put: r.Virtual})
	}
	for _, w := range windows.Sorted() {
		rule := foreseeRule(w, c, r)
		rule.Reason = reasons[w.Key()].Reason
		delete(reasons, w.Key())
		out.Rules = append(out.Rules, rule)
		if !rule.At.IsZero() && !rule.Stands && karmada.Triggers(w.Taint.Effect) {
			moments = append(moments, moment{at: rule.At, put: []corev1.Taint{TaintAt(w.Taint, rule.At)}})
		}
	}
	out.refused(c, reasons)
	return ahead{cluster: r.Cluster, Assessment: c, moments: inOrder(moments, out)}, nil
}

// foreseeRule is what comes of one window if the cluster stays as it is.
func foreseeRule(w rules.Window, c Assessment, r ForeseeRequest) ForeseenRule {
	rule := ForeseenRule{Rule: w.Rule, Taint: w.Taint.Key + ":" + string(w.Taint.Effect), Match: w.Last}
	ripens := pace.Later(w.Deadline(), r.At)
	if w.AddRipe(ripens) && karmada.Writable(w.Taint.Effect, c.SoftUnreadable) {
		rule.At = ripens
	}
	rule.Stands = slices.Contains(c.Standing, rule.Taint) || karmada.HasTaint(r.Virtual, w.Taint.Key, w.Taint.Effect)
	return rule
}

// refused adds the rules that decide nothing, and says why nothing at all would follow.
func (f *Foresight) refused(c Assessment, left map[rules.WindowKey]rules.RuleObservation) {
	for _, o := range left {
		f.Rules = append(f.Rules, ForeseenRule{Rule: o.Rule, Match: o.Match, Reason: o.Reason})
	}
	slices.SortFunc(f.Rules, func(x, y ForeseenRule) int {
		return cmp.Or(compareZeroLast(x.At, y.At), cmp.Compare(x.Rule+x.Taint, y.Rule+y.Taint))
	})
	if c.OptedOut {
		f.Reason = reason.OptedOut
	}
}

func compareZeroLast(x, y time.Time) int {
	if x.IsZero() || y.IsZero() {
		return y.Compare(x) // the zero time is the earliest
	}
	return x.Compare(y)
}

// TaintAt is the taint of a rule as it stands from a moment on.
func TaintAt(t karmada.RuleTaint, at time.Time) corev1.Taint {
	return corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect, TimeAdded: new(metav1.NewTime(at))}
}

// inOrder sorts moments, puts those of one time together, and lets every taint stand on.
func inOrder(moments []moment, out *Foresight) []moment {
	slices.SortStableFunc(moments, func(x, y moment) int { return x.at.Compare(y.at) })
	var together []moment
	var standing []corev1.Taint
	for _, m := range moments {
		standing = append(slices.Clip(standing), m.put...)
		if n := len(together); n > 0 && together[n-1].at.Equal(m.at) {
			together[n-1].put = standing
			continue
		}
		together = append(together, moment{at: m.at, put: standing})
	}
	if len(together) > 0 {
		out.Confirmed = together[0].at
	} else if out.Reason == reason.None {
		out.Reason = reason.NoTaint
	}
	return together
}

// foreseeAffected lists what targets the cluster and has each policy judged at every
// moment; who is due before the next one keeps that due time.
func (pl *Planner) foreseeAffected(ctx context.Context, r ForeseeRequest, next ahead) ([]Foreseen, error) {
	soft := slices.ContainsFunc(next.moments, func(m moment) bool {
		_, soft := karmada.Triggering(m.put)
		return len(soft)+len(next.Soft) > 0
	})
	var found []Foreseen
	for page := &(Page{}); page != nil; {
		p, err := pl.worker.affectedLister().ListTargeting(ctx, ListRequest{Cluster: next.cluster, Page: *page, Drain: next.Drain, Soft: soft})
		if err != nil {
			return nil, err
		}
		for i, t := range p.Items {
			if frozen, known := r.Policies[t.Key]; known {
				p.Items[i].Policy, p.Policies = len(p.Policies), append(p.Policies, frozen)
			}
		}
		dues, err := pl.foreseeDues(ctx, next, p.Policies)
		if err != nil {
			return nil, err
		}
		for _, t := range p.Items {
			f := Foreseen{Key: t.Key, UID: t.UID, Binding: t.Key.String(), Resource: t.Resource, Priority: p.Policies[t.Policy].Priority, policy: p.Policies[t.Policy]}
			f.judged(dues[t.Policy], t.Malformed)
			if since := f.Why.Taint.TimeAdded; f.Why.Affected && !since.IsZero() {
				f.Due = rules.Thaw(since, f.Due, r.Frozen, r.At)
			}
			f.ordered(r)
			found = append(found, f)
		}
		page = p.Next
	}
	return pl.foreseeOptedOut(ctx, next.cluster, found)
}

func (f *Foreseen) judged(d rules.Due, malformed string) {
	f.Why, f.Reason, f.Prospect = d, d.Reason, ProspectStays
	if d.Affected {
		f.Taint = d.Taint.Key + ":" + string(d.Taint.Effect)
	}
	switch {
	case malformed != "":
		f.Prospect, f.Reason, f.Message = ProspectBlocked, reason.Malformed, malformed
	case d.Affected:
		f.Prospect, f.Due = ProspectMoves, d.At
	case d.Reason == reason.Malformed:
		f.Prospect, f.Message = ProspectBlocked, f.policy.SoftMalformed
	}
}

// ordered takes what operators said of it.
func (f *Foreseen) ordered(r ForeseeRequest) {
	if p, said := r.Priority.Narrowest(f.Key); said {
		f.Priority = p
	}
	if f.Prospect == ProspectMoves {
		f.Due = pace.Later(f.Due, queue.Latest(r.Snoozed, f.Key))
	}
	_, f.Paused = r.Paused.Narrowest(f.Key)
}

// foreseeDues are the due times of policies, one each.
func (pl *Planner) foreseeDues(ctx context.Context, next ahead, policies []rules.Policy) ([]rules.Due, error) {
	out := make([]rules.Due, len(policies))
	for i := range out {
		out[i].Reason = reason.NoTaint
	}
	settled := make([]bool, len(policies))
	for n, m := range next.moments {
		then := pl.worker
		then.Clock = standstill{m.at}
		judged, err := then.affectedLister().AssessPolicies(ctx, PoliciesRequest{Cluster: next.cluster, UID: next.UID, Policies: policies, Virtual: m.put})
		if err != nil {
			return nil, err
		}
		for i, d := range judged.Dues {
			if settled[i] {
				continue
			}
			d.At = pace.Later(d.At, m.at)
			out[i] = d
			settled[i] = d.Affected && (n == len(next.moments)-1 || d.At.Before(next.moments[n+1].at))
		}
	}
	return out, nil
}

// foreseeOptedOut adds what the list leaves out because it opted out by itself.
func (pl *Planner) foreseeOptedOut(ctx context.Context, cluster string, found []Foreseen) ([]Foreseen, error) {
	for b, err := range AllBindings(ctx, pl.worker.Reader) {
		if err != nil {
			return nil, err
		}
		if _, at := b.Target(cluster); at >= 0 && !b.Deleting && pl.worker.Settings.optedOutItself(b) {
			found = append(found, Foreseen{
				Key: b.Key, UID: b.UID, Binding: b.Key.String(), Resource: resourceName(b), Priority: b.Priority, Prospect: ProspectStays,
				Reason: reason.OptedOut, Message: byItself,
			})
		}
	}
	return found, nil
}
