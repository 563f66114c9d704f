package clusterfailover

import (
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/lifeboat-failover/lifeboat/workflows/flow"
	"go.temporal.io/sdk/workflow"
)

// maxPolicies and maxPolicyBytes bound how many frozen policies one activity judges: each
// has an answer of its own, and a call of more than 2 MB would end the failover.
const (
	maxPolicies    = 2000
	maxPolicyBytes = 1_000_000
)

// policies are the frozen ones: when each is due under the taints that stand.
type policies struct {
	*run
	judgement *judgement
}

// judge has every frozen policy judged under the taints that stand now.
func (p *policies) judge() {
	if len(p.st.Policy) == 0 {
		p.st.Dues, p.st.Judged = nil, p.taintSignature()
		return
	}
	var dues []rules.Due
	under := ""
	for len(dues) < len(p.st.Policy) {
		some, ok := p.judgeSome(fit(p.st.Policy[len(dues):]))
		if !ok {
			return
		}
		if is := p.taintSignature(); len(dues) > 0 && is != under {
			p.dirty = true // they changed between two parts: the next turn judges anew
			return
		}
		dues, under = append(dues, some...), p.taintSignature()
	}
	p.st.Queue.Judged(dues)
	p.st.Judged = under
}

// judgeSome has some policies judged, and takes the taints that they were judged under;
// false means that this could not be done for now.
func (p *policies) judgeSome(policies []rules.Policy) ([]rules.Due, bool) {
	var r activities.PoliciesResult
	ctx := flow.Doing(p.ctx, "judge whom the taints of "+p.cluster+" move, and when")
	request := activities.PoliciesRequest{Cluster: p.cluster, UID: p.st.UID, Policies: policies, Virtual: p.st.Virtual}
	if err := workflow.ExecuteActivity(ctx, activities.NameAssessPolicies, request).Get(ctx, &r); err != nil {
		p.log.Error("could not judge policies", "error", err)
		return nil, false
	}
	if r.Gone {
		p.clusterDirty, p.dirty = true, true
		return nil, false
	}
	p.judgement.tainted(r.Hard, r.Soft)
	return r.Dues, len(r.Dues) == len(policies)
}

// fit are as many of the first policies as one activity takes, one at least.
func fit(policies []rules.Policy) []rules.Policy {
	bytes := 0
	for n := range policies {
		if bytes += workflows.SizeOf(policies[n]); n > 0 && (n >= maxPolicies || bytes > maxPolicyBytes) {
			return policies[:n]
		}
	}
	return policies
}

// taintSignature changes whenever the taints do that due times follow from.
func (p *policies) taintSignature() string {
	taints := slices.Concat(p.st.Cluster.Hard, p.st.Cluster.Soft, p.st.Virtual)
	parts := make([]string, 0, len(taints))
	for _, t := range taints {
		at := ""
		if t.TimeAdded != nil {
			at = t.TimeAdded.UTC().Format(time.RFC3339)
		}
		parts = append(parts, t.Key+"="+t.Value+":"+string(t.Effect)+"@"+at)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
