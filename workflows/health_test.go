package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
)

// checks is a user's plug-in: what it answers may change as the story goes on.
type checks struct {
	answer func(activities.PluginRequest) (activities.PluginAnswer, error)
	asked  []activities.PluginRequest
}

func (c *checks) Check(_ context.Context, r activities.PluginRequest) (activities.PluginAnswer, error) {
	c.asked = append(c.asked, r)
	return c.answer(r)
}

// plug registers a plug-in of the user's own and configures it.
func (s *story) plug(name string, answer func(activities.PluginRequest) (activities.PluginAnswer, error)) (*checks, proof.Plugin) {
	c := &checks{answer: answer}
	p := proof.Plugin{Name: name, TaskQueue: "ops-checks", Activity: "Check-" + name, Timeout: 30 * time.Second}
	s.env.RegisterActivityWithOptions(c.Check, activity.RegisterOptions{Name: p.Activity})
	return c, p
}

// answers is a plug-in that always answers so.
func answers(a activities.PluginAnswer, err error) func(activities.PluginRequest) (activities.PluginAnswer, error) {
	return func(activities.PluginRequest) (activities.PluginAnswer, error) { return a, err }
}

func says(proven bool) func(activities.PluginRequest) (activities.PluginAnswer, error) {
	return answers(activities.PluginAnswer{Version: activities.PluginVersion, Proven: proven, Message: "looked"}, nil)
}

// standing asks a migration where it stands.
func (s *story) standing(key karmada.BindingKey) workflows.MigrationStatus {
	s.t.Helper()
	var st workflows.MigrationStatus
	answer, err := s.env.QueryWorkflowByID(s.migration(key), workflows.QueryStatus)
	require.NoError(s.t, err)
	require.NoError(s.t, answer.Get(&st))
	return st
}

// cancelMigration cancels one migration.
func (s *story) cancelMigration(key karmada.BindingKey) {
	s.accept(s.orderChild(workflows.UpdateCancel, key, false))
}

// plugHealth has a plug-in prove health beside the built-in proof.
func (s *story) plugHealth(name string, mode proof.PluginsMode, answer func(activities.PluginRequest) (activities.PluginAnswer, error)) *checks {
	c, p := s.plug(name, answer)
	s.settings.Terms.Plugins = proof.Plugins{List: []proof.Plugin{{Name: proof.PluginResourceHealth}, p}, Mode: mode}
	return c
}

// Rules: R4.7-30, R4.7-31.
func TestAPluginOfTheUsersHoldsTheReleaseUntilItPasses(t *testing.T) {
	s, key := outage(t, 10*time.Minute)
	ready := storyBegins.Add(6 * time.Minute)
	dns := s.plugHealth("dns", proof.PluginsAll, func(r activities.PluginRequest) (activities.PluginAnswer, error) {
		return says(!s.env.Now().Before(ready))(r)
	})
	s.at(5*time.Minute, func() {
		st := s.standing(key)
		require.Equal(t, phase.MigrationAwaitingHealth, st.Phase)
		require.Equal(t, reason.PluginRefuses, st.Reason)
		require.Equal(t, "dns: looked", st.Message)
	})
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.False(t, s.world.Log("release")[0].At.Before(ready))
	asked := dns.asked[0]
	require.NotEmpty(t, asked.FailoverID)
	asked.FailoverID = ""
	require.Equal(t, activities.PluginRequest{
		Version: 1, Question: activities.AskHealth, Plugin: "dns", Cluster: "m1", ClusterUID: "uid-m1", Namespace: "shop", Name: "app",
		UID: "uid-shop/app", Resource: "Deployment shop/app", Targets: []activities.PluginTarget{{Cluster: "m2", Replicas: 2}},
		Workflow: s.migration(key), Attempt: 1,
	}, asked)
}

func TestByTheProposalsRuleOnePluginIsEnough(t *testing.T) {
	s, _ := outage(t, 10*time.Minute)
	s.world.HealthyAfter = time.Hour
	s.plugHealth("prometheus", proof.PluginsAny, says(true))
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.GreaterOrEqual(t, s.sinceEviction(), s.settings.Terms.MinHealthy)
	require.Less(t, s.sinceEviction(), s.world.HealthyAfter)
}

