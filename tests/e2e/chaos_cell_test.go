package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/pacelaw"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// cell is one run of a story in which one thing goes wrong once.
type cell struct {
	Story  string `json:"story"`
	Victim string `json:"victim"` // empty: the undisturbed run
	Point  string `json:"point"`
	After  bool   `json:"after"`
}

func (c cell) String() string {
	when := "before"
	if c.After {
		when = "after"
	}
	return strings.Join([]string{c.Story, c.Victim, when, c.Point}, " | ")
}

// hash spreads cells evenly, and says the same of one in every run.
func (c cell) hash() uint32 {
	sum := sha256.Sum256([]byte(c.String()))
	return uint32(sum[0])<<16 | uint32(sum[1])<<8 | uint32(sum[2])
}

// The victims. Worker and controller are killed with -9 and started again at once; the
// frozen worker gets SIGSTOP, another one takes over, and when all is over the frozen
// one goes on, with the request or answer that it was cut off from; the servers are
// killed with -9 and started again on what they had stored.
const (
	victimWorker     = "worker"
	victimController = "controller"
	victimFrozen     = "frozen"
	victimTemporal   = "temporal"
	victimAPIServer  = "kube-apiserver"
	victimEtcd       = "etcd"
)

// vector is what of a run must be the same whatever went wrong.
type vector struct {
	Ended    string
	Outcomes map[string]string // by binding
	Targets  map[string]string
	// Copies are the Works that a binding ever had on a cluster, by "binding on cluster": how
	// many uids, and whether the last stands. One uid is a workload that was never replaced.
	Copies    map[string]string
	Evictions map[string]int // writes of a hold task, by binding
	Left      []string       // tasks, taints and annotations of Lifeboat's
	// Uncovered is the longest time in which a binding that once ran had neither a
	// copy that runs nor a hold, by binding.
	Uncovered map[string]string
	Pace      string // the law that was broken, empty when kept
}

// chaosRate is the pace of these runs, evictions per second.
const chaosRate = 1.0

// chaosSettings make lost tasks and leaderships short.
var chaosSettings = []string{
	"pace.evictionRate=1", "health.minHealthy=1s", "health.detection=2s", "health.pollInterval=2s",
	"workflow.pollInterval=2s", "workflow.askAgain=2s", "workflow.recheck=1s", "workflow.relist=4s", "recovery.restoreWait=5s",
	"controller.resyncInterval=2s", "controller.leaderElection.leaseDuration=6s", "controller.leaderElection.renewDeadline=4s",
}

// chaosTale is a story in which something goes wrong, and how it must end all the same.
type chaosTale struct {
	tell func(*scene) report
	want vector
}

// chaosStories are they, by name.
var chaosStories = map[string]chaosTale{
	"migration": {migrated, vector{
		Ended:    "Recovered",
		Outcomes: map[string]string{"cell/cart": "Migrated", "cell/stock": "Migrated"},
		Targets:  map[string]string{"cell/cart": "cell2", "cell/stock": "cell2"},
		Copies: map[string]string{
			"cell/cart on cell1": "1 gone", "cell/cart on cell2": "1 stands",
			"cell/stock on cell1": "1 gone", "cell/stock on cell2": "1 stands",
		},
		Evictions: map[string]int{"cell/cart": 1, "cell/stock": 1},
		Uncovered: map[string]string{"cell/cart": "0s", "cell/stock": "0s"},
	}},
	"recovery": {restored, vector{
		Ended:     "Recovered",
		Outcomes:  map[string]string{"cell/cart": "Restored", "cell/stock": "Abandoned"},
		Targets:   map[string]string{"cell/cart": "cell1", "cell/stock": "cell1"},
		Copies:    map[string]string{"cell/cart on cell1": "1 stands", "cell/stock on cell1": "1 stands"},
		Evictions: map[string]int{"cell/cart": 1, "cell/stock": 0},
		Uncovered: map[string]string{"cell/cart": "0s", "cell/stock": "0s"},
	}},
	"application": {movedWhenUnhealthy, vector{
		Ended:     "Migrated",
		Outcomes:  map[string]string{"cell/cart": "Migrated"},
		Targets:   map[string]string{"cell/cart": "cell2"},
		Copies:    map[string]string{"cell/cart on cell1": "1 gone", "cell/cart on cell2": "1 stands"},
		Evictions: map[string]int{"cell/cart": 1},
		Uncovered: map[string]string{"cell/cart": "0s"},
	}},
}

// movedWhenUnhealthy has an application that is Unhealthy leave a healthy cluster.
func movedWhenUnhealthy(s *scene) report {
	from, to := s.c(1), s.c(2)
	app := s.unhealthyOn("cart", oneOf(from, to), from, from)
	ended := s.applicationEnds(app, "Migrated")
	s.purged(app, from)
	return report{Ended: ended.Ended, Attempts: []attempt{{Results: []outcome{*ended.Last}}}}
}

