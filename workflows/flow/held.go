package flow

import (
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// heldPatience is how long a put-back or a release waits for what its migration says. The restore
// itself may take longer: then the order stands, and the status says how it goes on.
const heldPatience = 10 * time.Second

// HeldOrders are put-backs and releases of held copies that wait for what their migrations say.
type HeldOrders struct{ asks []*heldAsk }

// heldAsk is one of them.
type heldAsk struct {
	verb  string
	order workflows.BindingOrder
	Reply
}

// Reply is the answer to an order, once the main loop has it.
type Reply struct {
	Answer string
	Err    error
	Done   bool
}

// End is the answer.
func (r *Reply) End(answer string, err error) { r.Answer, r.Err, r.Done = answer, err, true }

// Await waits a while for what becomes of an order: a refusal is the answer. Without one the given answer stands.
func (h *HeldOrders) Await(ctx workflow.Context, verb string, o workflows.BindingOrder, answer string) (string, error) {
	ask := &heldAsk{verb: verb, order: o, Reply: Reply{Answer: answer}}
	h.asks = append(h.asks, ask)
	live, _ := workflow.NewDisconnectedContext(ctx)
	_, err := workflow.AwaitWithTimeout(live, heldPatience, func() bool { return ask.Done })
	h.asks = slices.DeleteFunc(h.asks, func(a *heldAsk) bool { return a == ask })
	if err != nil {
		return "", err
	}
	return ask.Answer, ask.Err
}

// Reported answers the orders that a migration's report decides: none that it was not told yet.
func (h *HeldOrders) Reported(r activities.MigrationReport, untold func(id string) bool) {
	for _, ask := range h.asks {
		switch {
		case ask.order.Binding != r.Key:
		case r.RefusedID == ask.order.ID:
			ask.End("", Refused(r.Refused))
		case r.Result != nil && !untold(ask.order.ID):
			ask.ended(*r.Result)
		}
	}
}

// Refuse answers the order of an id that has no answer yet.
func (h *HeldOrders) Refuse(id string, why error) {
	for _, ask := range h.asks {
		if ask.order.ID == id && !ask.Done {
			ask.End("", why)
		}
	}
}

// Over has those that still wait answered as they stand: the workflow ends.
func (h *HeldOrders) Over() {
	for _, ask := range h.asks {
		ask.Done = true
	}
}

// ended is the answer that an outcome is.
func (a *heldAsk) ended(r record.Result) {
	did := r.Outcome == phase.OutcomeMigrated
	if a.verb == workflows.UpdatePutBack { // where nothing was written, nothing is to be put back
		did = r.Outcome == phase.OutcomeRestored || r.Outcome == phase.OutcomeAbandoned
	}
	if did {
		a.End(string(r.Outcome)+": "+r.Key.String(), nil)
		return
	}
	a.End("", Refused(strings.TrimRight(string(r.Outcome)+", "+string(r.Reason)+": "+r.Message, ": ")))
}