// A plug-in that is broken must not delete anything, and must be seen.
//
// Rules: R4.7-32.
func TestAPluginThatFailsProvesNothing(t *testing.T) {
	for name, answer := range map[string]func(activities.PluginRequest) (activities.PluginAnswer, error){
		"it fails":               answers(activities.PluginAnswer{}, errors.New("no route")),
		"it answers nonsense":    answers(activities.PluginAnswer{Proven: true}, nil),
		"it says not proven":     says(false),
		"it panics":              func(activities.PluginRequest) (activities.PluginAnswer, error) { panic("oh") },
		"it speaks of version 2": answers(activities.PluginAnswer{Version: 2, Proven: true}, nil),
	} {
		t.Run(name, func(t *testing.T) {
			s, key := outage(t, 30*time.Minute)
			s.plugHealth("dns", proof.PluginsAll, answer)
			s.at(25*time.Minute, func() {
				require.Empty(t, s.world.Log("release"))
				st := s.standing(key)
				require.Contains(t, []reason.Reason{reason.PluginSilent, reason.PluginRefuses}, st.Reason)
				require.Contains(t, st.Message, "dns")
				require.Equal(t, reason.GracefulTimeout, st.Attention, "gracefulTimeout raises the flag and deletes nothing")
				s.cancelMigration(key)
			})
			require.Equal(t, phase.OutcomeNeedsOperator, s.playApp().Outcome)
		})
	}
}

// Rules: R4.8-6.
func TestAFencePluginMayProveTheSourceDead(t *testing.T) {
	s, key := direct(t)
	dead := storyBegins.Add(5 * time.Minute)
	bmc, p := s.plug("bmc", func(r activities.PluginRequest) (activities.PluginAnswer, error) {
		return says(!s.env.Now().Before(dead))(r)
	})
	s.settings.Terms.Fences = []proof.Plugin{p}
	s.outage(10 * time.Minute)
	s.at(4*time.Minute, func() {
		st := s.standing(key)
		require.Equal(t, reason.AwaitingFence, st.Reason)
		require.Contains(t, st.Message, "bmc: looked")
	})
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.Equal(t, "bmc", s.appResult().Fence.By)
	require.False(t, s.world.Log("evict")[0].At.Before(dead))
	require.Equal(t, activities.AskFence, bmc.asked[0].Question)
	s.oneAtATime(dead)
}

// prober is how the targets answer.
type prober struct{ dead bool }

func (p *prober) Probe(context.Context, string) error {
	if p.dead {
		return errors.New("connection refused")
	}
	return nil
}

// Rules: R4.7-29.
func TestAProbeSavesTheWaitForDetection(t *testing.T) {
	for name, p := range map[string]*prober{
		"the target answers": {}, "it does not: health outlasts detection": {dead: true}, "the worker has lost its prober": nil,
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := withApp(t)
			s.settings.Terms.Probe = true
			if p != nil {
				s.prober = p
			}
			s.maintained(10 * time.Minute)
			require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
			held := s.sinceEviction()
			if p == nil || p.dead {
				require.GreaterOrEqual(t, held, s.settings.Terms.Detection)
				require.Less(t, held, s.settings.Terms.Detection+time.Minute, "a probe that fails does not restart the clock")
				return
			}
			require.GreaterOrEqual(t, held, s.settings.Terms.MinHealthy)
			require.Less(t, held, s.settings.Terms.Detection)
		})
	}
}

// tooOften is more than any wait allows a plug-in to be asked within a story.
const tooOften = 200

