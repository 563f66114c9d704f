package queue_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	cart   = karmada.BindingKey{Namespace: "shop", Name: "cart"}
	reader = karmada.BindingKey{Name: "reader"} // of a ClusterResourceBinding
)

func TestAnOrderSaysWhomItConcerns(t *testing.T) {
	for text, c := range map[string]struct {
		wrong    string
		cart     bool
		reader   bool
		readable string
	}{
		`{}`: {wrong: "name its object"},
		`{"binding":{"namespace":"shop","name":"cart"}}`: {cart: true, readable: "shop/cart"},
		`{"binding":{"name":"reader"}}`:                  {reader: true, readable: "-/reader"},
		`{"binding":{"namespace":"shop"}}`:               {wrong: `"binding.name": missing`},
		`{"namespace":"shop"}`:                           {cart: true, readable: "namespace shop"},
		`{"namespace":"bank"}`:                           {readable: "namespace bank"},
		`{"all":true}`:                                   {cart: true, reader: true, readable: "all bindings"},
		`{"all":true,"namespace":"shop"}`:                {wrong: "exclude each other"},
		`{"namespace":"shop","binding":{"name":"x"}}`:    {wrong: "exclude each other"},
	} {
		var s queue.Scope
		require.NoError(t, json.Unmarshal([]byte(text), &s), text)
		if c.wrong != "" {
			require.Contains(t, s.Check(), c.wrong, text)
			continue
		}
		require.Empty(t, s.Check(), text)
		require.Equal(t, c.cart, s.Covers(cart), text)
		require.Equal(t, c.reader, s.Covers(reader), text)
		require.Equal(t, c.readable, s.String(), text)
	}
	require.False(t, queue.Scope{}.Covers(reader), "an order that lost its fields concerns nobody")
}

func TestTheNarrowestScopeHasTheWord(t *testing.T) {
	said := queue.Scoped[int]{{All: true}: 1, {Namespace: "shop"}: 2, queue.ScopeOf(cart): 3}
	of := func(key karmada.BindingKey) int { n, _ := said.Narrowest(key); return n }
	require.Equal(t, 3, of(cart))
	require.Equal(t, 2, of(karmada.BindingKey{Namespace: "shop", Name: "web"}))
	require.Equal(t, 1, of(reader))
	_, any := queue.Scoped[int](nil).Narrowest(cart)
	require.False(t, any)
}

// Rules: R4.4-12.
func TestASnoozeNeverBringsADueTimeForward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moment := rapid.Custom(func(t *rapid.T) time.Time { return fixtures.At(rapid.IntRange(-1000, 1000).Draw(t, "second")) })
		snoozes := queue.Scoped[time.Time]{}
		for _, scope := range []queue.Scope{{All: true}, {Namespace: "shop"}, queue.ScopeOf(cart), queue.ScopeOf(reader)} {
			if rapid.Bool().Draw(t, "given") {
				snoozes[scope] = moment.Draw(t, "until")
			}
		}
		due := moment.Draw(t, "due")
		got := queue.Snoozed(due, queue.Latest(snoozes, cart))
		require.False(t, got.Before(due), "never earlier")
		for scope, until := range snoozes {
			require.False(t, scope.Covers(cart) && got.Before(until), "never before a snooze that covers it ends")
		}
		if len(snoozes) == 0 {
			require.Equal(t, due, got)
		}
	})
}

// Rules: R4.4-12.
func TestASnoozeThatMakesNoSenseIsRefusedInWords(t *testing.T) {
	for text, want := range map[string]string{
		"":      `field "for": missing`,
		"soon":  "is no duration",
		"0s":    "never brings one forward",
		"-5m":   "never brings one forward",
		"0.5s":  "by a second or more",
		"721h":  "opt it out",
		"1h30m": "",
	} {
		d, wrong := queue.SnoozeFor(text)
		if want == "" {
			require.Empty(t, wrong)
			require.Equal(t, 90*time.Minute, d)
			continue
		}
		require.Contains(t, wrong, want, text)
	}
}
