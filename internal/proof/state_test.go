package proof_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// checkpoint is the rule of a Flink job: its last checkpoint becomes a label.
var checkpoint = []karmada.StateRule{{Label: "example.com/checkpoint", Path: "{.jobStatus.checkpoint}"}}

// yields reads any status as one value for every label.
func yields(value string) func(json.RawMessage, []karmada.StateRule) (map[string]string, error) {
	return func(_ json.RawMessage, rules []karmada.StateRule) (map[string]string, error) {
		out := map[string]string{}
		for _, r := range rules {
			out[r.Label] = value
		}
		return out, nil
	}
}

// statefully is a Directly binding on m1, which answers and has reported checkpoint 17.
func statefully(edit ...func(*proof.StateInput)) proof.StateInput {
	in := proof.StateInput{
		Rules: checkpoint, Purge: karmada.PurgeDirectly, Source: readySince(corev1.ConditionTrue, diedAt), Targets: 1,
		Status: json.RawMessage(`{"jobStatus":{"checkpoint":17}}`), Read: yields("17"),
	}
	for _, e := range edit {
		e(&in)
	}
	return in
}

func silent(in *proof.StateInput) { in.Source = readySince(corev1.ConditionFalse, diedAt) }

func neverReported(in *proof.StateInput) { in.Status = nil }

func missingOK(in *proof.StateInput) { in.MissingOK = true }

func gracefully(in *proof.StateInput) { in.Purge = karmada.PurgeGracefully }

// vouched: an operator vouches about the outage that began at a moment.
func vouched(began time.Time, without bool) func(*proof.StateInput) {
	return func(in *proof.StateInput) {
		in.Fence = &proof.Fence{
			By: proof.FenceByOperator, Who: "jane", Message: "power is off", At: diedAt.Add(time.Minute), WithoutState: without,
			Outage: readySince(corev1.ConditionFalse, began).Outage(),
		}
	}
}

func reads(value string) func(*proof.StateInput) {
	return func(in *proof.StateInput) { in.Read = yields(value) }
}

func preserved(r ...karmada.StateRule) func(*proof.StateInput) {
	return func(in *proof.StateInput) { in.Rules = r }
}

