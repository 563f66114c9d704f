package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/pacelaw"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
)

// tolerated is how long the stories' applications may be Unhealthy.
const tolerated = 5 * time.Second

// applicationFailover is what an ApplicationFailover answers when it is asked for its status.
type applicationFailover struct {
	Phase     string `json:"phase"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	Attention string `json:"attention"`
	Move      *move  `json:"move"`
}

// applicationReport is what one closes with.
type applicationReport struct {
	Ended string   `json:"ended"`
	Last  *outcome `json:"last"`
}

func applicationID(key string) string { return "application-failover/" + key }

// unhealthyOn makes a Deployment that leaves a cluster on which it is Unhealthy for longer than tolerated, and is at
// once: of its copies on these clusters none becomes ready.
func (s *scene) unhealthyOn(name string, placement object, home string, unhealthy ...string) string {
	return s.unhealthyFor(tolerated, name, placement, home, unhealthy...)
}

// unhealthyFor is unhealthyOn for one that tolerates it for so long.
func (s *scene) unhealthyFor(lasts time.Duration, name string, placement object, home string, unhealthy ...string) string {
	return s.unhealthyWith(failsOver(lasts, "Gracefully"), name, placement, home, unhealthy...)
}

// failsOver is a spec.failover.application.
func failsOver(lasts time.Duration, mode string) object {
	application := object{"decisionConditions": object{"tolerationSeconds": int64(lasts / time.Second)}, "purgeMode": mode}
	if mode == "Gracefully" {
		application["gracePeriodSeconds"] = int64(600)
	}
	return application
}

func (s *scene) unhealthyWith(application object, name string, placement object, home string, unhealthy ...string) string {
	u := deployment(s.namespace(), name, home, 1, placement)
	specOf(u)["failover"] = object{"application": application}
	annotate(u, faultNeverReadyOn, strings.Join(unhealthy, ","))
	s.put(u)
	return keyOf(u)
}

// application waits until the failover of an application is as a story wants it.
func (s *scene) application(key, what string, is func(*applicationFailover) bool) {
	s.await(key+": "+what, func() (bool, string) {
		a, err := query[applicationFailover](s.ctx, s.temporal, applicationID(key))
		if err != nil {
			return false, err.Error()
		}
		return is(a), fmt.Sprintf("%+v", a)
	})
	s.abreast()
}

// applicationIs waits until the failover of an application is in a phase for a reason.
func (s *scene) applicationIs(key, phase, reason string) {
	s.application(key, phase+" "+reason, func(a *applicationFailover) bool { return a.Phase == phase && a.Reason == reason })
}

// applicationEnds waits until the failover of an application has closed so, or a given run of it, and returns its report.
func (s *scene) applicationEnds(key, phase string, run ...string) (r applicationReport) {
	s.await(key+" has a failover that closed: "+phase, func() (bool, string) {
		ctx, cancel := context.WithTimeout(s.ctx, 20*time.Second) // in the last second of a wait Temporal is asked again and again
		defer cancel()
		err := s.temporal.GetWorkflow(ctx, applicationID(key), strings.Join(run, "")).Get(ctx, &r)
		return err == nil, fmt.Sprint(err)
	})
	require.Equal(s, phase, r.Ended)
	s.abreast()
	return r
}

// unhealthySince is when Karmada first reported a copy as Unhealthy, as the chronicle saw it.
func (s *scene) unhealthySince(key, on string) time.Time {
	for _, v := range s.versions(key) {
		if i := s.binding(v).item(on); i != nil && i.Health == "Unhealthy" {
			return v.Seen
		}
	}
	require.Fail(s, "never Unhealthy: "+key)
	return time.Time{}
}

// unhealthyMoves has a workload that never becomes ready on a healthy cluster: it moves once it has been Unhealthy for
// longer than it tolerates, and its old copy stays until the new one is proven healthy.
//
// Rules: R4.13-1, R4.13-2, R4.13-6.
func unhealthyMoves(s *scene) {
	from, to := s.c(1), s.c(2)
	app := s.unhealthyOn("app", oneOf(from, to), from, from)

	r := s.applicationEnds(app, "Migrated")
	require.Equal(s, "Migrated", r.Last.Outcome)
	require.Equal(s, "application", r.Last.Cause)
	waited := s.evicted(app, from).Seen.Sub(s.unhealthySince(app, from))
	require.Greater(s, waited, tolerated-time.Second, "it moved before its time was over")
	s.releasedWhenItRan(app, from)
	require.Equal(s, []string{to}, s.find(app).targets())
	s.purged(app, from)
	s.wroteTwice(app)
	require.Empty(s, s.cluster(from).Spec.Taints, "the cluster is well, and nothing else leaves it")
}

// unhealthyHeals has a workload that becomes healthy within its time: nothing is written.
//
// Rules: R4.13-2.
func unhealthyHeals(s *scene) {
	from, to := s.c(1), s.c(2)
	app := s.unhealthyFor(4*tolerated, "app", oneOf(from, to), from, from)
	s.applicationIs(app, "Unhealthy", "Unhealthy")
	s.annotate(app, faultNeverReadyOn, "")

	require.Nil(s, s.applicationEnds(app, "Healed").Last)
	s.remains(2*tolerated, "it stays where it is", func() bool { return s.find(app).on(from) })
	s.leftAlone(app)
}

// unhealthyThere has a workload that is Unhealthy wherever it goes: it moves once, both copies stay, and an operator is
// called. It becomes healthy where it went, and its old copy goes.
//
// Rules: R4.13-7.
func unhealthyThere(s *scene) {
	from, to := s.c(1), s.c(2)
	s.taintByHand(s.c(3), cordoned, "NoSchedule", true)
	app := s.unhealthyOn("app", oneOf(s.all()...), from, s.all()...)

	s.application(app, "needs an operator", func(a *applicationFailover) bool {
		return a.Phase == "NeedsOperator" && a.Attention == "SameRevisionSick"
	})
	s.taintByHand(s.c(3), cordoned, "NoSchedule", false)
	s.remains(2*tolerated, "it stays there, and is held", func() bool {
		b := s.find(app)
		return b.on(to) && len(b.held(from)) == 1
	})
	require.Equal(s, "NeedsOperator", s.listed(app).Phase)
	s.explainedSick(app, to)
	s.annotate(app, faultNeverReadyOn, "")

	require.Equal(s, "Migrated", s.applicationEnds(app, "Migrated").Last.Outcome)
	s.evicted(app, from)
	s.releasedWhenItRan(app, from)
	s.recountedApplication(app, from, to)
}

// badRelease has five workloads Unhealthy at once: it is the release and not the place, so that
// none of them moves until an operator says so.
//
// Rules: R4.13-8.
func badRelease(s *scene) {
	from, to := s.c(1), s.c(2)
	var all []string
	for n := range 5 {
		all = append(all, s.unhealthyOn(fmt.Sprintf("app%d", n), oneOf(from, to), from, from))
	}
	for _, app := range all {
		s.application(app, "the release is suspected", func(a *applicationFailover) bool {
			return a.Phase == "Blocked" && a.Reason == "ReleaseSuspected" && a.Attention == "ReleaseSuspected"
		})
	}
	s.leftAlone(all...)
	s.order("resume", "fleet")

	for _, app := range all {
		require.Equal(s, "Migrated", s.applicationEnds(app, "Migrated").Last.Outcome)
		s.evicted(app, from)
		s.releasedWhenItRan(app, from)
	}
}

// clusterFailsMeanwhile has the cluster fail that an application is leaving: its failover takes the migration over, so
// that there is one, and the hold stays.
//
// Rules: R4.13-12.
func clusterFailsMeanwhile(s *scene) {
	from, to := s.ruledPair()
	app := s.unhealthyOn("app", oneOf(from, to), from, from, to)
	s.application(app, "waits for the new copy", func(a *applicationFailover) bool {
		return a.Move != nil && a.Move.Phase == "AwaitingHealth"
	})

	d, err := s.temporal.DescribeWorkflowExecution(s.ctx, applicationID(app), "")
	require.NoError(s, err)

	s.kill(from)
	// The next one only watches: its copy is Unhealthy where it was moved.
	s.applicationEnds(app, "TakenOver", d.WorkflowExecutionInfo.Execution.RunId)
	s.awaitFailover(from, "goes on with the migration", func(e *clusterFailover) bool {
		return e.Migrations[app].Phase == "AwaitingHealth"
	})
	require.Len(s, s.find(app).held(from), 1)
	s.annotate(app, faultNeverReadyOn, "")

	s.moved(from, app)
	s.evicted(app, from)
	s.releasedWhenItRan(app, from)
	s.recovers(from, map[string]string{app: "Migrated"})
}

// oldCopiesOfApplications has two workloads leave, each with a purge mode of its own: one Directly, so that its new copy
// begins when the old one is gone, and one Never, whose old copy stays until an operator releases it.
//
// Rules: R4.13-6, R4.8-11, R4.8-13.
func oldCopiesOfApplications(s *scene) {
	from, to := s.c(1), s.c(2)
	first := s.unhealthyWith(failsOver(tolerated, "Directly"), "first", oneOf(from, to), from, from)
	kept := s.unhealthyWith(failsOver(tolerated, "Never"), "kept", oneOf(from, to), from, from)
	s.await("the new copy of "+first+" runs", func() (bool, string) {
		if s.work(first, from) != nil {
			require.Nil(s, s.work(first, to), "two copies")
		}
		b := s.find(first)
		return b != nil && !b.on(from) && b.settled(), fmt.Sprintf("%+v", b)
	})
	require.Equal(s, "Migrated", s.applicationEnds(first, "Migrated").Last.Outcome)
	require.Equal(s, "Kept", s.applicationEnds(kept, "Migrated").Last.Outcome)
	s.evicted(first, from)
	s.released(first, from)
	s.evicted(kept, from)
	require.NotNil(s, s.work(kept, from))
	require.Len(s, s.find(kept).held(from), 1)

	s.order("release", kept, "--cluster", from)
	s.purged(kept, from)
}

// bothClasses has six bindings leave a cluster that failed, and six applications another one, at one eviction a second
// each, from the same moment on.
//
// It guards by the API server's own timestamps that each class keeps its rate, and by the pacer's permits that neither waits
// for the other: together they come quicker than one rate allows.
//
// Rules: R4.13-11.
func bothClasses(s *scene) {
	const each = 6
	s.with("applicationFailover.rate=1", "applicationFailover.breakerShare=1", "pace.evictionRate=1")
	s.rule(time.Second, time.Second)
	failed, well, to := s.c(1), s.c(2), s.c(3)
	bindings, applications := map[string][]string{}, map[string][]string{}
	for n := range each {
		bindings[failed] = append(bindings[failed], s.deploy(fmt.Sprintf("binding%d", n), failed, 1, oneOf(failed, to)))
	}
	s.order("pause", "fleet")
	for n := range each {
		applications[well] = append(applications[well], s.unhealthyOn(fmt.Sprintf("app%d", n), oneOf(well, to), well, well))
	}
	s.kill(failed)
	s.awaitFailover(failed, "all are ready, and halted", halted(bindings[failed]...))
	for _, app := range applications[well] {
		s.applicationIs(app, "Queued", "AwaitingPermit")
	}
	s.order("resume", "fleet")

	s.phase(failed, "Evacuated")
	for _, app := range applications[well] {
		s.applicationEnds(app, "Migrated")
	}
	s.catchUp()
	ofClusters, ofApplications := s.evictedAt(bindings), s.evictedAt(applications)
	require.Len(s, ofClusters, each)
	require.Len(s, ofApplications, each)
	rate := pacelaw.Rate{First: 1}
	require.Empty(s, rate.Broken(ofClusters))
	require.Empty(s, rate.Broken(ofApplications))
	var ids []string
	for _, app := range applications[well] {
		ids = append(ids, "application-failover/"+app)
	}
	toClusters, toApplications := s.granted(failoverID(failed)), s.granted(ids...)
	require.True(s, slices.ContainsFunc(toClusters, func(c time.Time) bool {
		return slices.ContainsFunc(toApplications, func(a time.Time) bool { return c.Sub(a).Abs() < time.Second })
	}), "one class waited for the other: %v and %v", toClusters, toApplications)
	s.recovers(failed, allMigrated(bindings[failed]))
}

// granted are the moments of the permits that the pacer sent to some workflows.
func (s *scene) granted(ids ...string) (moments []time.Time) {
	for _, run := range s.runsOf("WorkflowId = '" + pacerID + "'") {
		for _, e := range s.eventsOf(run.id, run.run) {
			sent := e.GetSignalExternalWorkflowExecutionInitiatedEventAttributes()
			if sent.GetSignalName() != workflows.SignalGrant || !slices.Contains(ids, sent.GetWorkflowExecution().GetWorkflowId()) {
				continue
			}
			var g workflows.Grant
			require.NoError(s, converter.GetDefaultDataConverter().FromPayloads(sent.GetInput(), &g))
			for n := range g.Size {
				moments = append(moments, g.First.Add(time.Duration(n)*g.Apart))
			}
		}
	}
	return moments
}

// explainedSick: explain says what the failover of an application does, how its copies are, and what holds the old one.
func (s *scene) explainedSick(binding, on string) {
	x, err := told[struct {
		Application struct {
			Failover  applicationFailover `json:"failover"`
			Migration struct {
				Phase string `json:"phase"`
			} `json:"migration"`
			Copies []foreseenCopy `json:"copies"`
		} `json:"application"`
	}](s, "explain", binding)
	require.NoError(s, err)
	require.Equal(s, "SameRevisionSick", x.Application.Failover.Attention)
	require.Equal(s, "AwaitingHealth", x.Application.Migration.Phase)
	require.Len(s, x.Application.Copies, 1)
	require.Equal(s, on, x.Application.Copies[0].Cluster)
	require.Equal(s, "Unhealthy", x.Application.Copies[0].Health)
	require.NotEmpty(s, x.Application.Copies[0].IfOver.Verdict)
	planned, err := told[struct {
		Follows bool           `json:"follows"`
		Copies  []foreseenCopy `json:"copies"`
	}](s, "plan", binding)
	require.NoError(s, err)
	require.True(s, planned.Follows)
	require.Equal(s, x.Application.Copies, planned.Copies, "plan and explain judge alike")
}

// foreseenCopy is a copy of an application, as explain and plan judge it.
type foreseenCopy struct {
	Cluster string `json:"cluster"`
	Health  string `json:"health"`
	IfOver  struct {
		Verdict string `json:"verdict"`
	} `json:"ifOver"`
}

// recountedApplication: history has the failover of an application that moved, once Temporal lists it.
func (s *scene) recountedApplication(binding, from, to string) {
	s.await("the history of "+binding, func() (bool, string) {
		failovers, err := told[[]report](s, "history", binding)
		require.NoError(s, err)
		if len(failovers) == 0 || failovers[0].Ended != "Migrated" {
			return false, fmt.Sprintf("%+v", failovers)
		}
		require.Equal(s, binding, failovers[0].Binding)
		require.Equal(s, from, failovers[0].Cluster)
		require.Equal(s, []string{to}, failovers[0].Attempts[0].Results[0].To)
		return true, ""
	})
}

// listed is an application as an operator's status lists it.
func (s *scene) listed(binding string) (found listedApplication) {
	all, err := told[struct {
		Applications []listedApplication `json:"applications"`
	}](s, "status")
	require.NoError(s, err)
	for _, a := range all.Applications {
		if a.Key.String() == binding {
			return a
		}
	}
	require.Fail(s, "status does not list "+binding)
	return found
}

type listedApplication struct {
	Key   key    `json:"binding"`
	Phase string `json:"phase"`
}
