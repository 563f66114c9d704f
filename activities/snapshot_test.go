package activities_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
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
	s, err := activities.TakeSnapshot(t.Context(), from, func(n int) { read = n })
	require.NoError(t, err)
	require.Equal(t, 1200, read)

	seen, pages := 0, 0
	for page := (activities.Page{}); ; pages++ {
		p, err := s.Bindings(t.Context(), page)
		require.NoError(t, err)
		for i := range p.Bindings {
			seen++
			_, err := s.OptedOut(t.Context(), &p.Bindings[i])
			require.NoError(t, err)
			word, err := s.PolicyAnnotation(t.Context(), &p.Bindings[i], "a")
			require.NoError(t, err)
			require.Equal(t, "word", word)
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
	_, err = s.Bindings(t.Context(), activities.Page{Continue: "9999"})
	require.ErrorIs(t, err, karmada.ErrInvalid)
	_, err = s.Binding(t.Context(), karmada.BindingKey{Name: "none"})
	require.ErrorIs(t, err, karmada.ErrGone)
}

func TestInASnapshotOneClusterFailsAndNothingElseChanges(t *testing.T) {
	w := world.New(func() time.Time { return time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC) })
	w.AddCluster("m1")
	w.AddCluster("m2")
	s, err := activities.TakeSnapshot(t.Context(), w, nil)
	require.NoError(t, err)
	failed := s.Failed("m1", time.Date(2026, 3, 1, 4, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		of   *activities.Snapshot
		name string
		want corev1.ConditionStatus
	}{{of: failed, name: "m1", want: corev1.ConditionFalse}, {of: failed, name: "m2", want: corev1.ConditionTrue}, {of: s, name: "m1", want: corev1.ConditionTrue}} {
		cluster, err := c.of.Cluster(t.Context(), c.name)
		require.NoError(t, err)
		require.Equal(t, c.want, cluster.Conditions[0].Status, c.name)
	}
}

func TestASnapshotThatCannotBeTakenIsAnError(t *testing.T) {
	trouble := errors.New("no route")
	_, err := activities.TakeSnapshot(t.Context(), counted{World: world.New(time.Now), asked: map[string]int{}, fail: trouble}, nil)
	require.ErrorIs(t, err, trouble)
}