// What users built by hand: the new copy is told where the old one stood. Where that
// cannot be, they must hear of it before the copy moves, not after.
//
// Rules: R4.8-10, R4.11-1, R4.11-3, R4.11-4, R4.11-5.
func TestKarmada4969WhatGoesAlongIsDecidedBeforeTheWrite(t *testing.T) {
	carried := map[string]string{"example.com/checkpoint": "17"}
	for name, tc := range map[string]struct {
		in      proof.StateInput
		labels  map[string]string
		ok      bool
		reason  reason.Reason
		message string
	}{
		"no rules, nothing to do":        {in: statefully(preserved(), gracefully, silent), ok: true},
		"a source that answers":          {in: statefully(), labels: carried, ok: true},
		"an empty value is a value":      {in: statefully(reads("")), labels: map[string]string{"example.com/checkpoint": ""}, ok: true},
		"a silent source":                {in: statefully(silent), ok: false, reason: reason.StateNeedsSource, message: "once it has deleted the old copy"},
		"proven dead does not help":      {in: statefully(silent, vouched(diedAt, false)), ok: false, reason: reason.StateNeedsSource, message: "waits for m1"},
		"nor does the setting":           {in: statefully(silent, missingOK), ok: false, reason: reason.StateNeedsSource, message: "waits for m1"},
		"an operator goes on without":    {in: statefully(silent, vouched(diedAt, true)), labels: carried, ok: true, message: "without its state: operator jane"},
		"a word about an earlier outage": {in: statefully(silent, vouched(diedAt.Add(-time.Hour), true)), ok: false, reason: reason.StateNeedsSource},
		"a word about a live source":     {in: statefully(gracefully, vouched(diedAt, true)), ok: false, reason: reason.StateNotCarried, message: "not Gracefully"},
		"a plug-in cannot waive state": {in: statefully(silent, func(in *proof.StateInput) {
			in.Fence = &proof.Fence{By: "bmc", At: diedAt, Outage: in.Source.Outage(), WithoutState: true}
		}), ok: false, reason: reason.StateNeedsSource},

		"never collected":                          {in: statefully(neverReported), ok: false, reason: reason.StateNotCollected, message: "never collected"},
		"null is never collected, too":             {in: statefully(func(in *proof.StateInput) { in.Status = json.RawMessage("null") }), ok: false, reason: reason.StateNotCollected},
		"never collected, where that is fine":      {in: statefully(neverReported, missingOK), ok: true, message: "without its state: its status on m1"},
		"the same on a silent source":              {in: statefully(neverReported, missingOK, silent), ok: true, message: "never collected"},
		"never collected, and an operator goes on": {in: statefully(neverReported, silent, vouched(diedAt, true)), ok: true, message: "operator jane"},
		"Gracefully: it would be lost unseen":      {in: statefully(gracefully), ok: false, reason: reason.StateNotCarried, message: "only in purge mode Directly"},
		"Gracefully, where that is fine":           {in: statefully(gracefully, missingOK), labels: carried, ok: true, message: "without its state"},
		"Gracefully, and an operator goes on":      {in: statefully(gracefully, silent, vouched(diedAt, true)), labels: carried, ok: true, message: "operator jane"},
		"two targets":                              {in: statefully(func(in *proof.StateInput) { in.Targets = 2 }), ok: false, reason: reason.StateNotCarried, message: "runs on 2"},
		"a path that fails": {in: statefully(func(in *proof.StateInput) {
			in.Read = func(json.RawMessage, []karmada.StateRule) (map[string]string, error) {
				return nil, errors.New("jobStatus is not found")
			}
		}), ok: false, reason: reason.StateUnreadable, message: "jobStatus is not found"},
		"a path that fails, whatever is fine":   {in: statefully(missingOK, reads("a b")), ok: false, reason: reason.StateUnreadable, message: `"a b" is no value for label example.com/checkpoint`},
		"a value that no label holds":           {in: statefully(reads(strings.Repeat("x", 64))), ok: false, reason: reason.StateUnreadable, message: "63"},
		"a label that is none":                  {in: statefully(preserved(karmada.StateRule{Label: "a b", Path: "{.x}"})), ok: false, reason: reason.StateUnreadable, message: `aliasLabelName "a b"`},
		"a rule without a label, not collected": {in: statefully(neverReported, missingOK, preserved(karmada.StateRule{Path: "{.x}"})), ok: false, reason: reason.StateUnreadable, message: "aliasLabelName"},
		"a rule without a path":                 {in: statefully(preserved(karmada.StateRule{Label: "a", Path: " "})), ok: false, reason: reason.StateUnreadable, message: "no jsonPath"},
		"two rules for one label":               {in: statefully(preserved(append(checkpoint, checkpoint...)...)), ok: false, reason: reason.StateUnreadable, message: "two rules"},
	} {
		t.Run(name, func(t *testing.T) {
			labels, v := proof.PlanState(tc.in)
			require.Equal(t, tc.ok, v.OK, v.Message)
			require.Equal(t, tc.reason, v.Reason, v.Message)
			require.Contains(t, v.Message, tc.message)
			require.Equal(t, tc.labels, labels)
		})
	}
}

