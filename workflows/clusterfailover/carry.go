package clusterfailover

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"

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
func (r *run) carry() workflows.ClusterFailoverParams {
	p := workflows.ClusterFailoverParams{Instance: r.instance, Cluster: r.cluster}
	r.trail.leave()
	for most := carryItems; ; {
		r.st.Queue.LeaveForLater(r.now(), most)
		raw, err := json.Marshal(r.st)
		if err != nil {
			r.log.Error("could not write the state down", "error", err)
			p.State = r.st
			return p
		}
		if len(raw) <= maxPlain {
			p.State = r.st
			return p
		}
		p.Packed = deflate(raw)
		over := len(p.Packed)/3*4 - maxCarried // base64 makes four bytes of three
		if over <= 0 {
			return p
		}
		if len(r.st.Items) == 0 || most == 0 {
			if r.st.Audit == nil || !r.trail.Shrink() {
				return p
			}
			continue
		}
		most = max(0, min(most, len(r.st.Items))-over/leanest-100)
	}
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
