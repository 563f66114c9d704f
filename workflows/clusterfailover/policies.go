package clusterfailover

import (
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

// judgePolicies has every frozen policy judged under the taints that stand now.
func (e *failover) judgePolicies() {
	if len(e.st.Policy) == 0 {
		e.st.Dues, e.st.Judged = nil, e.taintSignature()
		return
	}
	var dues []rules.Due
	under := ""
	for len(dues) < len(e.st.Policy) {
		some, ok := e.judgeSome(fit(e.st.Policy[len(dues):]))
		if !ok {
			return
		}
		if is := e.taintSignature(); len(dues) > 0 && is != under {
			e.dirty = true // they changed between two parts: the next turn judges anew
			return
		}
		dues, under = append(dues, some...), e.taintSignature()
	}
	e.st.Queue.Judged(dues)
	e.st.Judged = under
}

// judgeSome has some policies judged, and takes the taints that they were judged under;
// false means that this could not be done for now.
func (e *failover) judgeSome(policies []rules.Policy) ([]rules.Due, bool) {
	var r activities.PoliciesResult
	ctx := flow.Doing(e.ctx, "judge whom the taints of "+e.cluster+" move, and when")
	request := activities.PoliciesRequest{Cluster: e.cluster, UID: e.st.UID, Policies: policies, Virtual: e.st.Virtual}
	if err := workflow.ExecuteActivity(ctx, activities.NameAssessPolicies, request).Get(ctx, &r); err != nil {
		e.log.Error("could not judge policies", "error", err)
		return nil, false
	}
	if r.Gone {
		e.clusterDirty, e.dirty = true, true
		return nil, false
	}
	e.st.Cluster.Hard, e.st.Cluster.Soft = r.Hard, r.Soft
	if !e.enforcing() {
		e.st.Cluster.Hard, e.st.Cluster.Soft = nil, nil
	}
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
