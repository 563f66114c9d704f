package sim

import (
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// configure has the workers' own config handle a cluster in a mode from now on.
func (s *sim) configure(cluster string, mode rules.Mode) {
	set := &s.workers.Settings.ModeExceptions
	without := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == cluster })
	}
	set.Enforce.Names, set.Observe.Names = without(set.Enforce.Names), without(set.Observe.Names)
	if mode == rules.ModeObserve {
		set.Observe.Names = append(set.Observe.Names, cluster)
	} else {
		set.Enforce.Names = append(set.Enforce.Names, cluster)
	}
	s.judge.modes[cluster] = append(s.judge.modes[cluster], modeFrom{s.now(), mode})
}

// enforce orders that what is only observed be enforced.
func (s *sim) enforce(ctx workflow.Context, x Step) {
	s.insist(ctx, x, func(workflow.Context) *answer {
		s.judge.enforced[x.Cluster] = append(s.judge.enforced[x.Cluster], s.now())
		o := workflows.Resume{ScopedOrder: workflows.ScopedOrder{Order: operator}, Enforce: true}
		return s.update(workflows.ClusterFailoverID("", x.Cluster), workflows.UpdateResume, o, func() {
			s.count["order enforce"]++
			s.judge.ordered(x.Cluster, workflows.UpdateResume) // it ends a pause that stood when it was given
		})
	})
}

// modeFrom is what the workers' config says of a cluster from a moment on.
type modeFrom struct {
	at   time.Time
	mode rules.Mode
}

// soonest is within what time a failover that has started knows its mode.
const soonest = 2 * time.Minute

// observes tells whether the config said nothing but observe of a cluster throughout.
func (j *judge) observes(cluster string, from, to time.Time) bool {
	mode := rules.Mode(j.s.schedule.Mode)
	for _, m := range j.modes[cluster] {
		if m.at.After(to) {
			break
		}
		if m.at.After(from) && mode == rules.ModeEnforce {
			return false
		}
		mode = m.mode
	}
	return mode == rules.ModeObserve
}

// onlyObserved tells that no failover of a cluster so far can have begun in enforce, or
// been told to.
func (j *judge) onlyObserved(cluster string) bool {
	now := j.s.now()
	for n, began := range j.starts[cluster] {
		until := began.Add(soonest)
		if n+1 < len(j.starts[cluster]) && j.starts[cluster][n+1].Before(until) {
			until = j.starts[cluster][n+1]
		}
		if until.After(now) {
			until = now
		}
		if !j.observes(cluster, began, until) {
			return false
		}
	}
	return len(j.enforced[cluster]) == 0 // what was asked for in vain is forgiven: a story tells that only rarely
}

// observing: a failover in observe writes nothing, and a worker in observe begins nothing.
func (j *judge) observing(w world.Write, begins bool) {
	now := j.s.now()
	if !j.applications.byApplication() && j.onlyObserved(w.Cluster) {
		j.violates("10: %s of %s %s in observe", w.Op, w.Cluster, w.Binding)
	}
	if begins && j.observes(w.Cluster, now.Add(-takes-slack), now) {
		j.violates("10: %s of %s %s, which the workers have observed for %s", w.Op, w.Cluster, w.Binding, takes+slack)
	}
}

// onlooks: a migration that a failover in observe has begun writes nothing.
func (j *judge) onlooks(w world.Write, b *karmada.Binding) {
	if b.Placement == nil || j.applications.byApplication() || !j.onlooker(w.Cluster) {
		return
	}
	starts := j.starts[w.Cluster]
	if j.s.ran[workflows.BindingMigrationID("", w.Cluster, b.Key)].After(starts[len(starts)-1]) {
		j.violates("10: %s of %s %s, by a failover that observes", w.Op, w.Cluster, w.Binding)
	}
}

// enforces tells that a failover that has closed began in enforce for certain.
func (j *judge) enforces(r workflows.FailoverReport) bool {
	mode := rules.Mode(j.s.schedule.Mode)
	for _, m := range j.modes[r.Cluster] {
		switch {
		case m.at.Before(r.Began):
			mode = m.mode
		case m.at.Before(r.Began.Add(soonest)) && m.mode != mode:
			return false
		}
	}
	return mode == rules.ModeEnforce
}

// switched tells whether modes change in this story.
func (j *judge) switched() bool { return len(j.modes) > 0 }

// enforceLeft has whoever only observes what an earlier failover left clean it away.
func (s *sim) enforceLeft(ctx workflow.Context) {
	for range 30 {
		open := false
		for n := range s.schedule.Fleet {
			cluster := clusterName(n)
			id := workflows.ClusterFailoverID("", cluster)
			if c, there := s.world.Standing(cluster); !s.judge.switched() || !there || len(c.Added) == 0 || s.state[id] != running {
				continue
			}
			status, err := query[workflows.FailoverStatus](s, id, workflows.QueryStatus)
			if err == nil && status.Terms.Mode == rules.ModeObserve {
				open = true
				s.judge.enforced[cluster] = append(s.judge.enforced[cluster], s.now())
				s.update(id, workflows.UpdateResume, workflows.Resume{ScopedOrder: workflows.ScopedOrder{Order: operator}, Enforce: true}, func() { s.count["order enforce, for what was left"]++ })
			}
		}
		if !open {
			return
		}
		_ = workflow.Sleep(ctx, 10*time.Second)
	}
}
