package activities

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
)

// needsSurvey reports whether room, or a question to an operator, decides about a binding.
func (k reader) needsSurvey(b *karmada.Binding, q Question) bool {
	return placement.NeedsRoom(b) || k.settings.Approval.NeedsTally() && !q.answered()
}

// survey reads what Lifeboat moves have been promised, and where replicas stand, off the
// bindings of the fleet: from the cache, or page by page where there is none. Nothing of it is
// kept: the write reads again.
func (k reader) survey(ctx context.Context, on *reading) error {
	room, tally := placement.NewHeadroom(), placement.NewTally()
	err := k.each(ctx, !k.settings.Approval.NeedsTally(), func(b *karmada.Binding) {
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
func (k reader) surveyAhead(ctx context.Context, key karmada.BindingKey, q Question, on *reading) error {
	if k.cached() {
		return nil
	}
	b, gone, err := k.binding(ctx, key, "")
	if err != nil || gone || !k.needsSurvey(&b, q) {
		return err
	}
	return k.survey(ctx, on)
}

// readAround reads what one binding is judged against.
func (k reader) readAround(ctx context.Context, cluster string, q Question, b *karmada.Binding, on *reading) error {
	if on.room == nil && k.needsSurvey(b, q) {
		if err := k.survey(ctx, on); err != nil {
			return err
		}
	}
	return k.measure(ctx, cluster, q, on)
}
