package activities

import (
	"cmp"
	"context"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
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
	Gone bool      `json:"gone,omitempty"` // deleted, or another uid under its name
	UID  types.UID `json:"uid,omitempty"`
	Seen string    `json:"seen,omitempty"`
	Why  string    `json:"why,omitempty"` // reason of condition Ready
	// Turns show the next assessment what turned away and back in between.
	Turns rules.Turns `json:"turns,omitempty"`
	// Sights are oldest first; the last is the re-read.
	Sights [][]rules.RuleObservation `json:"sights,omitempty"`
	ClusterView
	Stopped *karmada.StoppedBy `json:"stopped,omitempty"`
	// Malformed says what of the cluster, or of its soft taints, cannot be understood.
	Malformed string `json:"malformed,omitempty"`
}

// ClusterView is what of a cluster a failover goes by until the next judgement.
type ClusterView struct {
	Ready    string                 `json:"ready,omitempty"` // status of condition Ready
	Hard     []corev1.Taint         `json:"hard,omitempty"`
	Soft     []corev1.Taint         `json:"soft,omitempty"`
	Foreign  []corev1.Taint         `json:"foreign,omitempty"` // those of both kinds that are not Lifeboat's
	Added    []karmada.AddedTaint   `json:"added,omitempty"`
	Standing []string               `json:"standing,omitempty"` // every taint as "key:effect"
	Drain    *karmada.Drain         `json:"drain,omitempty"`    // the order that stands on the cluster
	Ordered  []karmada.OrderedTaint `json:"ordered,omitempty"`  // those that operators ordered
	OptedOut bool                   `json:"optedOut,omitempty"`
	// SoftUnreadable: soft taints cannot be written until an operator corrects them.
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
	rules, err := a.rulesNow(ctx)
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
		UID: c.UID, Seen: c.ResourceVersion, Stopped: c.Stopped, Malformed: cmp.Or(c.Malformed, c.SoftMalformed), Turns: rules.TurnsOf(c),
		ClusterView: ClusterView{Added: c.Added, Drain: c.Drain, Ordered: c.Ordered, SoftUnreadable: c.SoftUnreadable},
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
