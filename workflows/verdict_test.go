package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
)

// requests counts what migrations ask of Karmada.
type requests struct{ looks, releases int }

func (s *story) counting() *requests {
	n := &requests{}
	s.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		switch info.ActivityType.Name {
		case activities.NameObserve:
			n.looks++
		case activities.NameRelease:
			n.releases++
		}
	})
	return n
}

// plain is a story of one plain migration off a cluster that dies, which the controller tells nothing by itself.
func plain(t *testing.T) (s *story, app karmada.BindingKey, n *requests) {
	s = newStory(t)
	s.silent = true
	app = s.bind("app", []string{"m1"}, "m1", "m2", "m3")
	s.world.SetReady("m1", false)
	s.at(20*time.Minute, func() { s.world.SetReady("m1", true) })
	return s, app, s.counting()
}

// verdict is what the controller would signal of app now.
func (s *story) verdict(app karmada.BindingKey) proof.BindingFact {
	b := s.world.Peek(app)
	fleet := func(name string) (karmada.Cluster, bool) { return s.world.PeekCluster(name), true }
	return proof.BindingFact{Key: app, UID: b.UID, ResourceVersion: b.ResourceVersion, Verdict: proof.JudgeHold(&b, "m1", fleet)}
}

func (s *story) tells(app karmada.BindingKey, f proof.BindingFact) {
	s.hint(workflows.BindingMigrationID("", "m1", app), workflows.SignalBindingObserved, f)
}

// sinceEviction is when app's hold was released after its eviction.
func (s *story) sinceEviction() time.Duration {
	s.t.Helper()
	require.Len(s.t, s.world.Log("release"), 1)
	return s.world.Log("release")[0].At.Sub(s.world.Log("evict")[0].At)
}

// A verdict stands in for a look: health counts from when it is heard.
//
// Rules: R4.7-55, R4.7-24.
func TestVerdict_Healthy_IsFollowedWithoutALook(t *testing.T) {
	s, app, n := plain(t)
	heard := 20 * time.Second
	s.onEvict(func() { s.at(heard, func() { s.tells(app, s.verdict(app)) }) })
	s.play()
	require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
	require.Zero(t, n.looks)
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
			s.world.HealthyAfter = 8 * time.Minute // whoever follows it counts health from too early
			s.onEvict(func() {
				s.written = s.world.Peek(app).ResourceVersion
				s.at(20*time.Second, func() {
					f := s.verdict(app)
					if f.Verdict != nil {
						f.Verdict.Health = reason.Verdict{OK: true, Reason: reason.Healthy}
					}
					change(s, &f)
					s.tells(app, f)
				})
			})
			s.play()
			require.NotZero(t, n.looks)
			require.Equal(t, phase.OutcomeMigrated, s.appResult().Outcome)
			require.GreaterOrEqual(t, s.sinceEviction(), 8*time.Minute)
			require.Equal(t, 1, n.releases, "no release is asked for what nobody has seen")
		})
	}
}

// A verdict that finds a copy not healthy restarts the clock, whatever was read meanwhile.
//
// Rules: R4.7-24, R4.7-56.
func TestVerdict_NotHealthy_RestartsTheClock(t *testing.T) {
	s, app, _ := plain(t)
	const ill = 26 * time.Second
	s.onEvict(func() {
		s.at(20*time.Second, func() { s.tells(app, s.verdict(app)) })
		s.at(ill, func() {
			f := s.verdict(app)
			f.Verdict.Health = reason.Verdict{Reason: reason.NotHealthy, Message: "1 of 2 ready"}
			s.tells(app, f)
		})
	})
	s.play()
	require.GreaterOrEqual(t, s.sinceEviction(), ill+s.settings.Terms.MinHealthy)
}

// What a verdict of other targets found healthy is not what would be kept: the release reads the
// targets, and refuses.
//
// Rules: R4.7-56, R4.7-33.
func TestVerdict_OfOtherTargets_ReleasesNothing(t *testing.T) {
	s, app, n := plain(t)
	const heard = 20 * time.Second
	s.onEvict(func() {
		s.at(heard, func() {
			f := s.verdict(app)
			f.Verdict.On = []karmada.TargetCluster{{Name: "m6", Replicas: 2}}
			s.tells(app, f)
		})
	})
	s.play()
	require.NotZero(t, n.looks)
	require.GreaterOrEqual(t, s.sinceEviction(), heard+2*s.settings.Terms.MinHealthy)
}

// After a release that was refused the migration looks before it follows a verdict again.
//
// Rules: R4.7-55.
func TestVerdict_AfterARefusedRelease_IsNotFollowedBeforeALook(t *testing.T) {
	s, app, n := plain(t)
	s.world.HealthyAfter = 3 * time.Minute
	healthy := func() {
		s.world.Change(app, func(b *karmada.Binding) {
			b.Annotations = map[string]string{"example.com/touched": s.env.Now().String()}
		})
		f := s.verdict(app)
		f.Verdict.Health = reason.Verdict{OK: true, Reason: reason.Healthy}
		s.tells(app, f)
	}
	s.onEvict(func() {
		for i := range 8 {
			s.at(time.Duration(20+15*i)*time.Second, healthy)
		}
	})
	s.play()
	require.NotZero(t, n.looks)
	require.GreaterOrEqual(t, s.sinceEviction(), 3*time.Minute)
	require.LessOrEqual(t, n.releases, 5)
}

// answering is a story of a drain of one plain migration, whose source answers: health has to
// outlast detection.
func answering(t *testing.T, leads func(s *story) (time.Time, bool)) (*story, *requests) {
	s := newStory(t)
	s.bind("app", []string{"m1"}, "m1", "m2")
	s.controller = world.Controller{W: s.world, Since: func() (time.Time, bool) { return leads(s) }}
	s.keepOpen()
	s.at(time.Second, func() { s.drain(workflows.DrainOrder{}) })
	s.at(15*time.Minute, func() { s.order(workflows.UpdateUndrain, "done") })
	return s, s.counting()
}

// While the controller watches, nobody looks for as long as health has to hold.
//
// Rules: R4.7-58, R4.7-29.
func TestSourceAnswers_ControllerWatches_NobodyLooks(t *testing.T) {
	s, n := answering(t, func(*story) (time.Time, bool) { return storyBegins.Add(-time.Hour), true })
	s.play()
	require.GreaterOrEqual(t, s.sinceEviction(), s.settings.Terms.Detection)
	require.Less(t, s.sinceEviction(), s.settings.Terms.Detection+20*time.Second)
	require.Equal(t, requests{looks: 0, releases: 1}, *n)
	require.Len(t, s.reports, 2, "placed, and the end: a wait that lasts as long as it should is no news")
}

// A controller that changed hands meanwhile has not seen all: the migration looks as without verdicts.
//
// Rules: R4.7-58.
func TestSourceAnswers_ControllerChangedHands_HealthBeginsAnew(t *testing.T) {
	var began time.Time
	s, n := answering(t, func(s *story) (time.Time, bool) {
		if log := s.world.Log("evict"); len(log) > 0 {
			began = log[0].At.Add(30 * time.Second)
		}
		return began, true
	})
	s.play()
	require.GreaterOrEqual(t, s.sinceEviction(), 2*s.settings.Terms.Detection)
	require.NotZero(t, n.looks)
	require.Equal(t, 2, n.releases)
}
