package activities_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/tests/world"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// counted counts what is asked about the surroundings of bindings.
type counted struct {
	*world.World
	asked map[string]int
	fail  error
}

func (c counted) OptedOut(_ context.Context, b *karmada.Binding) (string, error) {
	c.asked["optedOut "+b.Key.Namespace+b.PolicyID()]++
	return "", c.fail
}

func (c counted) PolicyAnnotation(_ context.Context, b *karmada.Binding, name string) (string, error) {
	c.asked[name+" "+b.PolicyID()]++
	return "word", nil
}

func (c counted) Clusters(ctx context.Context) ([]karmada.Cluster, error) {
	c.asked["clusters"]++
	fleet, err := c.World.Clusters(ctx)
	return fleet, errors.Join(err, c.fail)
}

func TestASnapshotReadsEverythingOnce(t *testing.T) {
	w := world.New(func() time.Time { return time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC) })
	w.AddCluster("m1")
	w.AddCluster("m2")
	for i := range 1200 {
		w.AddBinding(karmada.Binding{
			Key:         karmada.BindingKey{Namespace: "shop", Name: fmt.Sprintf("app%04d", i)},
			Annotations: map[string]string{karmada.AnnotationClusterPolicyName: fmt.Sprint("policy", i%2)},
		})
	}
	from := counted{World: w, asked: map[string]int{}}
	read := 0
	s := fixtures.Must(activities.TakeSnapshot(t.Context(), from, func(n int) { read = n }))(t)
	require.Equal(t, 1200, read)

	seen, pages := 0, 0
	for page := (activities.Page{}); ; pages++ {
		p := fixtures.Must(s.Bindings(t.Context(), page))(t)
		for i := range p.Bindings {
			seen++
			require.NoError(t, fixtures.Err(s.OptedOut(t.Context(), &p.Bindings[i])))
			require.Equal(t, "word", fixtures.Must(s.PolicyAnnotation(t.Context(), &p.Bindings[i], "a"))(t))
		}
		if p.Next == nil {
			break
		}
		page = *p.Next
	}
	require.Equal(t, 1200, seen)
	require.Equal(t, 2, pages)
	require.Equal(t, map[string]int{
		"clusters": 1, "optedOut shop/policy0": 1, "optedOut shop/policy1": 1, "a /policy0": 1, "a /policy1": 1,
	}, from.asked, "each policy once")
	require.ErrorIs(t, fixtures.Err(s.Bindings(t.Context(), activities.Page{Continue: "9999"})), karmada.ErrInvalid)
	require.ErrorIs(t, fixtures.Err(s.Binding(t.Context(), karmada.BindingKey{Name: "none"})), karmada.ErrGone)
}

func TestInASnapshotOneClusterFailsAndNothingElseChanges(t *testing.T) {
	w := world.New(func() time.Time { return time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC) })
	w.AddCluster("m1")
	w.AddCluster("m2")
	s := fixtures.Must(activities.TakeSnapshot(t.Context(), w, nil))(t)
	failed := s.Failed("m1", time.Date(2026, 3, 1, 4, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		of   *activities.Snapshot
		name string
		want corev1.ConditionStatus
	}{{of: failed, name: "m1", want: corev1.ConditionFalse}, {of: failed, name: "m2", want: corev1.ConditionTrue}, {of: s, name: "m1", want: corev1.ConditionTrue}} {
		require.Equal(t, c.want, fixtures.Must(c.of.Cluster(t.Context(), c.name))(t).Conditions[0].Status, c.name)
	}
}

func TestASnapshotThatCannotBeTakenIsAnError(t *testing.T) {
	trouble := errors.New("no route")
	_, err := activities.TakeSnapshot(t.Context(), counted{World: world.New(time.Now), asked: map[string]int{}, fail: trouble}, nil)
	require.ErrorIs(t, err, trouble)
}

