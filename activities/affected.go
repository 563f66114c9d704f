package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ListRequest requests one page of the bindings that target a cluster.
type ListRequest struct {
	Cluster string     `json:"cluster"`
	Mode    rules.Mode `json:"mode"` // of the failover
	Page    Page       `json:"page"`
	// Drain is the order that stands on the cluster: it may select.
	Drain *karmada.Drain `json:"drain,omitempty"`
	// Soft reads the policies too, for how long bindings stay under soft taints. It costs a
	// read for each policy, so it is asked for only where a soft taint matters.
	Soft bool `json:"soft,omitempty"`
	// Missing are bindings that a list did not bring any more: not a page is wanted then, but what became of them.
	Missing []Checked `json:"missing,omitempty"`
}

// TargetingPage are the bindings of one page that target the cluster and are not
// opted out by themselves or by config, with the policies to freeze.
type TargetingPage struct {
	Policies []rules.Policy `json:"policies,omitempty"`
	Items    []Targeting    `json:"items,omitempty"`
	Next     *Page          `json:"next,omitempty"`
	// Evicted are those for which a task of Karmada's own taint manager for the cluster stands.
	Evicted []proof.BindingFact `json:"evicted,omitempty"`
	// Gone are those of the missing that were deleted, OptedOut those that are there still and are not to move. The others moved.
	Gone     []karmada.BindingKey `json:"gone,omitempty"`
	OptedOut []karmada.BindingKey `json:"optedOut,omitempty"`
}

// Targeting is one binding that targets the cluster.
type Targeting struct {
	Key      karmada.BindingKey `json:"key"`
	UID      types.UID          `json:"uid"`
	Resource string             `json:"resource"`
	Kind     string             `json:"kind,omitempty"` // as in "apps/v1, Deployment"
	Policy   int                `json:"policy"`         // index into Policies
	// Malformed is set when the object cannot be understood: it is blocked, not moved.
	Malformed string `json:"malformed,omitempty"`
	// Stays reports that the rule of its kind keeps it where it is.
	Stays bool `json:"stays,omitempty"`
	// Alone reports that it targets no other cluster.
	Alone bool `json:"alone,omitempty"`
}

// affectedLister lists the bindings that a failure affects, and when each is due.
type affectedLister struct {
	reader
	reporter reporter
	clock    Monotonic
	meter    Meter
}

// ListTargeting reads one page of bindings. What surrounds a binding (namespace,
// policy) is asked when its turn comes, not here.
func (a affectedLister) ListTargeting(ctx context.Context, r ListRequest) (TargetingPage, error) {
	if len(r.Missing) > 0 {
		return a.goneOf(ctx, r)
	}
	page, err := a.bindingsOn(ctx, r.Cluster, r.Page)
	if err != nil {
		return TargetingPage{}, classify("list bindings of cluster", r.Cluster, err)
	}
	if err := a.readSelected(ctx, r.Drain, page.Bindings, r.Cluster); err != nil {
		return TargetingPage{}, classify("read the labels of workloads on", r.Cluster, err)
	}
	out, from := TargetingPage{Next: page.Next}, newOnce(a.Reader)
	var frozen queue.Queue
	known := frozen.PolicyIndex()
	for i := range page.Bindings {
		b := &page.Bindings[i]
		if b.Malformed != "" {
			a.meter.Malformed(string(b.Key.Kind()))
		}
		out.Evicted = appendEvicted(out.Evicted, b, r.Cluster)
		if _, at := b.Target(r.Cluster); at < 0 || b.Deleting || a.settings.optedOutItself(b) {
			continue
		}
		if b.Malformed != "" {
			check := Check{Key: b.Key, Reason: reason.Malformed, Message: b.Malformed, workload: &b.Resource}
			a.reporter.blocked(ctx, PreCheckRequest{Cluster: r.Cluster, Mode: r.Mode}, Checked{Key: b.Key, UID: b.UID}, check)
		}
		policy, err := a.settings.policyOf(ctx, from, b, r.Drain, r.Soft)
		if err != nil {
			return TargetingPage{}, classify("read policy of binding", b.Key.String(), err)
		}
		rule, _ := a.settings.Kinds.Judge(b, r.Cluster)
		out.Items = append(out.Items, Targeting{
			Key: b.Key, UID: b.UID, Resource: resourceName(b), Kind: b.Resource.APIVersion + ", " + b.Resource.Kind,
			Policy: frozen.Freeze(policy, known), Malformed: told(b.Malformed),
			Stays: rule == rules.KindKeep, Alone: len(b.Clusters) == 1,
		})
	}
	out.Policies = frozen.Policy
	out.bounded()
	return out, nil
}

// goneOf says which of the missing bindings were deleted, and which have opted out where they are.
func (a affectedLister) goneOf(ctx context.Context, r ListRequest) (out TargetingPage, err error) {
	for _, m := range r.Missing {
		b, gone, err := a.missing(ctx, r.Cluster, m)
		if err != nil {
			return out, classify("read missing binding", m.Key.String(), err)
		}
		if gone {
			out.Gone = append(out.Gone, m.Key)
		} else if _, at := b.Target(r.Cluster); at >= 0 && a.settings.optedOutItself(&b) {
			out.OptedOut = append(out.OptedOut, m.Key)
		}
	}
	return out, nil
}

