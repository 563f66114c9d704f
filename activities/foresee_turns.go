package activities

import (
	"context"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// foreseeTurns has each its turn, and checks it beside what went before.
func (pl *Planner) foreseeTurns(ctx context.Context, r ForeseeRequest, terms Terms, found []Foreseen, out *Foresight) error {
	fleet, err := pl.worker.Reader.Clusters(ctx)
	if err != nil {
		return err
	}
	on := reading{fleet: fleet}
	if err := pl.worker.reader().survey(ctx, &on); err != nil {
		return err
	}
	var items []queue.Rank
	var of []int
	turns := make([]bool, len(found))
	for at, f := range found {
		if turns[at] = f.Prospect == ProspectMoves; turns[at] {
			items, of = append(items, queue.Rank{Key: f.Key, Priority: f.Priority, Due: f.Due}), append(of, at)
		}
	}
	line := queue.NewLineup(items, out.Pace, r.At)
	for at, when, ok := line.Next(); ok; at, when, ok = line.Next() {
		f := &found[of[at]]
		if err := pl.foreseeCheck(ctx, r, terms, f, &on); err != nil {
			return err
		}
		if f.Prospect == ProspectMoves && !f.Paused {
			if line.Went(); out.Pace.Flows() { // while nothing is issued no turn comes
				f.Begins = when
			}
		}
		out.Bindings = append(out.Bindings, *f)
	}
	for at := range found {
		if !turns[at] {
			out.Bindings = append(out.Bindings, found[at])
		}
	}
	return nil
}

// foreseeCheck runs the pre-check, and promises room to what would go.
func (pl *Planner) foreseeCheck(ctx context.Context, r ForeseeRequest, terms Terms, f *Foreseen, on *reading) error {
	item := Checked{Key: f.Key, UID: f.UID, Purge: f.policy.PurgeMode, PurgeBySpec: f.policy.PurgeBySpec, State: f.policy.State}
	check, err := pl.worker.preChecker().checkOne(ctx, PreCheckRequest{Cluster: r.Cluster, Purge: terms.Purge}, item, on)
	if err != nil {
		return classify("foresee binding", f.Key.String(), err)
	}
	f.Reason, f.Message, f.Candidates, f.Purge = check.Reason, check.Message, check.Candidates, check.Purge
	switch check.End {
	case CheckPass:
		if f.Reason = f.Why.Reason; f.Paused {
			f.Reason = reason.Paused
		}
		pl.foreseeAgain(r, f)
	case CheckFence:
		f.Prospect = ProspectFence
	case CheckBlocked:
		f.Prospect = ProspectBlocked
	case CheckOptedOut, CheckNotTargeting, CheckGone:
		f.Prospect = ProspectStays
	}
	b, err := pl.worker.Reader.Binding(ctx, f.Key)
	if err != nil {
		return err
	}
	if placement.NeedsRoom(&b) && f.Prospect != ProspectStays {
		f.Need = placement.Outstanding(&b, r.Cluster)
	}
	if f.Prospect == ProspectMoves {
		moved := onItsWay(b, r.Cluster)
		on.room.Add(&moved)
	}
	return nil
}

// foreseeAgain applies the pacer's limit of migrations per hour.
func (pl *Planner) foreseeAgain(r ForeseeRequest, f *Foreseen) {
	most := pl.worker.Settings.Pace.MigrationsPerHour
	if r.Migrations == nil || most <= 0 {
		return
	}
	if n, until := r.Migrations.Since(f.Key.String(), pace.Later(f.Due, r.At)); n >= most {
		f.Prospect, f.Reason = ProspectBlocked, reason.PingPong
		f.Message = fmt.Sprintf("it was moved %d times within an hour; not again before %s", n, until.Format("15:04:05 MST"))
	}
}

// onItsWay is a binding as its eviction would leave it: what it needs is promised.
func onItsWay(b karmada.Binding, cluster string) karmada.Binding {
	b.Clusters = slices.DeleteFunc(slices.Clone(b.Clusters), func(t karmada.TargetCluster) bool { return t.Name == cluster })
	b.Tasks = append(slices.Clone(b.Tasks), karmada.Task{FromCluster: cluster, Reason: karmada.TaskReason, Producer: karmada.Producer})
	return b
}