// lister counts the lists that it reads.
type lister struct {
	*world.World
	lists     int
	err       error
	meanwhile func()
}

func (c *lister) Clusters(ctx context.Context) ([]karmada.Cluster, error) {
	c.lists++
	if c.meanwhile != nil {
		c.meanwhile()
	}
	if c.err != nil {
		return nil, c.err
	}
	return c.World.Clusters(ctx)
}

func (c *lister) Rules(ctx context.Context) ([]rules.Rule, error) {
	c.lists++
	return c.World.Rules(ctx)
}

func TestRecent_SharesAListForASecondAtMost(t *testing.T) {
	b := newBench(t)
	from := &lister{World: b.world}
	recent := activities.NewRecent(from, world.Clock{W: b.world})
	ask := func() []karmada.Cluster {
		fleet := fixtures.Must(recent.Clusters(t.Context()))(t)
		require.Len(t, fleet, 3)
		return fleet
	}
	ask()[0].Name = "somebody changes what it was given"
	b.now = b.now.Add(500 * time.Millisecond)
	require.Equal(t, "m1", ask()[0].Name)
	require.Equal(t, 1, from.lists)

	b.now = b.now.Add(time.Millisecond)
	from.meanwhile = func() { ask() } // others go on with what is known
	ask()
	require.Equal(t, 2, from.lists)

	b.now, from.err = b.now.Add(1001*time.Millisecond), errors.New("timeout")
	from.meanwhile = nil
	require.Error(t, fixtures.Err(recent.Clusters(t.Context())), "an old answer is not given for a new one")
	from.err = nil
	ask()
	require.Equal(t, 4, from.lists)
}

// An assessment shares the rules that it has read.
//
// Rules: R4.6-28.
func TestRecent_RulesOfAnAssessment_AreSharedForASecond(t *testing.T) {
	b := newBench(t)
	from := &lister{World: b.world}
	recent := activities.NewRecent(from, world.Clock{W: b.world})
	b.acts.Recent = recent
	b.assess(activities.AssessRequest{Cluster: "m1"})
	require.Len(t, fixtures.Must(recent.Rules(t.Context()))(t), 1)
	require.Zero(t, from.lists, "the assessment had read them")

	b.now = b.now.Add(501 * time.Millisecond)
	require.Len(t, fixtures.Must(recent.Rules(t.Context()))(t), 1)
	require.Equal(t, 1, from.lists)
}

// scripted does something before each read, by its number from one on; its error is the answer.
type scripted struct {
	*world.World
	reads  atomic.Int32
	before func(ctx context.Context, nth int32) error
}

func (s *scripted) Clusters(ctx context.Context) ([]karmada.Cluster, error) {
	if err := s.before(ctx, s.reads.Add(1)); err != nil {
		return nil, err
	}
	return s.World.Clusters(ctx)
}

// Those who ask while a list is read wait for that list. Where it fails or takes long, one of them reads again for all:
// many reads would make slow what is slow already.
//
// Rules: R4.6-28.
func TestRecent_OneReadForAllWhoAskAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		after time.Duration
		reads int32
	}{
		"soon":   {after: 100 * time.Millisecond, reads: 1},
		"failed": {err: errors.New("timeout"), after: 100 * time.Millisecond, reads: 2},
		"long":   {after: time.Minute, reads: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world.New(time.Now)
				w.AddCluster("m1")
				may := make(chan struct{})
				from := &scripted{World: w, before: func(_ context.Context, nth int32) error {
					if nth > 1 {
						return nil
					}
					<-may
					return c.err
				}}
				recent := activities.NewRecent(from, world.Clock{W: w})
				time.AfterFunc(c.after, func() { close(may) })
				var asked sync.WaitGroup
				for n := range 100 {
					asked.Go(func() {
						fleet, err := recent.Clusters(t.Context())
						if n == 0 && c.err != nil {
							require.ErrorIs(t, err, c.err)
							return
						}
						require.NoError(t, err)
						require.Len(t, fleet, 1)
					})
					synctest.Wait()
				}
				asked.Wait()
				require.Equal(t, c.reads, from.reads.Load())
			})
		})
	}
}

