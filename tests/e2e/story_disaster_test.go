package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// temporalLost has Temporal lose its database in the middle of a failover, just after an
// eviction was written and before that was heard. An operator sets it up again, and nothing
// else: what stands in Karmada is all that is left to go by.
//
// It guards invariants 1, 2, 4, 5 and 6 where 8 ends: what has moved is not moved again, every
// hold is taken over and released or restored, an operator's word that died with the database is
// asked for again, and nothing new begins until an operator has looked.
//
// Rules: R4.5-30, R4.5-31, R4.8-12, R4.9-46, R4.9-47, R4.9-48, R4.9-53.
func temporalLost(s *scene) {
	const optedOut = prefix + "enabled"
	l := s.oneOfEachKind(optedOut)
	from, moved, slow, idle, fenced, bare := s.c(1), l.moved, l.slow, l.idle, l.fenced, l.bare
	old := s.work(bare, from)
	answer := s.gate.stopAt(true, func(w write) bool { return w.evicts(fenced, from) })
	s.order("confirm-fenced", fenced, "--cluster", from)
	s.reaches(answer, "the last eviction is written, its answer on its way")

	s.control("lose-temporal", "", nil)
	answer.letGo()
	checks, code := s.preflight("worker", "--role", "worker", "--set", "mode=enforce")
	require.Equal(s, 4, code)
	lost := checks["Temporal namespace "+s.lab.At.TemporalNamespace]
	require.Equal(s, []string{"failed", "it does not exist"}, []string{lost.Result, lost.Found})
	require.Contains(s, lost.Do, "lifeboat setup")
	s.setUp()

	s.paced("halted", "StateLost")
	s.awaitFailover(from, "everything that is held is taken over", func(e *clusterFailover) bool {
		return e.Migrations[slow].Phase == "AwaitingHealth" && e.Migrations[bare].Reason == "NoClusterFit" && e.awaitsFence(fenced)
	})
	s.annotate(idle, optedOut, "")
	s.awaitFailover(from, "what begins anew waits for an operator", func(e *clusterFailover) bool {
		return e.waits(idle, "ready", "Halted") && e.Pace.Reason == "StateLost"
	})
	s.annotate(slow, faultStuckReadyAt, "")
	s.order("confirm-fenced", fenced, "--cluster", from)
	s.awaitFailover(from, "what had begun goes on meanwhile", func(e *clusterFailover) bool {
		return e.ended(slow, "Migrated") && e.ended(fenced, "Migrated")
	})
	require.Empty(s, s.evictions(idle, from), "halted")
	s.order("resume", "fleet")
	s.awaitFailover(from, "and then goes", func(e *clusterFailover) bool { return e.outcome(idle) != nil })

	s.recovers(from, map[string]string{slow: "Migrated", fenced: "Migrated", idle: "Migrated", bare: "Restored"})
	s.onceEach(fenced)
	for _, key := range []string{moved, slow, idle} {
		s.releasedWhenItRan(key, from)
	}
	require.Equal(s, old.UID, s.work(bare, from).UID, "its Work was never replaced")
}

// kinds are bindings, each at another point of its way.
type kinds struct {
	moved  string // has moved
	slow   string // held, for its new copy does not run yet
	bare   string // held, for nothing fits
	fenced string // not written yet, for it asks whether its old copy is dead
	idle   string // opted out
}

// oneOfEachKind has the first of three clusters fail, and waits until everything is under way.
func (s *scene) oneOfEachKind(optedOut string) kinds {
	s.rule(time.Second, time.Second)
	from, to, other := s.c(1), s.c(2), s.c(3)
	k := kinds{
		moved:  s.deploy("moved", from, 1, oneOf(from, to)),
		slow:   s.deploy("slow", from, 2, oneOf(from, to), faultStuckReadyAt+"="+to+"=1"),
		idle:   s.deploy("idle", from, 1, oneOf(from, to), optedOut+"=false"),
		fenced: s.deploy("fenced", from, 1, oneOf(from, to), directly),
	}
	k.bare = s.deployApart("bare", from, other)
	s.killAndCordon(from, k.bare, other)
	s.awaitFailover(from, "one of each kind", func(e *clusterFailover) bool {
		return e.ended(k.moved, "Migrated") && e.Migrations[k.slow].Phase == "AwaitingHealth" &&
			e.Migrations[k.bare].Reason == "NoClusterFit" && e.Migrations[k.fenced].Phase == "AwaitingFence"
	})
	return k
}

// onceEach: each binding was taken off the first cluster once and let go or put back once,
// and was never without a copy or a hold. Of one that goes Directly Karmada begins the new
// copy when the hold has gone.
func (s *scene) onceEach(directly string) {
	s.catchUp()
	for _, u := range s.bindings {
		key := keyOf(u)
		s.evicted(key, s.c(1))
		s.released(key, s.c(1))
		require.Len(s, s.writesTo(key), 2, "by the audit log: %v", s.writesTo(key))
		if key != directly {
			require.Equal(s, "0s", s.uncovered(key).String(), "%s had neither a copy nor a hold", key)
		}
	}
}