// The word of a plug-in may not stand: here the cluster changes all the time. It is
// asked again at the pace of the safety poll, not at once.
//
// Rules: R4.8-5, R4.8-6.
func TestAFenceThatDoesNotStandIsAskedForAgainAfterAWait(t *testing.T) {
	s, key := direct(t)
	vouches := storyBegins.Add(4 * time.Minute)
	var bmc *checks
	bmc, p := s.plug("bmc", func(r activities.PluginRequest) (activities.PluginAnswer, error) {
		s.world.ChangeCluster("m1", func(c *karmada.Cluster) {
			c.Conditions[0].LastTransition = c.Conditions[0].LastTransition.Add(time.Second)
		})
		return says(!s.env.Now().Before(vouches) && len(bmc.asked) < tooOften)(r)
	})
	s.settings.Terms.Fences = []proof.Plugin{p}
	s.outage(10 * time.Minute)
	s.at(9*time.Minute, func() {
		st := s.standing(key)
		require.Equal(t, reason.AwaitingFence, st.Reason)
		require.Contains(t, st.Message, "is void")
	})
	s.play()
	require.NotEmpty(t, bmc.asked)
	require.Less(t, len(bmc.asked), tooOften)
	require.Empty(t, s.world.Log("evict"))
}

// Where health need not hold, a look is content at once, and the release that refuses
// is what has to wait, and to say so where it refuses for too long.
//
// Rules: R4.7-32.
func TestARefusedReleaseWaitsAlsoWhereHealthNeedNotHold(t *testing.T) {
	s, key := outage(t, 10*time.Minute)
	s.settings.Terms.MinHealthy, s.settings.Terms.GracefulTimeout = 0, 2*time.Minute
	ready := storyBegins.Add(6 * time.Minute)
	var dns *checks
	dns = s.plugHealth("dns", proof.PluginsAll, func(r activities.PluginRequest) (activities.PluginAnswer, error) {
		look := len(dns.asked)%2 == 1 // the look is content, and the release is not
		return says(look || len(dns.asked) >= tooOften || !s.env.Now().Before(ready))(r)
	})
	s.at(5*time.Minute, func() { require.Equal(t, reason.GracefulTimeout, s.standing(key).Attention) })
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.Less(t, len(dns.asked), tooOften)
	require.False(t, s.world.Log("release")[0].At.Before(ready))
}

// A failover's own terms count, also where they say 0 and the worker's config says more.
func TestAFailoverWhoseHealthNeedNotHoldIsReleasedByAWorkerThatWantsMore(t *testing.T) {
	s, _ := withApp(t)
	s.settings.Terms.MinHealthy, s.settings.Terms.Detection = 0, 0
	s.maintained(10 * time.Minute)
	s.world.HealthyAfter = 2 * time.Minute
	s.at(time.Minute, func() {
		s.acts.Settings.Terms.MinHealthy, s.acts.Settings.Terms.Detection = 10*time.Second, 90*time.Second
	})
	s.at(5*time.Minute, func() { require.Len(t, s.world.Log("release"), 1) })
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
}

// started counts the activities that begin from now on, by name.
func (s *story) started() map[string]int {
	n := map[string]int{}
	s.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) { n[info.ActivityType.Name]++ })
	return n
}

// plain is a story of one plain migration off a cluster that dies, which the controller tells nothing by itself.
func plain(t *testing.T) (s *story, app karmada.BindingKey, n map[string]int) {
	s = newStory(t)
	s.silent = true
	app = s.bind("app", []string{"m1"}, "m1", "m2", "m3")
	s.outage(20 * time.Minute)
	return s, app, s.started()
}

// verdict is what the controller would signal of app now.
func (s *story) verdict(app karmada.BindingKey) proof.BindingFact {
	b := s.world.Peek(app)
	fleet := func(name string) (karmada.Cluster, bool) { return s.world.PeekCluster(name), true }
	return proof.BindingFact{Key: app, UID: b.UID, ResourceVersion: b.ResourceVersion, Verdict: proof.JudgeHold(&b, "m1", fleet)}
}

// hears has app's migration be told of app so long after its eviction, as the controller does.
func (s *story) hears(app karmada.BindingKey, after time.Duration, changes ...func(*proof.BindingFact)) {
	s.onEvict(func() {
		s.at(after, func() {
			f := s.verdict(app)
			for _, change := range changes {
				change(&f)
			}
			s.tells(app, f)
		})
	})
}

func (s *story) tells(app karmada.BindingKey, f proof.BindingFact) {
	s.hint(s.migration(app), workflows.SignalBindingObserved, f)
}