// busyLister takes long for each read, and counts them.
type busyLister struct {
	*world.World
	takes      time.Duration
	err        error
	reads, now atomic.Int32
	most       atomic.Int32
}

func (b *busyLister) Clusters(ctx context.Context) ([]karmada.Cluster, error) {
	b.reads.Add(1)
	b.most.Store(max(b.most.Load(), b.now.Add(1)))
	defer b.now.Add(-1)
	began := time.Now()
	time.Sleep(b.takes) //nolint:forbidigo // in virtual time
	if b.err != nil {
		return nil, b.err
	}
	all, err := b.World.Clusters(ctx)
	for at := range all {
		all[at].ResourceVersion = began.Format(time.RFC3339Nano)
	}
	return all, err
}

// Where a read takes long, two are on their way at a time, however many ask. Nobody gets an answer that was read more
// than a second before it asked, nor waits for more than two reads. Where reads fail, two of them do for all.
//
// Rules: R4.6-28.
func TestRecent_WhereReadsTakeLong_TwoAtATime(t *testing.T) {
	const takes = 8 * time.Second
	for name, fails := range map[string]error{"answers": nil, "failures": errors.New("timeout")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world.New(time.Now)
				w.AddCluster("m1")
				from := &busyLister{World: w, takes: takes, err: fails}
				recent := activities.NewRecent(from, world.Clock{W: w})
				var asked sync.WaitGroup
				for range 200 {
					time.Sleep(50 * time.Millisecond) //nolint:forbidigo // in virtual time
					asked.Go(func() {
						at := time.Now()
						fleet, err := recent.Clusters(t.Context())
						require.ErrorIs(t, err, fails)
						if fails == nil {
							require.LessOrEqual(t, time.Since(at), 2*takes)
							read := fixtures.Must(time.Parse(time.RFC3339Nano, fleet[0].ResourceVersion))(t)
							require.LessOrEqual(t, at.Sub(read), time.Second)
						}
					})
				}
				asked.Wait()
				require.EqualValues(t, 2, from.most.Load())
				require.Less(t, from.reads.Load(), int32(10))
			})
		})
	}
}

type cancelKey struct{}

// Who gives up while it reads for others fails alone: the next of them reads.
//
// Rules: R4.6-28.
func TestRecent_WhoGivesUpFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world.New(time.Now)
		w.AddCluster("m1")
		from := &scripted{World: w, before: func(ctx context.Context, nth int32) error {
			switch nth {
			case 1, 2:
				time.Sleep(time.Minute) //nolint:forbidigo // in virtual time
				return errors.New("timeout")
			case 3: // it ends with the context of whoever reads
				time.Sleep(time.Second) //nolint:forbidigo // in virtual time
				cancel, _ := ctx.Value(cancelKey{}).(context.CancelFunc)
				cancel()
				return ctx.Err()
			}
			return nil
		}}
		recent := activities.NewRecent(from, world.Clock{W: w})
		var asked sync.WaitGroup
		var failed atomic.Int32
		for n := range 4 { // two that read, and two that wait for them
			asked.Go(func() {
				time.Sleep(time.Duration(n) * 10 * time.Second) //nolint:forbidigo // in virtual time
				ctx, cancel := context.WithCancel(t.Context())
				if _, err := recent.Clusters(context.WithValue(ctx, cancelKey{}, cancel)); err != nil {
					failed.Add(1)
				}
				cancel()
			})
		}
		asked.Wait()
		require.EqualValues(t, 3, failed.Load())
		require.EqualValues(t, 4, from.reads.Load())
	})
}

