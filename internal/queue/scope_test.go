package queue_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/placement"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
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
		got := pace.Later(due, queue.Latest(snoozes, cart))
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

func above[T any](n T) *T { return &n }

// Rules: R4.6-31.
func TestExpireApproval(t *testing.T) {
	asked := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		why    reason.Reason
		asked  time.Time
		after  time.Duration
		askFor time.Duration
		want   reason.Reason
	}{
		"in time":         {why: reason.AwaitingApproval, asked: asked, after: time.Hour - 1, askFor: time.Hour, want: reason.AwaitingApproval},
		"too late":        {why: reason.AwaitingApproval, asked: asked, after: time.Hour, askFor: time.Hour, want: reason.ApprovalExpired},
		"for ever":        {why: reason.AwaitingApproval, asked: asked, after: 1000 * time.Hour, want: reason.AwaitingApproval},
		"answered":        {why: reason.AwaitingApproval, after: time.Hour, askFor: time.Hour, want: reason.AwaitingApproval},
		"blocked by more": {why: reason.NoCapacity, asked: asked, after: time.Hour, askFor: time.Hour, want: reason.NoCapacity},
	} {
		t.Run(name, func(t *testing.T) {
			v, over := queue.ExpireApproval(reason.Verdict{Reason: c.why, Message: "capacityDeficit"}, c.asked, asked.Add(c.after), c.askFor)
			require.Equal(t, c.want, v.Reason)
			require.Equal(t, c.want == reason.ApprovalExpired, over)
			if over {
				require.Equal(t, "it was not approved within 1h0m0s: capacityDeficit", v.Message)
			}
		})
	}
}

