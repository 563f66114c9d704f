package compare

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
)

// mostOverCautious is the greatest share of the questions about sane fleets that the
// pre-check may answer with a no although the scheduler places the binding.
const mostOverCautious = 0.04

// asked is the record as the product asks it: the product's decoders read the raw
// objects, and the taints tell which clusters have a failover of their own.
func (r record) asked(t *testing.T) (placement.PreCheckInput, reason.Verdict) {
	b := k8sadapter.DecodeBinding([]byte(text(r.Binding)))
	b.Unclaimed = false // what was recorded is what the scheduler makes of a binding, and no label decides there
	in := placement.PreCheckInput{Binding: &b, Failing: r.Failing, Evacuating: map[string]bool{}}
	for _, name := range r.Evacuating {
		in.Evacuating[name] = true
	}
	for _, raw := range r.Clusters {
		c := k8sadapter.DecodeCluster([]byte(text(raw)))
		require.Empty(t, c.Malformed)
		hard, soft := karmada.Triggering(c.Taints)
		if c.Name != r.Failing && len(hard)+len(soft) > 0 {
			in.Evacuating[c.Name] = true
		}
		in.Fleet = append(in.Fleet, c)
	}
	if b.Malformed != "" {
		return in, reason.Verdict{Reason: reason.Malformed, Message: b.Malformed}
	}
	return in, placement.PreCheck(in)
}

// unfounded says what is wrong about a yes, empty where nothing is.
func (r record) unfounded(v reason.Verdict) string {
	answer := r.answer(v.Reschedule)
	used := answer.names()
	switch {
	case !answer.Placed:
		return "not placed: " + answer.Why
	case slices.Contains(used, r.Failing):
		return "placed on the failing cluster"
	case len(v.Candidates) == 0:
		return "no candidates"
	case slices.ContainsFunc(v.Candidates, func(name string) bool { return !slices.Contains(used, name) }):
		return "a candidate that Karmada does not use"
	}
	return ""
}

// told prints a record so that it can be read.
func (r record) told(v reason.Verdict) string {
	return fmt.Sprintf("%s line %d: pre-check %v %s (%s) %v; Karmada placed=%v %s on %v (with a reschedule: placed=%v on %v)\n%s",
		r.File, r.N, v.OK, v.Reason, v.Message, v.Candidates, r.Karmada.Placed, r.Karmada.Why, r.Karmada.names(),
		r.WithReschedule.Placed, r.WithReschedule.names(), text(r.Binding))
}

// Rules: R4.6-25, R4.6-26, R4.6-35, R4.6-37.
func TestOraclePreCheck(t *testing.T) {
	for _, file := range oracleFiles {
		t.Run(file, func(t *testing.T) {
			held := holding{tally: tally{}}
			eachRecord(t, file, func(r record) { held.ask(t, r) })
			require.Greater(t, held.asked, 100, "the oracle was read")
			require.Greater(t, held.yes+held.over, held.asked/2, "Karmada places most")
			t.Logf("%d questions of %s: %d yes, %d no, of which %d (%.2f %% of the questions) although Karmada places:\n%s",
				held.asked, file, held.yes, held.asked-held.yes, held.over, 100*held.overCautious(), held.tally)
			if file == "real" {
				require.LessOrEqual(t, held.overCautious(), mostOverCautious)
			}
		})
	}
}

// holding is how the answers to one file came out.
type holding struct {
	tally
	asked, yes, over int
}

func (h *holding) overCautious() float64 { return float64(h.over) / float64(h.asked) }

func (h *holding) ask(t *testing.T, r record) {
	h.asked++
	in, v := r.asked(t)
	// Only an eviction that leaves nothing may ask for a reschedule.
	placed := r.Karmada.Placed || (len(in.Binding.Clusters) == 1 && r.WithReschedule.Placed)
	switch {
	case v.OK:
		h.yes++
		if wrong := r.unfounded(v); wrong != "" {
			h.fails(t, r, v, "unfounded yes: "+wrong)
		}
	case !placed:
		h.tally["no, and Karmada does not place: "+string(v.Reason)]++
	default:
		h.over++
		why := cautious(in, v.Reason)
		if why == "" {
			h.fails(t, r, v, "no without a documented reason: "+string(v.Reason))
		}
		h.tally["no, and Karmada places: "+string(v.Reason)+": "+why]++
	}
}

// mostTold bounds how many failures of each kind are printed.
const mostTold = 5

func (h *holding) fails(t *testing.T, r record, v reason.Verdict, wrong string) {
	if h.tally[wrong]++; h.tally[wrong] <= mostTold {
		t.Errorf("%s: %s", wrong, r.told(v))
	}
}
