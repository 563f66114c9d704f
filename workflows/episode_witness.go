package workflows

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Testimony is the newest word of the starter's own probe, and when it was heard.
type Testimony struct {
	Says  rules.Witness `json:"says,omitempty"`
	Heard time.Time     `json:"heard,omitzero"`
}

// testimonyHolds is how long a word of the witness counts: it is told again every
// minute where a rule waits for it, so an older one means that nobody testifies.
const testimonyHolds = 3 * time.Minute

// testified keeps what the witness says. The word goes with a fact of the same
// cluster, whatever that fact's version: a member may die without any change of its
// Cluster object.
func (e *episode) testified(f rules.ClusterFact) {
	if f.Deleted || (e.st.UID != "" && f.UID != e.st.UID) || (f.Witness == rules.WitnessAbsent && e.st.Witness.Says == rules.WitnessAbsent) {
		return
	}
	if f.Witness != e.st.Witness.Says {
		e.clusterDirty, e.dirty = true, true
	}
	e.st.Witness = Testimony{Says: f.Witness, Heard: e.now()}
}

// witness is the word that counts now.
func (e *episode) witness() rules.Witness {
	if e.now().Sub(e.st.Witness.Heard) > testimonyHolds {
		return rules.WitnessAbsent
	}
	return e.st.Witness.Says
}
