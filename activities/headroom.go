package activities

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
)

// needsSurvey reports whether room, or a question to an operator, decides about a binding.
func (s surveyor) needsSurvey(b *karmada.Binding, q question) bool {
	return placement.NeedsRoom(b) || s.settings.Approval.NeedsTally() && !q.answered()
}

// survey reads what Lifeboat moves have been promised, and where replicas stand, off the
// bindings of the fleet: from the cache, or page by page where there is none. Nothing of it is
// kept: the write reads again.
func (s surveyor) survey(ctx context.Context, on *reading) error {
	room, tally := placement.NewHeadroom(), placement.NewTally()
	err := s.each(ctx, !s.settings.Approval.NeedsTally(), func(b *karmada.Binding) {
		room.Add(b)
		tally.Add(b)
	})
	if err == nil {
		on.room, on.tally = room, tally
	}
	return err
}

// surveyAhead is the survey that a write needs, before the moment of its permit: to list the
// fleet's bindings is the dearest reading there is. Where they are cached it is made at the write.
func (s surveyor) surveyAhead(ctx context.Context, key karmada.BindingKey, q question, on *reading) error {
	if s.cached() {
		return nil
	}
	b, gone, err := s.binding(ctx, key, "")
	if err != nil || gone || !s.needsSurvey(&b, q) {
		return err
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
