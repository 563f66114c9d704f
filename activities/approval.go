package activities

import (
	"context"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Question is what an operator was, or was not, asked about one binding in one attempt.
type Question struct {
	// Approval is an operator's yes in Attempt, nil without; Standing are approval rules that
	// asked before in that attempt.
	Approval *queue.Approval      `json:"approval,omitempty"`
	Attempt  int                  `json:"attempt,omitempty"`
	Standing []queue.ApprovalRule `json:"standing,omitempty"`
}

// answered: an operator has answered, and no rule has to be judged.
func (q Question) answered() bool { return q.Approval.Holds(q.Attempt) }

func (r PreCheckRequest) question(item Checked) Question {
	return Question{Approval: item.Approval, Attempt: r.Attempt, Standing: r.Standing}
}

// measure reads how far the failure goes, once per reading, where an approval rule
// needs it that no operator has answered.
func (k reader) measure(ctx context.Context, cluster string, q Question, on *reading) error {
	if on.extent != nil || q.answered() || !k.settings.Approval.NeedsExtent() {
		return nil
	}
	if on.tally == nil && k.settings.Approval.NeedsTally() {
		return nil // it was not read: then the rules ask
	}
	list, err := k.recent().Rules(ctx)
	if err != nil {
		return err
	}
	in := placement.ExtentInput{Leaving: cluster, Fleet: on.fleet, Tally: on.tally, RoomUnknownOK: k.settings.RoomUnknownOK}
	for _, c := range on.fleet {
		// What is being left counts, unless it is only drained: a plan is also made for a healthy one.
		if rules.Faulty(list, c) || c.Name == cluster && c.Drain == nil {
			in.Failing = append(in.Failing, c.Name)
		}
	}
	slices.Sort(in.Failing)
	if on.tally != nil {
		in.Reserved = on.room.For(karmada.BindingKey{}, on.fleet)
	}
	extent := placement.ExtentOf(in)
	on.extent = &extent
	return nil
}

// approved holds a pass back that an operator has yet to agree to.
func (j judge) approved(ctx context.Context, b *karmada.Binding, cluster string, ask ask, check Check) (Check, error) {
	if ask.question.answered() {
		return check, nil
	}
	if j.settings.Approval.Selector != "" {
		if err := j.readLabels(ctx, cluster, b); err != nil {
			return check, err
		}
	}
	rule, kindAsks := j.settings.Kinds.Judge(b, cluster)
	if rule != rules.KindAsk {
		kindAsks = ""
	}
	asks := j.settings.Approval.Judge(queue.AskInput{
		Binding: b, Purge: check.Purge, Extent: ask.extent, Kind: kindAsks, Standing: ask.question.Standing,
	})
	if asks.Automatic() {
		return check, nil
	}
	check.Asked = asks.Rules
	return check.ends(CheckBlocked, reason.AwaitingApproval, asks.Message), nil
}
