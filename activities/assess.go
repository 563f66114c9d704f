package activities

import (
	"cmp"
	"context"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AssessRequest requests a judgement of a cluster. Facts are what the controller saw
// since the last one, in any order; older ones than Seen are ignored.
type AssessRequest struct {
	Cluster string              `json:"cluster"`
	UID     types.UID           `json:"uid,omitempty"` // empty until the first assessment
	Seen    string              `json:"seen,omitempty"`
	Facts   []rules.ClusterFact `json:"facts,omitempty"`
	// ExternalProbe is what the controller's own probe says now; a re-read cannot know it.
	ExternalProbe rules.ExternalProbe `json:"externalProbe,omitempty"`
	// Virtual are the taints that would stand in observe: the rules are judged as if they did.
	Virtual []corev1.Taint `json:"virtual,omitempty"`
	// Turns are those of the last assessment.
	Turns rules.Turns `json:"turns,omitempty"`
}

// Assessment is one judgement of a cluster: what each rule says at each sight,
// and which taints stand.
type Assessment struct {
	Gone  bool      `json:"gone,omitempty"` // deleted, or another uid under its name
	UID   types.UID `json:"uid,omitempty"`
	Seen  string    `json:"seen,omitempty"`
	Ready string    `json:"ready,omitempty"` // status of condition Ready
	Why   string    `json:"why,omitempty"`   // its reason
	// Turns show the next assessment what turned away and back in between.
	Turns rules.Turns `json:"turns,omitempty"`
	// Sights are oldest first; the last is the re-read.
	Sights   [][]rules.RuleObservation `json:"sights,omitempty"`
	Hard     []corev1.Taint            `json:"hard,omitempty"`
	Soft     []corev1.Taint            `json:"soft,omitempty"`
	Foreign  []corev1.Taint            `json:"foreign,omitempty"` // those of both kinds that are not Lifeboat's
	Ours     []karmada.AddedTaint      `json:"ours,omitempty"`
	Stopped  *karmada.StoppedBy        `json:"stopped,omitempty"`
	Drain    *karmada.Drain            `json:"drain,omitempty"`
	Ordered  []karmada.OrderedTaint    `json:"ordered,omitempty"`
	OptedOut bool                      `json:"optedOut,omitempty"`
	// Standing are all taints as "key:effect".
	Standing []string `json:"standing,omitempty"`
	// Malformed says what of the cluster, or of its soft taints, cannot be understood.
	Malformed string `json:"malformed,omitempty"`
	// SoftUnreadable reports that no soft taint can be written for now.
	SoftUnreadable bool `json:"softUnreadable,omitempty"`
}

// clusterAssessor judges one cluster by the rules.
type clusterAssessor struct {
	reader
	meter Meter
}

// AssessCluster re-reads the cluster and its rules and judges them, together with
// the states that the controller saw in between: a mismatch that lasted for less
// than the time between two reads restarts a window all the same. So does one that
// no controller saw, where a condition's own transition time shows it.
func (a clusterAssessor) AssessCluster(ctx context.Context, r AssessRequest) (Assessment, error) {
	c, gone, err := a.cluster(ctx, r.Cluster, r.UID)
	if gone {
		return Assessment{Gone: true}, nil
	}
	if err != nil {
		return Assessment{}, classify("assess cluster", r.Cluster, err)
	}
	rules, err := a.Reader.Rules(ctx)
	if err != nil {
		return Assessment{}, classify("list rules for cluster", r.Cluster, err)
	}
	for _, rule := range rules {
		if rule.Malformed != "" {
			a.meter.Malformed(rule.Kind())
		}
	}
	return assess(c, rules, r), nil
}

func assess(c karmada.Cluster, list []rules.Rule, r AssessRequest) Assessment {
	out := Assessment{
		UID: c.UID, Seen: c.ResourceVersion, Ours: c.Added, Stopped: c.Stopped, Drain: c.Drain, Ordered: c.Ordered,
		Malformed: cmp.Or(c.Malformed, c.SoftMalformed), SoftUnreadable: c.SoftUnreadable, Turns: rules.TurnsOf(c),
	}
	for _, t := range c.Taints {
		out.Standing = append(out.Standing, t.Key+":"+string(t.Effect))
	}
	if c.Malformed != "" {
		// No window moves by what cannot be read: what turns meanwhile is for the next that can.
		out.Turns = r.Turns
	}
	if ready := c.ReadyCondition(); ready != nil {
		out.Ready, out.Why = string(ready.Status), ready.Reason
	}
	if rules.OptedOut(c.Annotations) {
		// Nothing follows from an opted-out cluster; what is Lifeboat's on it goes.
		out.OptedOut = true
		out.Sights = [][]rules.RuleObservation{{}}
		return out
	}
	out.Hard, out.Soft = karmada.Triggering(c.Taints)
	out.Foreign = karmada.Foreign(c)
	c.Taints = slices.Concat(c.Taints, r.Virtual)
	for _, fact := range sightings(c, r) {
		sight := rules.Observe(list, c, fact)
		if n := len(out.Sights); n > 0 && slices.Equal(out.Sights[n-1], sight) {
			continue // it moves no window, and many facts under many rules would be too much for one result
		}
		out.Sights = append(out.Sights, sight)
	}
	return out
}

// sightings are the facts between the last judgement and the re-read, oldest
// first, then the re-read itself.
func sightings(c karmada.Cluster, r AssessRequest) []rules.ClusterFact {
	fresh := rules.FactOf(c).Testified(r.ExternalProbe)
	facts := slices.DeleteFunc(slices.Clone(r.Facts), func(f rules.ClusterFact) bool {
		return f.Deleted || f.UID != c.UID || !rules.Newer(f.ResourceVersion, r.Seen) ||
			!rules.Newer(fresh.ResourceVersion, f.ResourceVersion)
	})
	slices.SortStableFunc(facts, func(x, y rules.ClusterFact) int {
		switch {
		case x.ResourceVersion == y.ResourceVersion:
			return 0
		case rules.Newer(x.ResourceVersion, y.ResourceVersion):
			return 1
		default:
			return -1
		}
	})
	if unseen := r.Turns.Unseen(rules.TurnsOf(c), facts); len(unseen) > 0 {
		facts = append(facts, fresh.Turned(unseen))
	}
	return append(facts, fresh)
}

// FleetRequest requests the pace that the fleet's health allows.
type FleetRequest struct {
	// Rate replaces the configured rate when not nil.
	Rate *float64 `json:"rate,omitempty"`
	// Applications has the Unhealthy ones counted: an application failover waits for a permit.
	Applications bool `json:"applications,omitempty"`
}

// FleetResult is a judgement of the fleet and the limits it was made under.
type FleetResult struct {
	Pace   pace.Pace   `json:"pace"`
	Config pace.Config `json:"config"`
	// Suspected are the scopes with too many Unhealthy applications.
	Suspected []pace.Share `json:"suspected,omitempty"`
	// Audit: the pacer's decisions are recorded in the audit trail.
	Audit bool `json:"audit,omitempty"`
	// Runbook is where the page of all reasons is published.
	Runbook string `json:"runbook,omitempty"`
	// InForce is the configuration of the worker that judged: the mode and what is not the
	// default, as texts by key.
	InForce map[string]string `json:"inForce,omitempty"`
}

// fleetAssessor judges for the pacer.
type fleetAssessor struct {
	reader
	pacer Pacer
}

// AssessFleet counts the clusters that look failed and judges the pace.
func (a fleetAssessor) AssessFleet(ctx context.Context, r FleetRequest) (FleetResult, error) {
	fleet, err := a.Reader.Clusters(ctx)
	if err != nil {
		return FleetResult{}, classify("assess", "fleet", err)
	}
	list, err := a.Reader.Rules(ctx)
	if err != nil {
		return FleetResult{}, classify("list rules for", "fleet", err)
	}
	config := a.settings.Pace
	if r.Rate != nil {
		config.EvictionRate, config.Unlimited = *r.Rate, false
	}
	health := pace.FleetHealth{Total: len(fleet)}
	for _, c := range fleet {
		if faulty, _ := rules.Faulty(list, c); faulty {
			health.Faulty = append(health.Faulty, c.Name)
		}
	}
	slices.Sort(health.Faulty)
	out := FleetResult{
		Pace: pace.Judge(health, config), Config: config, Audit: a.settings.Terms.Audit, Runbook: a.settings.Terms.Runbook, InForce: a.settings.InForce,
	}
	if r.Applications {
		out.Suspected, err = a.unhealthyShares(ctx, fleet)
	}
	return out, classify("assess", "fleet", err)
}

// RecallRequest requests what the pacer's run before this one left.
type RecallRequest struct {
	RunID string `json:"runID"`
}

// Recall is what a pacer without carried state starts from.
type Recall struct {
	// Lost: it starts halted until an operator resumes.
	Lost bool          `json:"lost,omitempty"`
	Why  reason.Reason `json:"why"`
	// Memo is the previous run's mirror of its orders, when there is one.
	Memo []byte `json:"memo,omitempty"`
}

// RecallPacer distinguishes a first start (no previous run, nothing of Lifeboat's in Karmada)
// from a restart whose state is known, and from one whose state is lost.
func (a fleetAssessor) RecallPacer(ctx context.Context, r RecallRequest) (Recall, error) {
	memory, err := a.pacer.Remember(ctx, r.RunID)
	if err != nil {
		return Recall{}, classify("recall", "previous pacer", err)
	}
	switch {
	case memory.Lost:
		return Recall{Lost: true, Why: reason.StateLost}, nil
	case memory.Known:
		return Recall{Why: reason.None, Memo: memory.Memo}, nil
	}
	ours, err := a.anythingOfOurs(ctx)
	if err != nil {
		return Recall{}, classify("look for", "anything of Lifeboat's", err)
	}
	if ours {
		return Recall{Lost: true, Why: reason.StateLost}, nil
	}
	return Recall{Why: reason.FirstStart}, nil
}

func (a fleetAssessor) anythingOfOurs(ctx context.Context) (bool, error) {
	fleet, err := a.Reader.Clusters(ctx)
	if err != nil {
		return false, err
	}
	for _, c := range fleet {
		if c.CarriesOurs() && !c.OnlyCordoned() {
			return true, nil
		}
	}
	for b, err := range AllBindings(ctx, a.Reader) {
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(b.Tasks, karmada.Task.Unfinished) {
			return true, nil
		}
	}
	return false, nil
}