// Rules: R4.6-28.
func TestRelease_ReadsItsTargetsAnew(t *testing.T) {
	b := newBench(t)
	recent := activities.NewRecent(b.world, world.Clock{W: b.world})
	b.acts.Recent = recent
	b.fail()
	ref := b.evicted(10*time.Minute, 10*time.Minute)
	require.NoError(t, fixtures.Err(recent.Clusters(t.Context())))
	b.world.SetReady("m2", false)
	require.Equal(t, reason.TargetNotReady, b.release(healthy(ref)).Reason)
	require.Empty(t, b.world.Log("release"))
}

// Rules: R4.6-28.
func TestEvict_ReadsItsSourceAnew(t *testing.T) {
	b := newBench(t)
	recent := activities.NewRecent(b.world, world.Clock{W: b.world})
	b.acts.Recent = recent
	b.fail()
	require.NoError(t, fixtures.Err(recent.Clusters(t.Context())))
	evictRow{world: recovered, end: activities.EvictNotAffected, reason: reason.NoTaint}.run(t, b, b.evictRequest())
}

// leases counts the reads of the manager's Lease.
type leases struct {
	reads   int
	renewed time.Time
	err     error
}

func (l *leases) ManagerLease(context.Context) (proof.ManagerLease, error) {
	l.reads++
	return proof.ManagerLease{Holder: "manager-1", Renewed: l.renewed, Duration: 15 * time.Second}, l.err
}

// Rules: R4.6-28.
func TestRecent_SharesTheManagersLease(t *testing.T) {
	b := newBench(t)
	recent, from := activities.NewRecent(b.world, world.Clock{W: b.world}), &leases{}
	require.Nil(t, recent.Manager(nil))
	manager := recent.Manager(from)
	for range 3 {
		require.Equal(t, "manager-1", fixtures.Must(manager.ManagerLease(t.Context()))(t).Holder)
	}
	require.Equal(t, 1, from.reads)
	b.now = b.now.Add(time.Second + 1)
	from.err = karmada.ErrGone
	require.ErrorIs(t, fixtures.Err(manager.ManagerLease(t.Context())), karmada.ErrGone)
}

// A leader renews every two seconds. Of two releases, one after the other, the first alone waits for that.
//
// Rules: R4.7-47, R4.6-28.
func TestRelease_ARenewalThatWasJustSeenIsWaitedForNoMore(t *testing.T) {
	for name, tc := range map[string]struct {
		dies, next time.Duration // after the first release
		waits      bool
		reason     reason.Reason
	}{
		"the next one, a second later":         {dies: time.Hour, next: time.Second, reason: reason.Written},
		"the next one, a minute later":         {dies: time.Hour, next: time.Minute, waits: true, reason: reason.Written},
		"its last renewal is two seconds old":  {next: 2 * time.Second, reason: reason.Written},
		"its last renewal is four seconds old": {next: 4 * time.Second, waits: true, reason: reason.KarmadaStale},
	} {
		t.Run(name, func(t *testing.T) {
			b := failing(t)
			ref := b.evicted(10 * time.Minute)
			began, waited, dies := b.now, false, b.now.Add(time.Hour)
			from := &leases{}
			pass := func(d time.Duration) {
				b.now = b.now.Add(d)
				last := b.now
				if last.After(dies) {
					last = dies
				}
				from.renewed = began.Add(last.Sub(began).Truncate(2 * time.Second))
			}
			pass(0)
			b.world.OnWait = func(d time.Duration) { waited = true; pass(d) }
			recent := activities.NewRecent(b.world, world.Clock{W: b.world})
			b.acts.Recent, b.acts.Manager = recent, recent.Manager(from)

			require.Equal(t, reason.NotHealthy, b.release(activities.ReleaseRequest{MigrationRef: ref}).Reason)
			require.True(t, waited, "nothing was known of it")

			dies, waited = b.now.Add(tc.dies), false
			pass(tc.next)
			require.Equal(t, tc.reason, b.release(healthy(ref)).Reason)
			require.Equal(t, tc.waits, waited)
		})
	}
}
