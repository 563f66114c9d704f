package clusterfailover

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// diedHere: the scheduler has the binding on this cluster alone, and the cluster is not Ready.
// Nothing of the workload is known to live, so that another move takes nothing from it.
func (e *failover) diedHere(t activities.Targeting) bool {
	return t.Alone && e.st.Cluster.Drain == nil && e.st.Cluster.Ready != string(metav1.ConditionTrue)
}

// notThere corrects the outcome of a binding that came back: the report must not send anybody
// to a cluster on which it does not run.
func (e *failover) notThere(t activities.Targeting) {
	at := e.st.Ledger.At(t.Key, t.UID)
	if at < 0 || e.st.Results[at].Outcome != phase.OutcomeMigrated {
		return
	}
	r := &e.st.Results[at]
	r.Reason, r.Message = reason.SchedulerReturnsIt, "the scheduler put it back on "+e.cluster+" after its release"
	if t.Alone {
		r.To = nil
	}
}
