package e2e

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

const (
	purgeMode = prefix + "purge-mode"
	directly  = purgeMode + "=Directly"
)

// silentSource has a binding that must never run twice on a cluster that falls
// silent: it waits until an operator vouches that the old copy is dead.
//
// It guards invariant 11: until then nothing is written, and no copy begins; and that
// the old Work stays as pending purge, and is gone once the cluster is back.
//
// Rules: R4.8-4, R4.8-7, R4.8-8, R4.8-12, R4.8-13.
func silentSource(s *scene) {
	from, to := s.ruledPair()
	app := s.deploy("app", from, 1, oneOf(from, to), directly)
	old := s.work(app, from)

	s.kill(from)
	s.awaitFailover(from, "waits for a fence, and says so", func(e *clusterFailover) bool {
		return e.Phase == "Evacuated" && e.awaitsFence(app) && e.Migrations[app].Reason == "AwaitingFence"
	})
	s.remains(3*time.Second, "nothing is written, no copy begins", func() bool {
		return len(s.evictions(app, from)) == 0 && s.work(app, to) == nil
	})
	s.order("confirm-fenced", app, "--cluster", from)

	s.awaitFailover(from, "moved, the old copy is pending purge", func(e *clusterFailover) bool {
		return e.ended(app, "Migrated") && len(e.PendingPurges) == 1
	})
	s.runs(app)
	require.Equal(s, []string{to}, s.find(app).targets())
	require.Equal(s, old.UID, s.work(app, from).UID, "Karmada cannot delete on a silent cluster")
	require.NotNil(s, s.work(app, from).DeletionTimestamp)
	s.evicted(app, from)
	s.released(app, from)

	s.revive(from)
	r := s.ends(from, "Recovered")
	require.Empty(s, r.PendingPurges, "paid")
	s.purged(app, from)
	s.became(r, map[string]string{app: "Migrated"})
}

// oldGoesFirst is Directly on a cluster that answers.
//
// It guards invariant 11: Karmada deletes the old copy, and only then the new one
// begins, with Lifeboat's task standing until then.
//
// Rules: R4.8-8, R4.8-13.
func oldGoesFirst(s *scene) {
	const maintenance = "example.com/maintenance"
	from, to := s.c(1), s.c(2)
	app := s.deploy("app", from, 1, oneOf(from, to), directly)
	old := s.work(app, from)

	s.taintByHand(from, maintenance, "NoExecute", true)
	s.await("the new copy runs", func() (bool, string) {
		if before := s.work(app, from); before != nil {
			require.Equal(s, old.UID, before.UID)
			require.Nil(s, s.work(app, to), "two copies")
		}
		b := s.find(app)
		return !b.on(from) && b.settled(), fmt.Sprintf("%+v", b)
	})
	s.phase(from, "Evacuated")
	s.evicted(app, from)
	s.released(app, from)
	s.taintByHand(from, maintenance, "NoExecute", false)
	s.became(s.ends(from, "Recovered"), map[string]string{app: "Migrated"})
}

// stateGoesAlong moves a binding whose new copy is told what the old one last reported,
// first off a cluster that answers, then off one that does not.
//
// It guards §4.11: one write takes the cluster out and carries the state; the label is
// on the new copy until that is healthy, and gone afterwards. On a silent cluster the
// binding waits, and an operator has it go on without.
//
// Rules: R4.8-10, R4.11-1, R4.11-2, R4.11-6.
func stateGoesAlong(s *scene) {
	const maintenance, label = "example.com/maintenance", "example.com/ready"
	s.rule(time.Second, time.Second)
	first, second, third := s.c(1), s.c(2), s.c(3)
	u := deployment(s.namespace(), "job", first, 2, oneOf(first, second, third))
	u.SetAnnotations(map[string]string{purgeMode: "Directly", faultReadyAfter: "4s"})
	specOf(u)["failover"] = object{"cluster": object{"statePreservation": object{
		"rules": []any{object{"aliasLabelName": label, "jsonPath": "{.readyReplicas}"}},
	}}}
	s.run(u)
	app := keyOf(u)

	s.taintByHand(first, maintenance, "NoExecute", true)
	s.await("the new copy is told, and is not healthy yet", func() (bool, string) {
		w := s.work(app, s.elsewhere(app, first))
		return w.labels()[label] == "2" && len(s.find(app).held(first)) == 1, fmt.Sprintf("%+v", s.find(app))
	})
	next := s.elsewhere(app, first)
	s.phase(first, "Evacuated")
	s.evicted(app, first)
	s.releasedWhenItRan(app, first)
	s.await("the label went with the task", func() (bool, string) {
		w := s.work(app, next)
		return w != nil && w.labels()[label] == "", fmt.Sprint(w.labels())
	})
	s.taintByHand(first, maintenance, "NoExecute", false)
	s.became(s.ends(first, "Recovered"), map[string]string{app: "Migrated"})

	s.kill(next)
	s.blocked(next, app, "StateNeedsSource")
	s.remains(3*time.Second, "nothing is written", func() bool { return len(s.evictions(app, next)) == 0 })
	s.order("confirm-fenced", app, "--cluster", next, "--without-state")
	s.moved(next, app)
	s.runs(app)
	s.recovers(next, map[string]string{app: "Migrated"})
}