// Rules: R4.6-21.
func TestApprovalRulesAskForWhatTheySayAndNothingElse(t *testing.T) {
	plain := fixtures.Duplicated("m1")
	labelled := fixtures.Duplicated("m1")
	labelled.WorkloadLabels = map[string]string{"tier": "stateful"}
	unread := fixtures.Duplicated("m1")
	plain.WorkloadLabels = map[string]string{}
	cluster := fixtures.Duplicated("m1")
	cluster.Key = karmada.BindingKey{Name: "reader"}
	wide := &placement.Extent{Failing: []string{"m1", "m2", "m3"}, Moving: 60, All: 100, Short: "cpu"}
	narrow := &placement.Extent{Failing: []string{"m1"}, Moving: 10, All: 100}
	half := &placement.Extent{Failing: []string{"m1", "m2"}, Moving: 50, All: 100}
	for name, c := range map[string]struct {
		rules queue.ApprovalRules
		in    queue.AskInput
		want  []queue.ApprovalRule
		words string
	}{
		"nothing configured": {in: queue.AskInput{Binding: labelled, Purge: karmada.PurgeDirectly, Extent: wide}},
		"more clusters":      {rules: queue.ApprovalRules{ClustersAbove: above(2)}, in: queue.AskInput{Binding: plain, Extent: wide}, want: []queue.ApprovalRule{queue.AskClusters}, words: "3 clusters failing at once (m1, m2, m3), more than 2"},
		"as many clusters":   {rules: queue.ApprovalRules{ClustersAbove: above(2)}, in: queue.AskInput{Binding: plain, Extent: half}},
		"any cluster at all": {rules: queue.ApprovalRules{ClustersAbove: above(0)}, in: queue.AskInput{Binding: plain, Extent: narrow}, want: []queue.ApprovalRule{queue.AskClusters}, words: "1 cluster failing"},
		"nobody measured it": {rules: queue.ApprovalRules{ClustersAbove: above(2), ReplicasAbove: above(99.0), CapacityDeficit: true}, in: queue.AskInput{Binding: plain}, want: []queue.ApprovalRule{queue.AskClusters, queue.AskReplicas, queue.AskCapacity}, words: "is not known"},
		"more replicas":      {rules: queue.ApprovalRules{ReplicasAbove: above(50.0)}, in: queue.AskInput{Binding: plain, Extent: wide}, want: []queue.ApprovalRule{queue.AskReplicas}, words: "60 % of the fleet's replicas would move (60 of 100), more than 50 %"},
		"as many replicas":   {rules: queue.ApprovalRules{ReplicasAbove: above(50.0)}, in: queue.AskInput{Binding: plain, Extent: half}},
		"a fleet without replicas": {
			rules: queue.ApprovalRules{ReplicasAbove: above(0.0)}, in: queue.AskInput{Binding: plain, Extent: &placement.Extent{}},
		},
		"more replicas before, in this attempt": {
			rules: queue.ApprovalRules{ReplicasAbove: above(50.0)},
			in:    queue.AskInput{Binding: plain, Extent: narrow, Standing: []queue.ApprovalRule{queue.AskReplicas}},
			want:  []queue.ApprovalRule{queue.AskReplicas},
			words: "were to move in this attempt",
		},
		"a rule that is not configured any more": {
			rules: queue.ApprovalRules{Directly: true}, in: queue.AskInput{Binding: plain, Standing: []queue.ApprovalRule{queue.AskReplicas}},
		},
		"too little room":           {rules: queue.ApprovalRules{CapacityDeficit: true}, in: queue.AskInput{Binding: plain, Extent: wide}, want: []queue.ApprovalRule{queue.AskCapacity}, words: "not enough cpu"},
		"room enough":               {rules: queue.ApprovalRules{CapacityDeficit: true}, in: queue.AskInput{Binding: plain, Extent: narrow}},
		"Directly":                  {rules: queue.ApprovalRules{Directly: true}, in: queue.AskInput{Binding: plain, Purge: karmada.PurgeDirectly}, want: []queue.ApprovalRule{queue.AskDirectly}, words: "Directly"},
		"Gracefully":                {rules: queue.ApprovalRules{Directly: true}, in: queue.AskInput{Binding: plain, Purge: karmada.PurgeGracefully}},
		"its namespace":             {rules: queue.ApprovalRules{Namespaces: []string{"bank", "shop"}}, in: queue.AskInput{Binding: plain}, want: []queue.ApprovalRule{queue.AskNamespace}, words: "its namespace asks"},
		"another namespace":         {rules: queue.ApprovalRules{Namespaces: []string{"bank"}}, in: queue.AskInput{Binding: plain}},
		"without a namespace":       {rules: queue.ApprovalRules{Namespaces: []string{"bank"}}, in: queue.AskInput{Binding: cluster}},
		"its labels":                {rules: queue.ApprovalRules{Selector: "tier=stateful"}, in: queue.AskInput{Binding: labelled}, want: []queue.ApprovalRule{queue.AskSelector}, words: "tier=stateful"},
		"other labels":              {rules: queue.ApprovalRules{Selector: "tier=stateful"}, in: queue.AskInput{Binding: plain}},
		"labels that are not known": {rules: queue.ApprovalRules{Selector: "tier=stateful"}, in: queue.AskInput{Binding: unread}, want: []queue.ApprovalRule{queue.AskSelector}, words: "not known"},
		"an unreadable selector":    {rules: queue.ApprovalRules{Selector: "tier in"}, in: queue.AskInput{Binding: plain}, want: []queue.ApprovalRule{queue.AskSelector}, words: "tier in"},
		"several at once": {
			rules: queue.ApprovalRules{ClustersAbove: above(1), Directly: true, Selector: "tier"},
			in:    queue.AskInput{Binding: labelled, Purge: karmada.PurgeDirectly, Extent: wide},
			want:  []queue.ApprovalRule{queue.AskClusters, queue.AskDirectly, queue.AskSelector},
			words: "; ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.rules.Judge(c.in)
			require.Equal(t, c.want, got.Rules)
			require.Contains(t, got.Message, c.words)
			require.Equal(t, c.want == nil, got.Automatic())
		})
	}
}

// Rules: R4.6-22.
func TestAnApprovalHoldsForOneAttempt(t *testing.T) {
	yes := &queue.Approval{Who: "jane", Attempt: 2}
	require.True(t, yes.Holds(2))
	require.False(t, yes.Holds(1))
	require.False(t, yes.Holds(3))
	require.False(t, (*queue.Approval)(nil).Holds(0), "no word is no yes")
	require.False(t, (&queue.Approval{}).Holds(0), "nor is one of nobody")
}
