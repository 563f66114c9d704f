package workflows

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
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
func (e *episode) carry() ClusterFailoverParams {
	p := ClusterFailoverParams{Instance: e.instance, Cluster: e.cluster}
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
		if over <= 0 || len(e.st.Items) == 0 || most == 0 {
			return p
		}
		most = max(0, min(most, len(e.st.Items))-over/leanest-100)
	}
}

// leaveForLater keeps the most urgent items, and of the others only by which policy
// each is frozen. What is parked is parked again when the list brings it back.
func (e *episode) leaveForLater(most int) {
	if len(e.st.Items) <= most {
		return
	}
	top := failover.Top{Most: most}
	e.tick()
	for at := range e.st.Items {
		i := &e.st.Items[at]
		if i.Parked {
			continue
		}
		due, _ := e.due(i)
		top.Offer(failover.Item{Key: i.Key, Priority: e.priorityOf(i), Due: due}, at)
	}
	keep := make([]bool, len(e.st.Items))
	for _, at := range top.Sorted() {
		keep[at] = true
	}
	var kept []Item
	for at, i := range e.st.Items {
		if keep[at] || i.Policy < 0 {
			kept = append(kept, i)
			continue
		}
		if i.Reason == failover.ReasonSchedulerReturnsIt {
			continue // it has its outcome, by which the list knows it again
		}
		for len(e.st.Later) <= i.Policy {
			e.st.Later = append(e.st.Later, &failover.BindingSet{})
		}
		e.st.Later[i.Policy].Add(i.Key, i.UID)
	}
	e.st.Items = kept
}

// frozenEarlier is the policy under which an earlier run froze a binding that it
// could not carry over.
func (e *episode) frozenEarlier(key failover.BindingKey, uid types.UID) (policy int, ok bool) {
	for policy, set := range e.st.Later {
		if set.Has(key, uid) {
			return policy, policy < len(e.st.Policy)
		}
	}
	return 0, false
}

// joinedAgain takes a binding that the list brought back out of what was left for later.
func (e *episode) joinedAgain(key failover.BindingKey, uid types.UID) {
	for _, set := range e.st.Later {
		if set.Has(key, uid) {
			set.Remove(key, uid)
		}
	}
}

// abandonLater ends what was left for later and never listed again: it is counted.
func (e *episode) abandonLater() {
	for _, set := range e.st.Later {
		e.st.Counts[string(failover.OutcomeAbandoned)] += set.Len()
	}
	e.st.Later = nil
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
func unpack(packed []byte) *EpisodeState {
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	st := &EpisodeState{}
	if err == nil {
		err = json.Unmarshal(raw, st)
	}
	if err != nil {
		panic(fmt.Sprintf("read the state of the run before: %v", err))
	}
	return st
}
