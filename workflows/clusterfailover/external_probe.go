package clusterfailover

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// testimonyHolds is how long a word of the external probe counts: it is told again every
// minute where a rule waits for it, so an older one means that nobody testifies.
const testimonyHolds = 3 * time.Minute

// testified keeps what the external probe says. The word goes with a fact of the same
// cluster, whatever that fact's version: a member may die without any change of its
// Cluster object.
func (e *failover) testified(f rules.ClusterFact) {
	if f.Deleted || (e.st.UID != "" && f.UID != e.st.UID) || (f.ExternalProbe == rules.ExternalProbeAbsent && e.st.ExternalProbe.Says == rules.ExternalProbeAbsent) {
		return
	}
	if f.ExternalProbe != e.st.ExternalProbe.Says {
		e.clusterDirty, e.dirty = true, true
	}
	e.st.ExternalProbe = workflows.Testimony{Says: f.ExternalProbe, Heard: e.now()}
}

// external probe is the word that counts now.
func (e *failover) externalProbe() rules.ExternalProbe {
	if e.now().Sub(e.st.ExternalProbe.Heard) > testimonyHolds {
		return rules.ExternalProbeAbsent
	}
	return e.st.ExternalProbe.Says
}