// sinceEviction is when app's hold was released after its eviction.
func (s *story) sinceEviction() time.Duration {
	s.t.Helper()
	require.Len(s.t, s.world.Log("release"), 1)
	return s.world.Log("release")[0].At.Sub(s.world.Log("evict")[0].At)
}

// A verdict stands in for a look: health counts from when it is received.
//
// Rules: R4.7-55, R4.7-24.
func TestVerdict_Healthy_IsFollowedWithoutALook(t *testing.T) {
	s, app, n := plain(t)
	const heard = 20 * time.Second
	s.hears(app, heard)
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.Zero(t, n[activities.NameObserve])
	require.GreaterOrEqual(t, s.sinceEviction(), heard+s.settings.Terms.MinHealthy)
	require.Less(t, s.sinceEviction(), heard+s.settings.Terms.MinHealthy+5*time.Second)
}

// A verdict that the migration must not follow has it look itself, as a signal without one does.
//
// Rules: R4.7-56.
func TestVerdict_NotAboutWhatStands_IsNotFollowed(t *testing.T) {
	for name, change := range map[string]func(s *story, f *proof.BindingFact){
		"of another binding":              func(_ *story, f *proof.BindingFact) { f.UID = "another" },
		"of the version that was written": func(s *story, f *proof.BindingFact) { f.ResourceVersion = s.written },
		"older than the eviction":         func(_ *story, f *proof.BindingFact) { f.ResourceVersion = "1" },
		"of an unknown version":           func(_ *story, f *proof.BindingFact) { f.ResourceVersion = "x" },
		"without one":                     func(_ *story, f *proof.BindingFact) { f.Verdict = nil },
	} {
		t.Run(name, func(t *testing.T) {
			s, app, n := plain(t)
			s.world.HealthyAfter = 8 * time.Minute // who follows it counts health from too early
			s.onEvict(func() { s.written = s.world.Peek(app).ResourceVersion })
			s.hears(app, 20*time.Second, func(f *proof.BindingFact) {
				f.Verdict.Health = reason.Verdict{OK: true, Reason: reason.Healthy}
				change(s, f)
			})
			require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
			require.NotZero(t, n[activities.NameObserve])
			require.GreaterOrEqual(t, s.sinceEviction(), 8*time.Minute)
			require.Equal(t, 1, n[activities.NameRelease], "no release is asked for what nobody has seen")
		})
	}
}

// A verdict that finds a copy not healthy restarts the clock, whatever was read meanwhile.
//
// Rules: R4.7-24, R4.7-56.
func TestVerdict_NotHealthy_RestartsTheClock(t *testing.T) {
	s, app, _ := plain(t)
	const ill = 26 * time.Second
	s.hears(app, 20*time.Second)
	s.hears(app, ill, func(f *proof.BindingFact) {
		f.Verdict.Health = reason.Verdict{Reason: reason.NotHealthy, Message: "1 of 2 ready"}
	})
	s.play()
	require.GreaterOrEqual(t, s.sinceEviction(), ill+s.settings.Terms.MinHealthy)
}

// The controller knows no label of the workload: where the members decide how many replicas run its verdict
// neither counts nor restarts the clock.
//
// Rules: R4.7-23, R4.7-56.
func TestVerdict_MembersDecideTheReplicas_MigrationLooksItself(t *testing.T) {
	s, app, n := plain(t)
	s.world.Change(app, func(b *karmada.Binding) {
		b.WorkloadLabels = map[string]string{karmada.LabelRetainReplicas: "true"}
	})
	s.onEvict(func() {
		for after := 20 * time.Second; after < 5*time.Minute; after += 4 * time.Second {
			s.at(after, func() {
				s.world.Change(app, func(*karmada.Binding) {}) // a newer version
				s.tells(app, s.verdict(app))
			})
		}
	})
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.NotZero(t, n[activities.NameObserve])
	require.Less(t, s.sinceEviction(), 2*time.Minute)
}