// elsewhere is where a binding is placed that left a cluster, empty while it is nowhere.
func (s *scene) elsewhere(key, left string) string {
	for _, name := range s.find(key).targets() {
		if name != left {
			return name
		}
	}
	return ""
}

// checkRequest and checkAnswer are what a user's plug-in needs of the contract in
// docs/plugins.md: they stand here anew, as they would in somebody's own program.
type checkRequest struct {
	Version  int    `json:"version"`
	Question string `json:"question"`
	Cluster  string `json:"cluster"`
	Name     string `json:"name"`
	Targets  []struct {
		Cluster string `json:"cluster"`
	} `json:"targets"`
}

type checkAnswer struct {
	Version int    `json:"version"`
	Proven  bool   `json:"proven"`
	Message string `json:"message"`
}

// usersPlugin has two bindings wait for activities on a task queue of the user's own: the release of one for a
// health plug-in, the eviction of the other, whose purge mode is Directly, for a fence plug-in. First no worker
// polls that queue, then one does.
//
// It guards §4.7 and §4.8: a plug-in that is absent proves nothing and is seen; a fence plug-in opens the fence of
// a cluster that does not answer without an operator, and nothing is written before; invariants 1 and 11.
//
// Rules: R4.7-30, R4.7-31, R4.7-32, R4.8-4, R4.8-6.
func usersPlugin(s *scene) {
	const queue = "ops-checks"
	s.with("evictPlugins=[ResourceHealth, {name: dns, taskQueue: "+queue+", activity: CheckDNS, timeout: 2s}]", "evictPluginsMode=all",
		"fencePlugins=[{name: bmc, taskQueue: "+queue+", activity: PoweredOff, timeout: 2s}]")
	from, to := s.ruledPair()
	app, single := s.deploy("app", from, 1, oneOf(from, to)), s.deploy("single", from, 1, oneOf(from, to), directly)

	s.kill(from)
	s.awaitFailover(from, "the plug-ins are silent", func(e *clusterFailover) bool {
		return e.Migrations[app].Phase == "AwaitingHealth" && e.Migrations[app].Reason == "PluginSilent" && e.awaitsFence(single)
	})
	s.remains(2*minHealthy, "held, and not evicted, without their word", func() bool {
		return len(s.find(app).held(from)) == 1 && len(s.evictions(single, from)) == 0 && s.work(single, to) == nil
	})

	health, fence := make(chan checkRequest, 100), make(chan checkRequest, 100)
	w := worker.New(s.temporal.Client, queue, worker.Options{})
	w.RegisterActivityWithOptions(func(_ context.Context, r checkRequest) (checkAnswer, error) {
		health <- r
		return checkAnswer{Version: 1, Proven: len(r.Targets) == 1, Message: "resolves"}, nil
	}, activity.RegisterOptions{Name: "CheckDNS"})
	w.RegisterActivityWithOptions(func(_ context.Context, r checkRequest) (checkAnswer, error) {
		fence <- r
		return checkAnswer{Version: 1, Proven: r.Question == "fence" && r.Cluster == from, Message: "powered off"}, nil
	}, activity.RegisterOptions{Name: "PoweredOff"})
	require.NoError(s, w.Start())
	defer w.Stop()

	s.awaitFailover(from, "both have moved", func(e *clusterFailover) bool {
		return e.ended(app, "Migrated") && e.ended(single, "Migrated") && len(e.PendingPurges) == 2
	})
	s.releasedWhenItRan(app, from)
	require.GreaterOrEqual(s, len(health), 2, "while it waited, and afresh before the release")
	for len(health) > 0 {
		r := <-health
		require.Equal(s, "health", r.Question)
		require.Equal(s, to, r.Targets[0].Cluster)
	}
	require.Equal(s, "single", (<-fence).Name)
	s.evicted(single, from)
	s.runs(single)
	require.NotNil(s, s.work(single, from), "Karmada cannot delete on a silent cluster")

	s.revive(from)
	r := s.ends(from, "Recovered")
	require.Empty(s, r.PendingPurges, "paid")
	s.purged(single, from)
	s.became(r, map[string]string{app: "Migrated", single: "Migrated"})
}

// with runs the product with other settings until the story ends.
func (s *scene) with(more ...string) {
	require.NoError(s, s.stopProduct())
	s.more = more
	s.Cleanup(func() {
		s.more = nil
		require.NoError(s, s.stopProduct(), "it starts again with the next story")
	})
	require.NoError(s, s.inMode(s.ctx, s.mode), fmt.Sprint(more))
}