// outagesApart are the stories of `make outages` that take a minute and a lab of their own each.
var outagesApart = []story{
	{name: "karmada_restored_from_a_backup", short: "past", size: 3, tell: karmadaRestored},
	{name: "etcd_loses_one_of_three_members", short: "third", size: 2, tell: etcdMemberLost, lab: []string{"--etcd-members", "3"}},
	{name: "temporal_without_its_search_attributes", short: "blank", size: 2, tell: attributesMissing},
}

// TestOutagesApart tells them, one by one.
func TestOutagesApart(t *testing.T) {
	if *chaosTo == "" {
		t.Skip("make outages plays them")
	}
	told := &ledger{times: map[string]time.Duration{}}
	for _, s := range outagesApart {
		s.own = true
		told.run(t, s, shared)
		if took, ok := told.times[s.name]; ok {
			say("outages: %-53s ok, %3.0f s", s.name, took.Seconds())
		}
	}
}

// karmadaRestored has Karmada's etcd restored from a backup in the middle of a failover. The
// backup is from when a new copy ran; since then the cluster under it has died as well. What
// the API server says again is over, and nobody corrects it until Karmada's controllers run.
//
// It guards invariants 1 and 2: no hold is let go on evidence from before the restore; and 6,
// for all of it ends as it should.
//
// Rules: R4.7-41.
func karmadaRestored(s *scene) {
	// Long enough for Karmada's controllers to be started meanwhile, on a busy machine too.
	s.more = []string{"health.detection=20s"}
	require.NoError(s, s.stopProduct())
	require.NoError(s, s.inMode(s.ctx, "enforce"))
	from, to, other := s.c(1), s.c(2), s.c(3)
	s.create(taintRule(s.story.short, "Ready", time.Second, time.Second, from))
	held := s.deploy("held", from, 2, oneOf(from, to))
	late := s.deploy("late", from, 1, oneOf(from, other), prefix+"enabled=false")

	release := s.gate.stopAt(false, func(w write) bool { return w.releases(held, from) })
	s.kill(from)
	s.reaches(release, "the new copy runs, the release is on its way")
	s.control("snapshot", "", nil)
	s.kill(to)
	s.annotate(held, "example.com/touched", "yes") // so that the release loses a race
	release.letGo()
	s.annotate(late, prefix+"enabled", "")
	s.awaitFailover(from, "one has moved, the other's new copy is not proven any more", func(e *clusterFailover) bool {
		return e.ended(late, "Migrated") && e.Migrations[held].Reason == "TargetNotReady"
	})
	for _, key := range []string{held, late} {
		s.evicted(key, from)
		s.neverWrong(key)
	}
	s.releasedWhenItRan(late, from)

	s.goesBack(held, late)
	s.control("start-controllers", "", nil)
	s.await("it is not Ready, says Karmada", func() (bool, string) { return !s.cluster(to).ready(), "" })
	require.Len(s, s.find(held).held(from), 1, "and held still")
	s.control("revive", to, nil)
	s.awaitFailover(from, "moved", func(e *clusterFailover) bool { o := e.outcome(held); return o != nil && o.Outcome == "Migrated" })
	s.releasedWhenItRan(held, from)
	require.Empty(s, s.evictions(held, from)[1:], "it was evicted once")
	s.annotate(late, prefix+"enabled", "")
	s.await("moved once more: where the backup has it, nothing of it lives", func() (bool, string) {
		on := s.find(late).targets()
		return slices.Equal(on, []string{other}), strings.Join(on, ",")
	})
	s.revive(from)
	s.ends(from, "Recovered")
}

// goesBack restores the backup: of two bindings one is held and its new copy runs, so it says,
// and the other has not moved. The restore is noticed, and nothing let go.
func (s *scene) goesBack(held, late string) {
	from, to := s.c(1), s.c(2)
	s.control("restore", "", nil)
	require.NoError(s, s.chronicles(s.ctx))
	require.True(s, s.cluster(to).ready(), "so it says")
	require.True(s, s.find(held).settled(), "so it says")
	require.Equal(s, []string{from}, s.find(late).targets(), "so it says")
	s.awaitFailover(from, "it has noticed", func(e *clusterFailover) bool { return e.Migrations[held].Attention != "" })
	s.needsAttention(from, held, "StaleRead")
	s.remains(minHealthy+3*time.Second, "nothing is let go on it", func() bool { return len(s.find(held).held(from)) == 1 })
}

// etcdMemberLost has one of three members of Karmada's etcd die in the middle of a failover:
// first one that follows, which nobody notices; then, while an eviction is on its way, the
// one that leads.
//
// It guards invariants 1 and 5 where 8 ends: a write whose answer tells nothing is looked at
// again, and not done twice.
func etcdMemberLost(s *scene) {
	s.chronicle.patient = true
	from := s.c(1)
	first, second, ends := s.oneAfterTheOther()

	s.etcd("lose-etcd-follower")
	s.kill(from)
	s.moved(from, first)
	s.etcd("return-etcd")

	eviction := s.gate.stopAt(false, func(w write) bool { return w.evicts(second, from) })
	s.annotate(second, prefix+"enabled", "")
	s.reaches(eviction, "the second eviction is on its way")
	s.etcd("lose-etcd-leader")
	eviction.letGo()
	s.moved(from, second)
	s.etcd("return-etcd")
	ends()
}

