package activities

import (
	"context"
	"errors"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
)

// needsSurvey tells whether room, or a question to a human, decides about a binding.
func (s surveyor) needsSurvey(b *karmada.Binding, q question) bool {
	return placement.NeedsRoom(b) || s.settings.Approval.NeedsTally() && !q.answered()
}

// survey reads what Lifeboat moves have been promised, and where replicas stand, off the
// bindings of the fleet: from the cache, or page by page where there is none. Nothing of it is
// kept: the write asks again.
func (s surveyor) survey(ctx context.Context, on *reading) error {
	room, tally := placement.NewHeadroom(), placement.NewTally()
	if s.cached() {
		s.cache.Each(!s.settings.Approval.NeedsTally(), func(b *karmada.Binding) {
			room.Add(b)
			tally.Add(b)
		})
		on.room, on.tally = room, tally
		return nil
	}
	for b, err := range AllBindings(ctx, s.Reader) {
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
func (s surveyor) surveyAhead(ctx context.Context, key karmada.BindingKey, q question, on *reading) error {
	if s.cached() {
		return nil
	}
	b, err := s.Reader.Binding(ctx, key)
	switch {
	case errors.Is(err, karmada.ErrGone):
		return nil // nothing matters beside a binding that is gone
	case err != nil:
		return err
	case !s.needsSurvey(&b, q):
		return nil
	}
	return s.survey(ctx, on)
}

// readAround reads what one binding is judged against.
func (s surveyor) readAround(ctx context.Context, cluster string, q question, b *karmada.Binding, on *reading) error {
	if on.room == nil && s.needsSurvey(b, q) {
		if err := s.survey(ctx, on); err != nil {
			return err
		}
	}
	return s.measure(ctx, cluster, q, on)
}
