package activities

import (
	"context"
	"errors"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// needsSurvey tells whether room, or a question to a human, decides about a binding.
func (a *Activities) needsSurvey(b *failover.Binding, q question) bool {
	return failover.NeedsRoom(b) || a.Settings.Approval.NeedsTally() && !q.answered()
}

// survey reads what moves of ours have been promised, and where replicas stand, off every
// binding of the fleet, page by page. Nothing of it is kept: the write asks again.
func (a *Activities) survey(ctx context.Context, on *reading) error {
	room, tally := failover.NewHeadroom(), failover.NewTally()
	for page := (Page{}); ; {
		p, err := a.Reader.Bindings(ctx, page)
		if err != nil {
			return err
		}
		for i := range p.Bindings {
			room.Add(&p.Bindings[i])
			tally.Add(&p.Bindings[i])
		}
		if p.Next == nil {
			on.room, on.tally = room, tally
			return nil
		}
		page = *p.Next
	}
}

// surveyFor is the survey where room, or a question to a human, decides about this
// binding, and nothing where they do not: a listing of the fleet's bindings is the
// dearest reading there is.
func (a *Activities) surveyFor(ctx context.Context, key failover.BindingKey, q question, on *reading) error {
	b, err := a.Reader.Binding(ctx, key)
	switch {
	case errors.Is(err, failover.ErrGone):
		return nil // nothing matters beside a binding that is gone
	case err != nil:
		return err
	case !a.needsSurvey(&b, q):
		return nil
	}
	return a.survey(ctx, on)
}

// readAround reads what one binding is judged against at its write, beside the survey.
func (a *Activities) readAround(ctx context.Context, r EvictRequest, on *reading) (err error) {
	if on.fleet, err = a.fleetWith(ctx, r.Cluster); err != nil {
		return err
	}
	return a.measure(ctx, r.Cluster, r.question(), on)
}
