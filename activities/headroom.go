package activities

import (
	"context"
	"errors"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
)

// needsSurvey tells whether room, or a question to a human, decides about a binding.
func (a *Activities) needsSurvey(b *karmada.Binding, q question) bool {
	return placement.NeedsRoom(b) || a.Settings.Approval.NeedsTally() && !q.answered()
}

// survey reads what Lifeboat moves have been promised, and where replicas stand, off the
// bindings of the fleet: from the cache, or page by page where there is none. Nothing of it is
// kept: the write asks again.
func (a *Activities) survey(ctx context.Context, on *reading) error {
	room, tally := placement.NewHeadroom(), placement.NewTally()
	if a.cached() {
		a.Cached.Each(!a.Settings.Approval.NeedsTally(), func(b *karmada.Binding) {
			room.Add(b)
			tally.Add(b)
		})
		on.room, on.tally = room, tally
		return nil
	}
	for b, err := range AllBindings(ctx, a.Reader) {
		if err != nil {
			return err
		}
		room.Add(b)
		tally.Add(b)
	}
	on.room, on.tally = room, tally
	return nil
}

// surveyAhead is the survey that a write needs, before the moment of its permit: to list the
// fleet's bindings is the dearest reading there is. Where they are cached it is made at the write.
func (a *Activities) surveyAhead(ctx context.Context, key karmada.BindingKey, q question, on *reading) error {
	if a.cached() {
		return nil
	}
	b, err := a.Reader.Binding(ctx, key)
	switch {
	case errors.Is(err, karmada.ErrGone):
		return nil // nothing matters beside a binding that is gone
	case err != nil:
		return err
	case !a.needsSurvey(&b, q):
		return nil
	}
	return a.survey(ctx, on)
}

// readAround reads what one binding is judged against at its write.
func (a *Activities) readAround(ctx context.Context, r EvictRequest, b *karmada.Binding, on *reading) (err error) {
	if on.room == nil && a.needsSurvey(b, r.question()) {
		if err = a.survey(ctx, on); err != nil {
			return err
		}
	}
	return a.measure(ctx, r.Cluster, r.question(), on)
}