// migrated loses a cluster with two bindings, which move, and has it back.
func migrated(s *scene) report {
	from, to := s.ruledPair()
	s.run(
		deployment(s.namespace(), "cart", from, 2, oneOf(from, to)),
		deployment(s.namespace(), "stock", from, 1, oneOf(from, to)),
	)
	s.kill(from)
	s.awaitFailover(from, "evacuated, both have moved", func(e *clusterFailover) bool {
		// Evacuated is also called what is blocked, as a write is whose answer was lost.
		return e.Phase == "Evacuated" && !slices.ContainsFunc(s.bindings, func(u *unstructured.Unstructured) bool {
			return !e.ended(keyOf(u), "Migrated")
		})
	})
	s.revive(from)
	return s.ends(from, "Recovered")
}

// restored has a cluster back when one binding has been evicted and found nothing, and the
// other was still tolerating.
func restored(s *scene) report {
	from, to := s.ruledPair()
	s.run(
		deployment(s.namespace(), "cart", from, 2, oneOf(from, to)),
		deployment(s.namespace(), "stock", from, 1, tolerating(oneOf(from, to), 10*time.Minute)),
	)
	cart := s.namespace() + "/cart"
	// The scheduler comes late, and what the pre-check saw is gone by then.
	latency := func(d string) {
		s.control("knobs", "", object{"schedulerLatency": d})
	}
	late := "10s"
	if s.victim == victimAPIServer || s.victim == victimEtcd {
		late = "30s" // with its own watches it has to come back, too, before it sees what is gone
	}
	latency(late)
	defer latency("0s")
	s.kill(from)
	// Asked for, not heard: a watch that an API server took along may come back later than the scheduler.
	s.await("evicted", func() (bool, string) {
		u, err := s.api.Resource(resourceBindings).Namespace(s.namespace()).Get(s.ctx, "cart", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		b, err := decode[binding](u)
		require.NoError(s, err)
		return len(b.held(from)) == 1, ""
	})
	s.taintByHand(to, cordoned, "NoSchedule", true)
	s.await("the scheduler finds nothing", func() (bool, string) {
		b := s.find(cart)
		return len(b.Spec.Clusters) == 0 && b.scheduled().Reason == "NoClusterFit", fmt.Sprintf("%+v", b)
	})
	latency("0s")
	s.revive(from)
	return s.ends(from, "Recovered")
}

// play runs a cell and returns what came of it, and whether its victim was struck.
func (w *world) play(t *testing.T, c cell, id string) (v vector, struck bool) {
	s := &scene{
		T: t, world: w, ctx: t.Context(), asked: map[string]bool{},
		story: story{name: id, short: id, size: 2}, victim: c.Victim,
		// Each look asks Temporal, and with it the worker; other lanes want both cores, too.
		pause: 200 * time.Millisecond,
	}
	defer s.tell()
	defer s.tellTemporal()
	s.await("the pacer rests", func() (bool, string) {
		d, err := s.temporal.DescribeWorkflowExecution(s.ctx, pacerID, "")
		return err == nil && len(d.GetPendingActivities()) == 0 && d.GetPendingWorkflowTask() == nil, fmt.Sprintf("%v %v", d, err)
	})
	var at *cut
	if c.Victim != "" {
		at = newCut(c.Point, c.After)
		at.late = c.Victim == victimFrozen
	}
	w.wires.begin(id, at)
	strike := &strike{scene: s, cell: c, cut: at}
	s.between = strike.look
	defer strike.end()
	s.begin()
	r := chaosStories[c.Story].tell(s)
	for _, u := range s.bindings {
		if c.Story == "migration" {
			s.purged(keyOf(u), s.c(1))
		}
	}
	strike.over()
	for _, name := range s.all() {
		s.closed(failoverID(name))
	}
	for _, u := range s.bindings {
		s.closed(applicationID(keyOf(u)))
	}
	s.abreast()
	s.catchUp()
	return s.vector(r), strike.struck()
}

// tellTemporal prints where a failover stands in Temporal, of a cell that failed.
func (s *scene) tellTemporal() {
	if !s.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 10*time.Second)
	defer cancel()
	for _, name := range s.all() {
		d, err := s.temporal.DescribeWorkflowExecution(ctx, failoverID(name), "")
		s.Logf("%s in Temporal: %v %v", name, d, err)
	}
}

// strike does what a cell is about, once the cut is reached, between two looks of the story.
type strike struct {
	*scene
	cell   cell
	cut    *cut
	done   bool
	frozen *process
}

func (k *strike) look() {
	if k.cut == nil || k.done || !k.cut.reached() {
		return
	}
	k.done = true
	k.Logf("%s  %s: %s", time.Now().Format("15:04:05.0"), k.cell.Victim, k.cell.Point)
	switch k.cell.Victim {
	case victimWorker:
		require.NoError(k, k.worker.kill())
		k.worker = nil
		k.cut.letGo()
		require.NoError(k, k.startWorker(k.ctx))
	case victimController:
		require.NoError(k, k.controller.kill())
		k.controller = nil
		k.cut.letGo()
		require.NoError(k, k.startController(k.ctx))
	case victimFrozen:
		require.NoError(k, k.worker.cmd.Process.Signal(syscall.SIGSTOP))
		k.frozen, k.worker = k.worker, nil
		require.NoError(k, k.startWorker(k.ctx))
	default:
		require.NoError(k, k.lab.control(k.ctx, "crash?"+"server="+k.cell.Victim, "", nil))
		k.cut.letGo()
	}
}

