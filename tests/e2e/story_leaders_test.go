package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"
)

// leadersChange has the controller that leads die in the middle of a failover, with -9, and the
// next one freeze until a third has told of the recovery; then it goes on, believing that it
// leads and that the cluster is away.
//
// It guards invariants 5 and 8: one failover for one failure, one eviction for one binding,
// whoever leads, and however many.
//
// Rules: R4.9-54, R4.9-56.
func leadersChange(s *scene) {
	s.shortTerms()
	from, to := s.ruledPair()
	app := s.deploy("app", from, 2, oneOf(from, to), faultStuckReadyAt+"="+to+"=1")
	s.await("the first leads", func() (bool, string) { return s.leads(s.controller), "" })
	second := s.anotherController("second")

	s.kill(from)
	run := s.awaitFailover(from, "waits for health", func(e *clusterFailover) bool {
		return e.Migrations[app].Phase == "AwaitingHealth"
	}).FailoverID
	require.NoError(s, s.controller.kill())
	s.controller = nil
	s.await("the second leads", func() (bool, string) { return s.leads(second), "" })
	third := s.anotherController("third")
	s.toldAnew(second)

	require.NoError(s, second.cmd.Process.Signal(syscall.SIGSTOP))
	thaw := func() error { return second.cmd.Process.Signal(syscall.SIGCONT) }
	s.Cleanup(func() { _ = thaw() }) // it may have gone by then
	s.await("the third leads", func() (bool, string) { return s.leads(third), "" })
	s.annotate(app, faultStuckReadyAt, "")
	s.phase(from, "Evacuated")
	s.recovers(from, map[string]string{app: "Migrated"})

	require.NoError(s, thaw())
	s.await("the second has given up", func() (bool, string) {
		return strings.Contains(tail(s.logFile("second"), 10000), "lost the lease, standing for election again") && !s.leads(second), ""
	})
	s.toldAnew(third)
	s.onlyFailover(from, run)
	s.wroteTwice(app)
	s.releasedWhenItRan(app, from)
}

// deafLeader has a controller that hears nothing new beside one that does, and both lead: its
// watches stand still from the middle of a failover on, while it goes on making sure that
// who should run runs.
//
// It guards §1: a doubled or stale controller does no harm; invariants 5 and 8.
//
// Rules: R4.9-54, R4.9-56.
func deafLeader(s *scene) {
	s.wired(s.T)
	s.more = append(s.more, "controller.leaderElection.enabled=false")
	from, to := s.ruledPair()
	require.NoError(s, s.controller.stop())
	require.NoError(s, s.startController(s.ctx))
	fresh := s.anotherController("fresh")
	app := s.deploy("app", from, 2, oneOf(from, to), faultStuckReadyAt+"="+to+"=1")

	s.kill(from)
	run := s.awaitFailover(from, "waits for health", func(e *clusterFailover) bool {
		return e.Migrations[app].Phase == "AwaitingHealth"
	}).FailoverID
	s.toldAnew(s.controller)
	over := make(chan struct{})
	defer close(over)
	wire := s.wires.api["controller"]
	wire.upset(silentWatches(over))
	wire.server.CloseClientConnections()
	s.annotate(app, faultStuckReadyAt, "")
	s.phase(from, "Evacuated")
	s.recovers(from, map[string]string{app: "Migrated"})

	s.toldAnew(s.controller)
	s.toldAnew(fresh)
	s.onlyFailover(from, run)
	s.wroteTwice(app)
	s.releasedWhenItRan(app, from)

	s.kill(to)
	next := s.phase(to, "Evacuated").FailoverID
	s.recovers(to, map[string]string{app: "Migrated"})
	s.toldAnew(s.controller)
	s.onlyFailover(to, next)
	s.onlyFailover(from, run)
}

// shortTerms has controllers stand for election with short leases, until the story ends.
func (s *scene) shortTerms() {
	s.more = []string{"controller.leaderElection.leaseDuration=6s", "controller.leaderElection.renewDeadline=5s"}
	require.NoError(s, s.controller.stop())
	require.NoError(s, s.startController(s.ctx))
	s.Cleanup(func() {
		if s.controller != nil {
			require.NoError(s, s.controller.stop())
		}
		s.controller, s.more = nil, nil
	})
}

// anotherController runs beside the first, until the story ends.
func (s *scene) anotherController(name string) *process {
	p, err := s.serve(s.ctx, "lifeboat", name, s.lab.At.Kubeconfigs["controller"], "controller", "--mode", s.mode)
	require.NoError(s, err)
	s.Cleanup(func() { require.NoError(s, p.stop()) })
	return p
}

// leads asks a controller whether it does. One that is frozen has no answer.
func (s *scene) leads(p *process) bool {
	return s.metric(p, `lifeboat_controller_leader`) == 1
}

// metric adds up what a process counts under the beginning of a line, a pattern without
// groups that it keeps.
func (s *scene) metric(p *process, line string) float64 {
	status, body, err := fetch(s.ctx, http.DefaultClient, p.url+"/metrics")
	require.NoError(s, err)
	require.Equal(s, http.StatusOK, status)
	total := 0.0
	for _, found := range regexp.MustCompile("(?m)^"+line+".* (.+)$").FindAllStringSubmatch(body, -1) {
		value, err := strconv.ParseFloat(found[1], 64)
		require.NoError(s, err, found[0])
		total += value
	}
	return total
}

// toldAnew waits until a controller has made sure twice that who should run runs.
func (s *scene) toldAnew(p *process) {
	resyncs := func() float64 { return s.metric(p, `lifeboat_controller_resyncs_total\{.*result="sent"`) }
	before := resyncs()
	s.await(p.name+" has asked attempt twice", func() (bool, string) { return resyncs() >= before+2, fmt.Sprint(resyncs()) })
}

// onlyFailover: the failover of a cluster is still the one that began so, and no other
// has been started since.
func (s *scene) onlyFailover(cluster, run string) {
	d, err := s.temporal.DescribeWorkflowExecution(s.ctx, failoverID(cluster), "")
	require.NoError(s, err)
	require.Equal(s, run, d.GetWorkflowExecutionInfo().GetFirstRunId(), "another failover of %s was started at %s",
		cluster, d.GetWorkflowExecutionInfo().GetStartTime().AsTime())
}
