package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/controller/plan"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/stretchr/testify/require"
)

// objects answers as it was told to.
type objects struct {
	inventory []k8sadapter.Inventory
	watched   []k8sadapter.Watched
	behind    bool
}

func (k *objects) Inventory(context.Context, k8sadapter.May) []k8sadapter.Inventory {
	return k.inventory
}

func (k *objects) Watches(_ context.Context, may k8sadapter.May) []k8sadapter.Watched {
	return slices.DeleteFunc(slices.Clone(k.watched), func(w k8sadapter.Watched) bool { return may != nil && !may("watch", w.Resource) })
}

func (k *objects) InStep(ctx context.Context) (k8sadapter.Sight, error) {
	if k.behind {
		<-ctx.Done()
		return k8sadapter.Sight{}, ctx.Err()
	}
	return k8sadapter.Sight{Clusters: 3, Rules: 1, Bindings: 7}, nil
}

// sound is a Karmada with nothing wrong, and how to try it.
func sound() (*objects, *Full) {
	k := &objects{
		inventory: []k8sadapter.Inventory{
			{Resource: "clusters.cluster.karmada.io", Count: 3},
			{Resource: "clustertaintpolicies.policy.karmada.io", Absent: true},
		},
		watched: []k8sadapter.Watched{
			{Resource: "clusters.cluster.karmada.io", Events: 2},
			{Resource: "clustertaintpolicies.policy.karmada.io", Absent: true},
		},
	}
	return k, &Full{
		Karmada: k, SyncWithin: time.Minute,
		Preflight: func(context.Context) []Check {
			return []Check{{Name: "Second evictor", Result: Warning}}
		},
		Plan: func(context.Context) ([]plan.Plan, error) {
			return []plan.Plan{{Cluster: "m2", Totals: plan.Totals{Moves: 5, Blocked: 2}}, {Cluster: "m1"}}, nil
		},
	}
}

func check(t *testing.T, r Report, name string) Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q in %+v", name, r.Checks)
	return Check{}
}

// A worker watches nothing, and its kubeconfig may not: nothing is asked that would be refused.
func TestARoleThatWatchesNothingIsNotTriedForIt(t *testing.T) {
	k, v := sound()
	k.behind, v.SyncWithin = true, time.Millisecond
	k.watched[0].Err = karmada.ErrForbidden
	require.Equal(t, Failed, v.Run(t.Context()).Verdict)
	v.May = func(verb, _ string) bool { return verb == "list" }
	r := v.Run(t.Context())
	require.Equal(t, Warning, r.Verdict, "%+v", r.Checks)
	for _, c := range r.Checks {
		require.NotContains(t, c.Name, "Watch")
	}
}

func TestAKarmadaThatIsUnderstoodPasses(t *testing.T) {
	_, v := sound()
	r := v.Run(t.Context())
	require.Equal(t, Warning, r.Verdict, "the preflight's checks count, too: %+v", r.Checks)
	require.Equal(t, map[string]int{"clusters.cluster.karmada.io": 3}, r.Objects)
	require.Equal(t, "3, all understood", check(t, r, "Read clusters").Found)
	require.Equal(t, "not served here", check(t, r, "Read clustertaintpolicies").Found)
	require.Equal(t, OK, check(t, r, "Watch clustertaintpolicies").Result, "an older Karmada does without")
	require.Contains(t, check(t, r, "Watch everything").Found, "3 clusters, 1 rules, 7 bindings")
	require.Contains(t, check(t, r, "Plan").Found, "2 clusters; worst to lose would be m2: 5 would move, 2 could not")
}

// Rules: R4.15-26.
func TestWhateverFailsFailsTheVerificationAndIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(*objects, *Full)
		check  string
		says   string
	}{
		"an object that cannot be understood": {
			breaks: func(k *objects, _ *Full) {
				k.inventory[0].Malformed = []k8sadapter.MalformedObject{{Name: "m3", Problem: "spec: no"}}
			},
			check: "Read clusters", says: "3, of which 1 cannot be understood:\nm3: spec: no",
		},
		"a resource that cannot be read": {
			breaks: func(k *objects, _ *Full) { k.inventory[0].Err = errors.New("forbidden") }, check: "Read clusters", says: "forbidden",
		},
		"a resource that is not served": {
			breaks: func(k *objects, _ *Full) { k.inventory[0].Absent = true }, check: "Read clusters", says: "not served here",
		},
		"a watch that cannot be opened": {
			breaks: func(k *objects, _ *Full) { k.watched[0].Err = errors.New("may not watch") }, check: "Watch clusters", says: "may not watch",
		},
		"a watch that is never in step": {
			breaks: func(k *objects, v *Full) { k.behind, v.SyncWithin = true, time.Millisecond }, check: "Watch everything", says: "deadline",
		},
		"a plan that cannot be made": {
			breaks: func(_ *objects, v *Full) {
				v.Plan = func(context.Context) ([]plan.Plan, error) { return nil, errors.New("no rules") }
			},
			check: "Plan", says: "no rules",
		},
		"a failed check of the preflight": {
			breaks: func(_ *objects, v *Full) {
				v.Preflight = func(context.Context) []Check {
					return []Check{{Name: "Karmada version", Result: Failed, Found: "too old"}}
				}
			},
			check: "Karmada version", says: "too old",
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, v := sound()
			c.breaks(k, v)
			r := v.Run(t.Context())
			require.Equal(t, Failed, r.Verdict)
			found := check(t, r, c.check)
			require.Equal(t, Failed, found.Result)
			require.Contains(t, found.Found, c.says)
			require.Len(t, r.Checks, 7, "nothing that fails keeps another thing from being tried")
		})
	}
}

func TestASilentServerIsNoVerdictOnIt(t *testing.T) {
	k, v := sound()
	k.inventory[0].Err = fmt.Errorf("list clusters: %w", karmada.ErrUnreachable)
	k.watched[0].Err = &karmada.ThrottledError{}
	r := v.Run(t.Context())
	require.Equal(t, Unknown, check(t, r, "Read clusters").Result)
	require.Equal(t, Unknown, check(t, r, "Watch clusters").Result)
	require.Equal(t, Unknown, r.Verdict)

	for n := range k.inventory {
		k.inventory[n].Err = karmada.ErrUnreachable
	}
	r = v.Run(t.Context())
	require.Equal(t, Unknown, r.Verdict)
	require.Len(t, r.Checks, len(k.inventory), "nothing else is waited for where nobody answers")
}

func TestTheReportHasEveryMalformedObject(t *testing.T) {
	k, v := sound()
	for range 9 {
		k.inventory[0].Malformed = append(k.inventory[0].Malformed, k8sadapter.MalformedObject{Name: "m"})
	}
	require.Len(t, v.Run(t.Context()).Malformed["clusters.cluster.karmada.io"], 9)
}