// An OverridePolicy gives the standby one replica of two. The controller does not read that, and its verdicts, which always
// say that a replica is missing, neither count nor restart the clock.
//
// Rules: R4.7-23, R4.7-56.
func TestVerdict_OverridePolicyGivesFewerReplicas_MigrationLooksItself(t *testing.T) {
	s, app, _ := plain(t)
	s.world.Overridden = map[karmada.BindingKey]int64{app: 1}
	s.onEvict(func() {
		for after := 20 * time.Second; after < 5*time.Minute; after += 4 * time.Second {
			s.at(after, func() {
				s.world.Change(app, func(*karmada.Binding) {}) // a newer version
				f := s.verdict(app)
				require.True(t, f.Verdict == nil || !f.Verdict.Health.OK)
				s.tells(app, f)
			})
		}
	})
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.Less(t, s.sinceEviction(), 2*time.Minute)
}

// What a verdict of other targets found healthy is not what would be kept: the release reads the
// targets, and refuses.
//
// Rules: R4.7-56, R4.7-33.
func TestVerdict_OfOtherTargets_ReleasesNothing(t *testing.T) {
	s, app, n := plain(t)
	const heard = 20 * time.Second
	s.hears(app, heard, func(f *proof.BindingFact) { f.Verdict.On = []karmada.TargetCluster{{Name: "m6", Replicas: 2}} })
	s.play()
	require.NotZero(t, n[activities.NameObserve])
	require.GreaterOrEqual(t, s.sinceEviction(), heard+2*s.settings.Terms.MinHealthy)
}

// After a release that was refused the migration looks before it follows a verdict again.
//
// Rules: R4.7-55.
func TestVerdict_AfterARefusedRelease_IsNotFollowedBeforeALook(t *testing.T) {
	s, app, n := plain(t)
	s.world.HealthyAfter = 3 * time.Minute
	for i := range 8 {
		s.hears(app, time.Duration(20+15*i)*time.Second, func(f *proof.BindingFact) {
			s.world.Change(app, func(b *karmada.Binding) {
				b.Annotations = map[string]string{"example.com/touched": s.env.Now().String()}
			})
			f.ResourceVersion = s.world.Peek(app).ResourceVersion
			f.Verdict.Health = reason.Verdict{OK: true, Reason: reason.Healthy}
		})
	}
	s.play()
	require.NotZero(t, n[activities.NameObserve])
	require.GreaterOrEqual(t, s.sinceEviction(), 3*time.Minute)
	require.LessOrEqual(t, n[activities.NameRelease], 5)
}

// answering is a story of a drain of one plain migration, whose source answers: health has to
// outlast detection.
func answering(t *testing.T, leads func(s *story) (time.Time, bool)) (*story, map[string]int) {
	s, _ := withApp(t)
	s.controller = world.Controller{W: s.world, Since: func() (time.Time, bool) { return leads(s) }}
	s.drains(workflows.DrainOrder{}, 15*time.Minute)
	return s, s.started()
}

// While the controller watches, nobody looks for as long as health has to hold.
//
// Rules: R4.7-58, R4.7-29.
func TestSourceAnswers_ControllerWatches_NobodyLooks(t *testing.T) {
	s, n := answering(t, func(*story) (time.Time, bool) { return storyBegins.Add(-time.Hour), true })
	s.play()
	require.GreaterOrEqual(t, s.sinceEviction(), s.settings.Terms.Detection)
	require.Less(t, s.sinceEviction(), s.settings.Terms.Detection+20*time.Second)
	require.Equal(t, []int{0, 1}, []int{n[activities.NameObserve], n[activities.NameRelease]})
	require.Len(t, s.reports, 2, "placed, and the end: a wait that lasts as long as it should is no news")
}

// A controller that changed hands meanwhile has not seen all: the migration looks as without verdicts. A look after that
// shows only how it is then.
//
// Rules: R4.7-58.
func TestSourceAnswers_ControllerChangedHands_HealthBeginsAnew(t *testing.T) {
	const changed = 30 * time.Second
	for name, looks := range map[string]bool{"nobody looks": false, "it looks before the release": true} {
		t.Run(name, func(t *testing.T) {
			var began time.Time
			s, n := answering(t, func(s *story) (time.Time, bool) {
				if log := s.world.Log("evict"); len(log) > 0 {
					began = log[0].At.Add(changed)
				}
				return began, true
			})
			s.onEvict(func() {
				app := karmada.BindingKey{Namespace: "shop", Name: "app"}
				if looks {
					s.at(changed+10*time.Second, func() { s.tells(app, proof.BindingFact{Key: app, UID: s.world.Peek(app).UID}) })
				}
			})
			s.play()
			require.GreaterOrEqual(t, s.sinceEviction(), 2*s.settings.Terms.Detection)
			require.NotZero(t, n[activities.NameObserve])
			require.Equal(t, 2, n[activities.NameRelease])
		})
	}
}

