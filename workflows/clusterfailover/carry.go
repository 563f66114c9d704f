package clusterfailover

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/workflows"
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
	e.trail.leave()
	for most := carryItems; ; {
		e.st.Queue.LeaveForLater(e.now(), most)
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
			if e.st.Audit == nil || !e.trail.Shrink() {
				return p
			}
			continue
		}
		most = max(0, min(most, len(e.st.Items))-over/leanest-100)
	}
}

// endLater ends what was left for later and did not come back. It is counted, where an
// outcome is owed; names and uids of it are not known any more.
func (e *failover) endLater(outcome phase.Outcome) {
	for _, set := range e.st.Later {
		if set.Len() > 0 {
			e.st.Ledger.RecordUnnamed(outcome, set)
			e.trail.unnamed(outcome, set.Len())
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
