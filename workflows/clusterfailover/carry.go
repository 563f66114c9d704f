package clusterfailover

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxPlain is up to how many bytes a state is carried over as it is.
	maxPlain = 200_000
	// maxCarried bounds what is carried over, in bytes as the server stores them.
	maxCarried = 1_000_000
	// carryItems is how many queued bindings are carried over in full at most.
	carryItems = 15_000
	// leanest is the least that one of them takes, in bytes.
	leanest = 25
)

// carry is the input of the run that continues this one.
func (e *failover) carry() workflows.ClusterFailoverParams {
	p := workflows.ClusterFailoverParams{Instance: e.instance, Cluster: e.cluster}
	e.leaveTrail()
	for most := carryItems; ; {
		e.leaveForLater(most)
		raw, err := json.Marshal(&e.st)
		if err != nil {
			e.log.Error("could not write the state down", "error", err)
			p.State = &e.st
			return p
		}
		if len(raw) <= maxPlain {
			p.State = &e.st
			return p
		}
		p.Packed = deflate(raw)
		over := len(p.Packed)/3*4 - maxCarried // base64 makes four bytes of three
		if over <= 0 {
			return p
		}
		if len(e.st.Items) == 0 || most == 0 {
			if e.st.Audit == nil || !e.trailWriter.Shrink() {
				return p
			}
			continue
		}
		most = max(0, min(most, len(e.st.Items))-over/leanest-100)
	}
}

// leaveForLater keeps the most urgent items, and of the others only by which policy
// each is frozen and whether it owes an outcome. What is blocked is blocked again when the
// list brings it back.
func (e *failover) leaveForLater(most int) {
	if len(e.st.Items) <= most {
		return
	}
	top := queue.Top{Most: most}
	e.tick()
	for at := range e.st.Items {
		i := &e.st.Items[at]
		if i.Permanent {
			continue
		}
		due, _ := e.due(i)
		top.Offer(queue.Turn{Key: i.Key, Priority: e.priorityOf(i), Due: due}, at)
	}
	keep := make([]bool, len(e.st.Items))
	for _, at := range top.Sorted() {
		keep[at] = true
	}
	var kept []queue.Item
	for at, i := range e.st.Items {
		switch {
		case keep[at] || i.Policy < 0:
			kept = append(kept, i)
		case i.Reason == reason.SchedulerReturnsIt: // it has its outcome, by which the list knows it again
		case i.Was:
			e.st.Later = leave(e.st.Later, i)
		default:
			e.st.LaterIdle = leave(e.st.LaterIdle, i)
		}
	}
	e.st.Items = kept
}

// leave files an item under its frozen policy.
func leave(sets []*queue.BindingSet, i queue.Item) []*queue.BindingSet {
	for len(sets) <= i.Policy {
		sets = append(sets, &queue.BindingSet{})
	}
	sets[i.Policy].Add(i.Key, i.UID)
	return sets
}

// leftItem is what is remembered of a binding that was left for later.
type leftItem struct {
	policy int  // under which it is frozen
	owes   bool // an outcome
}

// rememberedOf is what an earlier run remembered of a binding that it could not carry over.
func (e *failover) rememberedOf(key karmada.BindingKey, uid types.UID) (leftItem, bool) {
	for n, sets := range [][]*queue.BindingSet{e.st.Later, e.st.LaterIdle} {
		for policy, set := range sets {
			if set.Has(key, uid) {
				return leftItem{policy: policy, owes: n == 0}, policy < len(e.st.Policy)
			}
		}
	}
	return leftItem{}, false
}

// joinedAgain takes a binding that is known otherwise again out of what was left for later.
func (e *failover) joinedAgain(key karmada.BindingKey, uid types.UID) {
	for _, sets := range [][]*queue.BindingSet{e.st.Later, e.st.LaterIdle} {
		for _, set := range sets {
			if set.Has(key, uid) {
				set.Remove(key, uid)
			}
		}
	}
}

// endLater ends what was left for later and did not come back. It is counted, where an
// outcome is owed; names and uids of it are not known any more.
func (e *failover) endLater(outcome phase.Outcome) {
	for _, set := range e.st.Later {
		if set.Len() > 0 {
			e.st.Counts[string(outcome)] += set.Len()
			e.foldedInto(outcome).Merge(set)
			e.auditUnnamed(outcome, set.Len())
		}
	}
	e.st.Later, e.st.LaterIdle = nil, nil
}

func deflate(raw []byte) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err == nil {
		_, err = w.Write(raw)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("compress into memory: %v", err)) // it cannot fail
	}
	return out.Bytes()
}

// unpack reads what carry packed. What cannot be read stops the workflow's task, not
// the workflow: nothing is lost, and a worker that can read it goes on.
func unpack(packed []byte) *workflows.FailoverState {
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	st := &workflows.FailoverState{}
	if err == nil {
		err = json.Unmarshal(raw, st)
	}
	if err != nil {
		panic(fmt.Sprintf("read the state of the run before: %v", err))
	}
	return st
}
