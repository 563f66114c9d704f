package activities

import (
	"context"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// ForeseenCopy is one copy of an application, and what would become of the binding if the copy had been
// Unhealthy for as long as the binding tolerates.
type ForeseenCopy struct {
	rules.CopyHealth
	IfOver Foreseen `json:"ifOver"`
}

// ForeseeApplication runs the pre-check of an application failover for each copy of a binding. Each is judged
// alone.
func (pl *Planner) ForeseeApplication(ctx context.Context, b *karmada.Binding, at time.Time) ([]ForeseenCopy, error) {
	now := *pl
	now.worker.Clock = standstill{at.UTC()}
	fleet, err := now.worker.Reader.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	var out []ForeseenCopy
	for _, c := range rules.CopiesOf(b, failsIn(fleet)) {
		f := Foreseen{Key: b.Key, UID: b.UID, Binding: b.Key.String(), Resource: resourceName(b), Priority: b.Priority, Prospect: ProspectMoves, policy: rules.ApplicationPolicy(b)}
		on := reading{fleet: fleet}
		if err := now.worker.reader().survey(ctx, &on); err != nil {
			return nil, err
		}
		if err := now.foreseeCheck(ctx, ForeseeRequest{Cluster: c.Cluster, At: at}, Terms{}, &f, &on); err != nil {
			return nil, err
		}
		if why, message := rules.UnfitApplication(b.Application); why != reason.None {
			f.Prospect, f.Reason, f.Message = ProspectBlocked, why, message
		}
		out = append(out, ForeseenCopy{c, f})
	}
	return out, nil
}