// A plain migration off a dead cluster reports twice, and its release is the look that proves it.
//
// Rules: R4.7-51, R4.7-52, R4.7-53.
func TestPlainMigration_ReportsWhenPlacedAndWhenEnded(t *testing.T) {
	s, _ := outage(t, 5*time.Minute)
	looks := s.started()
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.Len(t, s.reports, 2)
	require.True(t, s.reports[0].Placed)
	require.Nil(t, s.reports[0].Result)
	require.Equal(t, phase.MigrationAwaitingHealth, s.reports[0].Phase)
	require.Equal(t, reason.PendingPurge, s.reports[1].Result.Reason)
	require.Zero(t, looks[activities.NameObserve], "signals carry verdicts")
}

// A state that lasts is reported without an end.
//
// Rules: R4.7-51.
func TestMigrationThatWaits_IsReportedOnceItHasWaited(t *testing.T) {
	s, _ := outage(t, 10*time.Minute)
	s.world.HealthyAfter = 2 * time.Minute
	s.play()
	require.Len(t, s.reports, 3)
	require.Equal(t, reason.Placed, s.reports[0].Reason)
	require.Equal(t, reason.NotHealthy, s.reports[1].Reason, "it has waited for 15 s")
	require.NotNil(t, s.reports[2].Result)
}

// Rules: R4.7-47, R4.7-48.
func TestMigration_KarmadaStale_HoldsUntilItIsBack(t *testing.T) {
	const back = 20 * time.Minute
	s, _ := outage(t, 30*time.Minute)
	s.world.ManagerDead = true
	began := s.world.PeekCluster("m1").Conditions[0].LastTransition
	s.at(back, func() { s.world.ManagerDead, s.world.ManagerSince = false, began.Add(back) })
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	released := s.world.Log("release")
	require.Len(t, released, 1)
	require.GreaterOrEqual(t, released[0].At.Sub(began), back+s.settings.Terms.Detection, "a manager that has just started proves nothing")
}

// Rules: R4.7-49.
func TestMigration_LeaseCannotBeRead_HealthOutlastsDetection(t *testing.T) {
	s, _ := outage(t, 30*time.Minute)
	s.world.ManagerErr = karmada.ErrGone
	require.Equal(t, phase.OutcomeMigrated, s.playApp().Outcome)
	require.GreaterOrEqual(t, s.sinceEviction(), s.settings.Terms.Detection)
}

// A backup of Karmada is restored while a new copy is being proven: what it says may be over.
//
// Rules: R4.7-41.
func TestNothingIsReleasedOnWhatABackupSays(t *testing.T) {
	s := newAudited(t)
	app := s.bind("app", []string{"m1"}, "m1", "m2")
	var was karmada.Binding
	var back time.Time
	s.onEvict(func() {
		s.at(8*time.Second, func() { was = s.world.Peek(app) })
		s.at(9*time.Second, func() {
			s.world.Change(app, func(b *karmada.Binding) { b.Annotations = map[string]string{"example.com/touched": "yes"} })
		})
		s.at(11*time.Second, func() {
			back = s.env.Now()
			s.world.Rewind(was)
		})
	})
	s.outage(20 * time.Minute)
	require.Equal(t, map[string]phase.Outcome{"app": "Migrated"}, outcomes(s.play()))
	require.Len(t, s.world.Log("evict"), 1)
	require.GreaterOrEqual(t, s.world.Log("release")[0].At.Sub(back), s.settings.Terms.Detection, "proof begins anew, and takes longer")
	attention := s.recorded(record.AuditBindingAttention, app)
	require.Len(t, attention, 1)
	require.Equal(t, reason.StaleRead, attention[0].Reason)
}
