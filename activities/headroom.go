package activities

import (
	"context"
	"errors"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// headroom reads what moves of ours have been promised, off every binding of the
// fleet, page by page. Nothing of it is kept: the write asks again.
func (a *Activities) headroom(ctx context.Context) (*failover.Headroom, error) {
	h := failover.NewHeadroom()
	for page := (Page{}); ; {
		p, err := a.Reader.Bindings(ctx, page)
		if err != nil {
			return nil, err
		}
		for i := range p.Bindings {
			h.Add(&p.Bindings[i])
		}
		if p.Next == nil {
			return h, nil
		}
		page = *p.Next
	}
}

// headroomFor is the headroom where room decides about this binding, and nothing
// where it does not: a listing of the fleet's bindings is the dearest reading there is.
func (a *Activities) headroomFor(ctx context.Context, key failover.BindingKey) (*failover.Headroom, error) {
	b, err := a.Reader.Binding(ctx, key)
	switch {
	case errors.Is(err, failover.ErrGone):
		return nil, nil //nolint:nilnil // nothing is promised beside a binding that is gone
	case err != nil:
		return nil, err
	case !failover.NeedsRoom(&b):
		return nil, nil //nolint:nilnil // room does not matter to it
	}
	return a.headroom(ctx)
}

// readAround reads what one binding is judged against at its write. What was promised comes
// first, for it takes longest: the rest is to be as fresh as can be.
func (a *Activities) readAround(ctx context.Context, key failover.BindingKey) (reading, error) {
	room, err := a.headroomFor(ctx, key)
	if err != nil {
		return reading{}, err
	}
	fleet, err := a.Reader.Clusters(ctx)
	return reading{fleet: fleet, room: room}, err
}