// oneAfterTheOther puts two bindings on the first cluster, of which the second has opted out
// for now. What it returns last ends the failover: both have moved once, and neither worker nor
// controller was started anew.
func (s *scene) oneAfterTheOther() (first, second string, ends func()) {
	from, to := s.c(1), s.c(2)
	s.rule(time.Second, time.Second)
	first = s.deploy("first", from, 2, oneOf(from, to))
	second = s.deploy("second", from, 1, oneOf(from, to), prefix+"enabled=false")
	worker, controller := s.worker, s.controller
	return first, second, func() {
		s.recovers(from, map[string]string{first: "Migrated", second: "Migrated"})
		for _, key := range []string{first, second} {
			s.evicted(key, from)
			s.releasedWhenItRan(key, from)
		}
		require.Same(s, worker, s.worker, "no restart")
		require.Same(s, controller, s.controller, "no restart")
	}
}

// etcd loses a member or has it back, and waits until the API server answers again.
func (s *scene) etcd(verb string) {
	require.NoError(s, s.lab.control(s.ctx, verb, "", nil))
	s.await(verb+": the API server answers", func() (bool, string) {
		_, err := s.api.Resource(clusters).List(s.ctx, metav1.ListOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// moved waits until a binding has.
func (s *scene) moved(from, key string) {
	s.awaitFailover(from, key+" has moved", func(e *clusterFailover) bool { return e.ended(key, "Migrated") })
}

// attributesMissing has the search attributes that Lifeboat was set up with taken out of
// Temporal's namespace: before a failure, and again in the middle of one. Nothing goes on
// without them; preflight names them, a worker refuses to start, and setup cures it for
// whatever runs.
//
// Rules: R4.15-18, R4.15-24.
func attributesMissing(s *scene) {
	from := s.c(1)
	first, second, ends := s.oneAfterTheOther()

	names := s.removeAttributes()
	failed := s.metric(s.controller, undeliverable)
	s.kill(from)
	s.logs("controller", "could not deliver, trying again")
	require.Greater(s, s.metric(s.controller, undeliverable), failed)
	checks, code := s.preflight("worker", "--role", "worker", "--set", "mode=enforce")
	require.Equal(s, 4, code)
	lacking := checks["Temporal search attributes"]
	require.Equal(s, "failed", lacking.Result)
	require.Contains(s, lacking.Do, "lifeboat setup")
	for _, name := range names {
		require.Contains(s, lacking.Found, name)
	}
	_, err := s.serve(s.ctx, "lifeboat-worker", "another", s.lab.At.Kubeconfigs["worker"], "--mode", "enforce")
	require.ErrorContains(s, err, "lacks the search attributes "+strings.Join(names, ", "))
	require.Nil(s, s.cluster(from).taint(failedTaint, "NoExecute"), "nothing is done without them")
	s.setUp()
	s.moved(from, first)

	s.removeAttributes()
	rejected := s.metric(s.worker, rejectedTasks)
	s.annotate(second, prefix+"enabled", "")
	s.logs("worker", "Task processing failed with error.*BadSearchAttributes")
	require.Greater(s, s.metric(s.worker, rejectedTasks), rejected)
	s.setUp()
	s.moved(from, second)
	ends()
}

// rejectedTasks counts what a worker decided and the server did not take.
const rejectedTasks = `temporal_request_failure_total\{.*operation="RespondWorkflowTaskCompleted"`

// removeAttributes takes the search attributes out of the namespace and names them, sorted.
func (s *scene) removeAttributes() []string {
	names := []string{"LifeboatBinding", "LifeboatCluster", "LifeboatMode", "LifeboatPhase", "LifeboatReason"}
	_, err := s.temporal.OperatorService().RemoveSearchAttributes(s.ctx, &operatorservice.RemoveSearchAttributesRequest{
		Namespace: s.lab.At.TemporalNamespace, SearchAttributes: names,
	})
	require.NoError(s, err)
	return names
}

// setUp runs lifeboat setup, as who installs does.
func (s *scene) setUp() {
	require.NoError(s, s.lifeboat("setup", s.lab.At.Kubeconfigs["setup"]).Run(), tail(s.logFile("setup"), 20))
}

// logs waits until a process logs what matches from now on.
func (s *scene) logs(who, pattern string) {
	info, err := os.Stat(s.logFile(who))
	require.NoError(s, err)
	sought := regexp.MustCompile("(?m)^.*(" + pattern + ").*$")
	var line []byte
	s.awaitQuietly(who+" logs "+pattern, func() (bool, string) {
		content, err := os.ReadFile(s.logFile(who))
		require.NoError(s, err)
		line = sought.Find(content[info.Size():])
		return line != nil, ""
	})
	s.Logf("%s  %s logs %s", time.Now().Format("15:04:05.0"), who, line)
}