// struck tells, when all is over, whether the victim was: a point may also come after the
// story's last look, and then costs nobody anything. Who was frozen has also gone on.
func (k *strike) struck() bool { return k.cut == nil || k.done && k.frozen == nil }

// end leaves nothing behind, also where the story never came to its end.
func (k *strike) end() {
	k.cut.letGo()
	if k.frozen != nil {
		if err := k.frozen.kill(); err != nil {
			k.Errorf("kill the frozen worker: %v", err)
		}
	}
}

// over is the end of the story: what was frozen goes on with what it held.
func (k *strike) over() {
	if k.frozen == nil {
		return
	}
	k.cut.letGo()
	require.NoError(k, k.frozen.cmd.Process.Signal(syscall.SIGCONT))
	// It is itself again when it has done what it was at, and stops in order.
	require.NoError(k, k.frozen.stop())
	k.frozen = nil
}

// vector is how a story has ended.
func (s *scene) vector(r report) vector {
	v := vector{
		Ended: r.Ended, Outcomes: map[string]string{}, Targets: map[string]string{}, Copies: map[string]string{},
		Evictions: map[string]int{}, Uncovered: map[string]string{},
	}
	plain := func(text string) string { return strings.ReplaceAll(text, s.story.short, "cell") }
	for _, attempt := range r.Attempts {
		for _, o := range attempt.Results {
			k := plain(o.Key.String())
			v.Outcomes[k] = strings.TrimSpace(v.Outcomes[k] + " " + o.Outcome)
		}
	}
	var written []time.Time
	for _, u := range s.bindings {
		k := keyOf(u)
		v.Targets[plain(k)] = plain(strings.Join(s.find(k).targets(), ","))
		evictions := s.evictions(k, s.c(1))
		v.Evictions[plain(k)] = len(evictions)
		if writes := s.writesTo(k); len(evictions) > 0 && len(writes) > 0 {
			written = append(written, writes[0].Received)
		}
		v.Uncovered[plain(k)] = s.uncovered(k).String()
		for _, name := range s.all() {
			if copies := s.copies(k, name); copies != "" {
				v.Copies[plain(k+" on "+name)] = copies
			}
		}
		for _, t := range s.find(k).Spec.Tasks {
			v.Left = append(v.Left, plain("task of "+k+" for "+t.FromCluster))
		}
		s.neverWrong(k)
	}
	for _, name := range s.all() {
		v.Left = append(v.Left, s.leftOn(name)...)
	}
	slices.SortFunc(written, time.Time.Compare)
	v.Pace = pacelaw.Rate{First: chaosRate}.Broken(written)
	return v
}

// leftOn are the taints and annotations of Lifeboat's on a cluster.
func (s *scene) leftOn(name string) []string {
	var left []string
	c := s.cluster(name)
	for _, t := range c.Spec.Taints {
		if strings.HasPrefix(t.Key, prefix) {
			left = append(left, "taint "+t.Key)
		}
	}
	for annotation := range c.Annotations {
		if strings.HasPrefix(annotation, prefix) {
			left = append(left, "annotation "+annotation)
		}
	}
	slices.Sort(left)
	return left
}

// copies says how many Works a binding ever had on a cluster, and whether the last stands.
func (s *scene) copies(k, on string) string {
	uids, stands := s.chronicle.uids(works, func(v version) bool {
		a := v.Object.GetAnnotations()
		return v.Object.GetNamespace() == "karmada-es-"+on &&
			a["resourcebinding.karmada.io/namespace"]+"/"+a["resourcebinding.karmada.io/name"] == k
	})
	if uids == 0 {
		return ""
	}
	if stands {
		return fmt.Sprintf("%d stands", uids)
	}
	return fmt.Sprintf("%d gone", uids)
}

// uncovered is the longest time in which a binding that once ran had neither a copy that
// runs nor a hold, rounded to what two writes in a row take.
func (s *scene) uncovered(k string) time.Duration {
	var longest time.Duration
	var bare time.Time
	ran := false
	for _, v := range s.versions(k) {
		b := s.binding(v)
		covered := slices.ContainsFunc(b.Spec.Clusters, b.runs) ||
			slices.ContainsFunc(b.Spec.Tasks, func(t task) bool { return t.Producer == producer })
		ran = ran || covered
		if !bare.IsZero() {
			longest = max(longest, v.Seen.Sub(bare))
		}
		bare = time.Time{}
		if ran && !covered {
			bare = v.Seen
		}
	}
	if !bare.IsZero() {
		longest = max(longest, time.Since(bare))
	}
	return longest.Truncate(500 * time.Millisecond)
}
