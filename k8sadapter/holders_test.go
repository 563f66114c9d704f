package k8sadapter

import (
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
)

// dependent is a binding of a ConfigMap that two parents hold on m1.
const dependent = `{
  "metadata":{"name":"config-configmap","namespace":"shop","uid":"u1","resourceVersion":"9"},
  "spec":{"resource":{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"config"},
    "clusters":[{"name":"m1"}],
    "requiredBy":[{"namespace":"shop","name":"cart-deployment","clusters":[{"name":"m1","replicas":2}]},{"namespace":"shop","name":"menu-deployment"}],
    "gracefulEvictionTasks":[
      {"fromCluster":"m3","producer":"Other","reason":"R","later":1},
      {"fromCluster":"m1","producer":"Lifeboat","reason":"LifeboatDependent","message":"p1 p2","suppressDeletion":true,"later":1}]}}`

const others = `{"fromCluster":"m3","producer":"Other","reason":"R","later":1}`

// Rules: R4.10-2, R4.10-4, R4.10-6.
func TestHoldersAreCountedInTheTaskItself(t *testing.T) {
	free := strings.Replace(dependent, `,
      {"fromCluster":"m1","producer":"Lifeboat","reason":"LifeboatDependent","message":"p1 p2","suppressDeletion":true,"later":1}`, "", 1)
	owned := strings.Replace(dependent, `"reason":"LifeboatDependent","message":"p1 p2"`, `"reason":"ClusterFailover","message":"own p1"`, 1)
	holders := func(raw string, names ...string) ([]byte, error) {
		return holdersPatch(activities.HoldersWrite{Binding: decoded(t, raw), Cluster: "m1", Holders: names, Now: at})
	}
	for name, c := range map[string]struct {
		patch func() ([]byte, error)
		want  string
	}{
		"the first appends a task": {
			patch: func() ([]byte, error) { return holders(free, "p1") },
			want: `{"fromCluster":"m1","purgeMode":"Gracefully","reason":"LifeboatDependent","message":"p1","producer":"Lifeboat",` +
				`"suppressDeletion":true,"creationTimestamp":"2026-11-21T10:00:00Z","clustersBeforeFailover":["m1"]}`,
		},
		"a further one changes its message alone": {
			patch: func() ([]byte, error) { return holders(dependent, "p1", "p2", "p3") },
			want:  `{"fromCluster":"m1","later":1,"message":"p1 p2 p3","producer":"Lifeboat","reason":"LifeboatDependent","suppressDeletion":true}`,
		},
		"the last takes it away": {patch: func() ([]byte, error) { return holders(dependent) }},
		"the dependent's own migration takes it over": {
			patch: func() ([]byte, error) {
				return evictPatch(activities.EvictWrite{Binding: decoded(t, dependent), Cluster: "m1", Owner: "own", Now: at, Reason: karmada.TaskReason})
			},
			want: `{"clustersBeforeFailover":["m1"],"creationTimestamp":"2026-11-21T10:00:00Z","fromCluster":"m1","later":1,` +
				`"message":"own p1 p2","producer":"Lifeboat","purgeMode":"Gracefully","reason":"ClusterFailover",`,
		},
		"and leaves it to its parents": {
			patch: func() ([]byte, error) {
				return releasePatch(activities.ReleaseWrite{Binding: decoded(t, owned), Cluster: "m1"})
			},
			want: `{"fromCluster":"m1","later":1,"message":"p1","producer":"Lifeboat","reason":"LifeboatDependent","suppressDeletion":true}`,
		},
		"whose own hold it does not touch": {
			patch: func() ([]byte, error) {
				return releasePatch(activities.ReleaseWrite{Binding: decoded(t, dependent), Cluster: "m1"})
			},
			want: "unchanged",
		},
	} {
		t.Run(name, func(t *testing.T) {
			patch, err := c.patch()
			require.NoError(t, err)
			if c.want == "unchanged" {
				require.JSONEq(t, `{"metadata":{"resourceVersion":"9"}}`, string(patch))
				return
			}
			require.Contains(t, string(patch), `"gracefulEvictionTasks":[`+others, "what others wrote stays as it is")
			require.Contains(t, string(patch), c.want)
			if c.want == "" {
				require.NotContains(t, string(patch), "Lifeboat")
			}
		})
	}
	b := decoded(t, dependent)
	require.Equal(t, []karmada.RequiredBy{
		{Namespace: "shop", Name: "cart-deployment", Clusters: []string{"m1"}}, {Namespace: "shop", Name: "menu-deployment"},
	}, b.RequiredBy)
	require.True(t, b.ServesOn("m1"))
}

// Rules: R4.10-7.
func TestNoHolderIsEverCutOff(t *testing.T) {
	long := strings.Repeat("x", 1020)
	crowded := decoded(t, strings.Replace(dependent, "p1 p2", long, 1))
	_, err := holdersPatch(activities.HoldersWrite{Binding: crowded, Cluster: "m1", Holders: []string{long, "p2p3"}})
	require.ErrorIs(t, err, karmada.ErrInvalid)
	_, err = evictPatch(activities.EvictWrite{Binding: crowded, Cluster: "m1", Owner: "owner", Now: at, Reason: karmada.TaskReason})
	require.ErrorIs(t, err, karmada.ErrInvalid)
}