// A Directly hold that carries state goes only when its old copy is deleted, not merely
// dead: dropped before, the new copy would begin without its state.
//
// Rules: R4.8-10, R4.11-2.
func TestKarmada5788StateWaitsForTheSourceThatHandsItOn(t *testing.T) {
	alive, dead := readySince(corev1.ConditionTrue, diedAt), readySince(corev1.ConditionFalse, diedAt)
	word := func(without bool) *proof.Fence {
		return &proof.Fence{By: proof.FenceByOperator, Who: "jane", Message: "power is off", At: diedAt, Outage: dead.Outage(), WithoutState: without}
	}
	for name, tc := range map[string]struct {
		copy      proof.OldCopy
		ok        bool
		reason    reason.Reason
		healthToo bool
	}{
		"deleted: the new copy has begun":      {copy: proof.OldCopy{Source: alive, Gone: true, Carries: true}, ok: true, reason: reason.Purged, healthToo: true},
		"deleted, and then the source died":    {copy: proof.OldCopy{Source: dead, Gone: true, Carries: true}, ok: true, reason: reason.Purged, healthToo: true},
		"being deleted":                        {copy: proof.OldCopy{Source: alive, Carries: true}, ok: false, reason: reason.OldCopyGoing, healthToo: false},
		"proven dead: its state would be lost": {copy: proof.OldCopy{Source: dead, Fence: word(false), Carries: true}, ok: false, reason: reason.StateNeedsSource, healthToo: false},
		"nobody vouches":                       {copy: proof.OldCopy{Source: dead, Carries: true}, ok: false, reason: reason.StateNeedsSource, healthToo: false},
		"an operator goes on without":          {copy: proof.OldCopy{Source: dead, Fence: word(true), Carries: true}, ok: true, reason: reason.Fenced, healthToo: false},
		"nothing goes along":                   {copy: proof.OldCopy{Source: dead, Fence: word(false)}, ok: true, reason: reason.Fenced, healthToo: false},
		"deleted, and nothing goes along":      {copy: proof.OldCopy{Source: alive, Gone: true}, ok: true, reason: reason.Purged, healthToo: false},
	} {
		t.Run(name, func(t *testing.T) {
			v := tc.copy.Dead()
			require.Equal(t, tc.ok, v.OK, v.Message)
			require.Equal(t, tc.reason, v.Reason)
			require.Equal(t, tc.healthToo, tc.copy.HealthToo())
			require.Equal(t, !tc.ok, v.Reason.AboutOldCopy())
		})
	}
}

// Rules: R4.7-38.
func TestAHoldIsReleasedUnprovenOnlyWhereAnotherCopyCanRun(t *testing.T) {
	placed := func(edit func(*karmada.Binding)) *karmada.Binding {
		b := duplicated("m2", "m3")
		b.Generation, b.Status.ObservedGeneration = 2, 2
		b.Status.Scheduled = &karmada.Condition{Type: "Scheduled", Status: corev1.ConditionTrue}
		edit(b)
		return b
	}
	for name, tc := range map[string]struct {
		binding *karmada.Binding
		suspect map[string]bool
		want    reason.Reason
		ok      bool
	}{
		"placed":                         {binding: placed(func(*karmada.Binding) {}), want: reason.Unproven, ok: true},
		"one of two targets is fit":      {binding: placed(func(*karmada.Binding) {}), suspect: map[string]bool{"m2": true}, want: reason.Unproven, ok: true},
		"every target is failing itself": {binding: placed(func(*karmada.Binding) {}), suspect: map[string]bool{"m2": true, "m3": true}, want: reason.TargetNotReady, ok: false},
		"nowhere":                        {binding: placed(func(b *karmada.Binding) { b.Clusters = nil }), want: reason.NotPlaced, ok: false},
		"not dispatched to one target":   {binding: placed(func(b *karmada.Binding) { b.SuspendedOn = []string{"m3"} }), want: reason.DispatchingSuspended, ok: false},
		"not seen by the scheduler":      {binding: placed(func(b *karmada.Binding) { b.Generation++ }), want: reason.NotPlaced, ok: false},
	} {
		t.Run(name, func(t *testing.T) {
			v := proof.ReleasableUnproven(tc.binding, "m1", tc.suspect)
			require.Equal(t, tc.ok, v.OK, v.Message)
			require.Equal(t, tc.want, v.Reason, v.Message)
		})
	}
}