// missing reads a missing binding; gone reports that it was deleted. A cache in which it targets the cluster may be behind the list.
func (a affectedLister) missing(ctx context.Context, cluster string, m Checked) (b karmada.Binding, gone bool, err error) {
	if a.cached() {
		known := false
		b, known = a.cache.Binding(m.Key)
		gone = !known || b.UID != m.UID || b.Deleting
		if _, at := b.Target(cluster); gone || at < 0 {
			return b, gone, nil
		}
	}
	b, gone, err = a.binding(ctx, m.Key, m.UID)
	return b, gone || b.Deleting, err
}

// maxPolicies bounds the policies of one page, in bytes as they are sent.
const maxPolicies = 1_000_000

// bounded blocks those whose policies are too large beside the others', the
// largest first: what one tenant writes blocks no other binding.
func (p *TargetingPage) bounded() {
	sizes, total := make([]int, len(p.Policies)), 0
	for at, policy := range p.Policies {
		if raw, err := json.Marshal(policy); err == nil {
			sizes[at] = len(raw)
			total += len(raw)
		}
	}
	for total > maxPolicies {
		at := slices.Index(sizes, slices.Max(sizes))
		for i := range p.Items {
			if item := &p.Items[i]; item.Policy == at && item.Malformed == "" {
				item.Malformed = fmt.Sprintf("what an attempt would freeze of it has %d bytes, which is too much beside that of the others", sizes[at])
			}
		}
		total -= sizes[at]
		p.Policies[at].Tolerations, p.Policies[at].State, sizes[at] = nil, nil, 0
	}
}

// policyOf is what is frozen of a binding under a drain, nil for none; soft: with how long it stays under soft taints.
func (s Settings) policyOf(ctx context.Context, from OptOutReader, b *karmada.Binding, drain *karmada.Drain, soft bool) (policy rules.Policy, err error) {
	policy = rules.PolicyOf(b, s.DefaultTolerations)
	if soft {
		policy, err = readSoft(ctx, from, b, policy)
	}
	policy.NotDrained = !drain.Selects(b)
	return policy, err
}

// readSoft completes a frozen policy with what the binding's own policy says.
func readSoft(ctx context.Context, from OptOutReader, b *karmada.Binding, p rules.Policy) (rules.Policy, error) {
	if p.SoftRead() {
		return p, nil
	}
	seconds, err := from.PolicyAnnotation(ctx, b, karmada.AnnotationTolerationSeconds)
	if err != nil {
		return p, err
	}
	return p.ReadSoft(seconds), nil
}

// resourceName is "Deployment shop/cart", or "ClusterRole reader" without a namespace.
func resourceName(b *karmada.Binding) string {
	name := b.Resource.Name
	if b.Resource.Namespace != "" {
		name = b.Resource.Namespace + "/" + name
	}
	return strings.TrimSpace(b.Resource.Kind + " " + name)
}

func (s Settings) optedOutItself(b *karmada.Binding) bool {
	return rules.OptedOut(b.Annotations) ||
		(b.Key.Namespace != "" && slices.Contains(s.ExcludeNamespaces, b.Key.Namespace))
}

// PoliciesRequest is about when each frozen policy moves under the taints that stand.
type PoliciesRequest struct {
	Cluster  string         `json:"cluster"`
	UID      types.UID      `json:"uid"`
	Policies []rules.Policy `json:"policies"`
	// Virtual are taints that would stand if this were not observe.
	Virtual []corev1.Taint `json:"virtual,omitempty"`
}

// PoliciesResult has one Due per policy, in order.
type PoliciesResult struct {
	Gone bool        `json:"gone,omitempty"`
	Dues []rules.Due `json:"dues,omitempty"`
	// Hard and Soft are the taints that they were judged under.
	Hard []corev1.Taint `json:"hard,omitempty"`
	Soft []corev1.Taint `json:"soft,omitempty"`
}

// AssessPolicies re-reads the cluster's taints and judges every frozen policy.
func (a affectedLister) AssessPolicies(ctx context.Context, r PoliciesRequest) (PoliciesResult, error) {
	c, err := a.Reader.Cluster(ctx, r.Cluster)
	if errors.Is(err, karmada.ErrGone) || (err == nil && c.UID != r.UID) {
		return PoliciesResult{Gone: true}, nil
	}
	if err != nil {
		return PoliciesResult{}, classify("assess policies under cluster", r.Cluster, err)
	}
	taints := withVirtual(moving(c), r.Virtual)
	out := PoliciesResult{Dues: duesUnder(taints, r.Policies, a.clock.Now())}
	out.Hard, out.Soft = karmada.Triggering(taints)
	return out, nil
}

// duesUnder judges policies under taints.
func duesUnder(taints []corev1.Taint, policies []rules.Policy, now time.Time) (dues []rules.Due) {
	for _, p := range policies {
		dues = append(dues, rules.DueUnder(p, taints, now))
	}
	return dues
}

// moving are the taints by which a cluster's bindings are judged: from one that opted out, none moves any.
func moving(c karmada.Cluster) []corev1.Taint {
	if rules.OptedOut(c.Annotations) {
		return nil
	}
	return c.Taints
}

func withVirtual(taints, virtual []corev1.Taint) []corev1.Taint {
	out := slices.Clone(taints)
	for _, v := range virtual {
		if !karmada.HasTaint(out, v.Key, v.Effect) {
			out = append(out, v)
		}
	}
	return out
}
