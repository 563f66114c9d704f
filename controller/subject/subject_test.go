package subject

import (
	"context"
	"slices"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

// bindings are those of a fleet, one a page.
type bindings []karmada.Binding

func (f bindings) Binding(_ context.Context, key karmada.BindingKey) (karmada.Binding, error) {
	at := slices.IndexFunc(f, func(b karmada.Binding) bool { return b.Key == key })
	if at < 0 {
		return karmada.Binding{}, karmada.ErrGone
	}
	return f[at], nil
}

func (f bindings) Bindings(_ context.Context, page activities.Page) (activities.BindingPage, error) {
	at := len(page.Continue)
	if at >= len(f) {
		return activities.BindingPage{}, nil
	}
	return activities.BindingPage{Bindings: f[at : at+1], Next: &activities.Page{Continue: page.Continue + "x"}}, nil
}

type away struct{}

func (away) Binding(context.Context, karmada.BindingKey) (karmada.Binding, error) {
	return karmada.Binding{}, karmada.ErrUnreachable
}

func (away) Bindings(context.Context, activities.Page) (activities.BindingPage, error) {
	return activities.BindingPage{}, karmada.ErrUnreachable
}

func binding(namespace, name, kind, workload string) karmada.Binding {
	return karmada.Binding{
		Key:      karmada.BindingKey{Namespace: namespace, Name: name},
		Resource: karmada.Resource{Kind: kind, Namespace: namespace, Name: workload},
	}
}

var fleet = bindings{
	binding("shop", "cart-deployment", "Deployment", "cart"),
	binding("shop", "odd", "Deployment", "till"),
	binding("shop", "edge-ingress", "Ingress", "edge"),
	binding("shop", "policy-networkpolicy", "NetworkPolicy", "policy"),
	binding("other", "cart-deployment", "Deployment", "cart"),
	binding("shop", "twin-a", "Job", "twin"),
	binding("shop", "twin-b", "Job", "twin"),
	binding("", "reader-clusterrole", "ClusterRole", "reader"),
}

func TestFind_ByNameOrWorkload(t *testing.T) {
	for _, c := range []struct{ arg, namespace, want string }{
		{arg: "shop/cart-deployment", want: "shop/cart-deployment"},
		{arg: "deployment/cart", namespace: "shop", want: "shop/cart-deployment"},
		{arg: "Deployments/cart", namespace: "other", want: "other/cart-deployment"},
		{arg: "deploy/till", namespace: "shop", want: "shop/odd"},
		{arg: "ingress/edge", namespace: "shop", want: "shop/edge-ingress"},
		{arg: "ingresses/edge", namespace: "shop", want: "shop/edge-ingress"},
		{arg: "networkpolicies/policy", namespace: "shop", want: "shop/policy-networkpolicy"},
		{arg: "-/reader-clusterrole", want: "-/reader-clusterrole"},
		{arg: Plain([]string{"-/reader-clusterrole"})[0], want: "-/reader-clusterrole"},
		{arg: "clusterrole/reader", want: "-/reader-clusterrole"},
	} {
		ref, err := Parse(c.arg, c.namespace)
		require.NoError(t, err)
		b, err := ref.Find(t.Context(), fleet)
		require.NoError(t, err, c.arg)
		require.Equal(t, c.want, b.Key.String(), c.arg)
	}
}

func TestPlain_RemovesTheDashOfABindingWithoutANamespace(t *testing.T) {
	args := []string{"explain", "-/reader", "-n", "shop", "--cluster=-/m1", "a/-/b"}
	require.Equal(t, []string{"explain", "/reader", "-n", "shop", "--cluster=-/m1", "a/-/b"}, Plain(args))
	require.Equal(t, "-/reader", args[1], "what was given stays")
}

func TestFind_NoOrTwoBindings_IsAnError(t *testing.T) {
	for _, arg := range []string{"cart", "a/b/c", "/", "cart/", "//cart"} {
		require.ErrorIs(t, fixtures.Err(Parse(arg, "")), ErrMalformed, arg)
	}
	ref := fixtures.Must(Parse("job/twin", "shop"))(t)
	_, err := ref.Find(t.Context(), fleet)
	require.ErrorContains(t, err, "job/twin -n shop could be shop/twin-a or shop/twin-b")
	ref = fixtures.Must(Parse("shop/none", ""))(t)
	_, err = ref.Find(t.Context(), fleet)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = ref.Find(t.Context(), away{})
	require.ErrorIs(t, err, karmada.ErrUnreachable)
	require.NotErrorIs(t, err, ErrNotFound, "the server did not answer")
}

func TestNames_HaveThePrefix(t *testing.T) {
	names := fixtures.Must(Names(t.Context(), fleet, "sh", "", 3))(t)
	require.Equal(t, []string{"shop/cart-deployment", "shop/edge-ingress", "shop/odd"}, names)
	names = fixtures.Must(Names(t.Context(), fleet, "deployment/", "shop", 10))(t)
	require.Equal(t, []string{"deployment/cart", "deployment/till"}, names)
	require.Error(t, fixtures.Err(Names(t.Context(), away{}, "", "", 1)))
}
