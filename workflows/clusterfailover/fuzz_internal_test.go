package clusterfailover

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// fuzzFailoverPhases are the phases that a message can find a failover in.
var fuzzFailoverPhases = []phase.Failover{
	phase.FailoverSuspected, phase.FailoverConfirmed, phase.FailoverEvacuating, phase.FailoverEvacuated,
	phase.FailoverRecovering, phase.FailoverSettling, phase.FailoverStopped,
}

// failoverScripts are what FuzzFailoverMessages begins with: every message in a form that
// is taken, and in some that are not.
var failoverScripts = []string{
	`signal cluster-observed {"fact":{"cluster":"m1","uid":"u","resourceVersion":"8","conditions":[{"type":"Ready","status":"False"}]}}
signal cluster-observed {"fact":{"cluster":"m2","uid":"u"}}
signal bindings-changed {"bindings":[{"key":{"namespace":"shop","name":"cart"},"uid":"u","deleted":true},{"key":{"name":"role"}}]}
signal adopt {"cluster":"m1","bindings":[{"key":{"name":"x"}}],"by":{"who":"jane","reason":"x"}}
signal cluster-recovered {"who":"jane"}`,
	`signal grant {"number":7,"size":2,"expires":10000000000,"failoverID":"e"}
signal grant {"number":7,"size":2,"expires":10000000000}
signal grant {"number":8,"size":-2,"expires":9223372036854775807}
signal pace-changed {"pace":{"tier":"halted","rate":0,"total":3,"faulty":["m1"]}}
signal pace-changed {"pace":{"tier":"normal","rate":-1}}
signal pace-changed {}`,
	`signal migration-reports {"reports":[{"failoverID":"e","attempt":1,"key":{"namespace":"shop","name":"cart"},"uid":"u","phase":"Placing","placed":true}]}
signal migration-reports {"reports":[{"failoverID":"e","attempt":1,"key":{"namespace":"shop","name":"cart"},"phase":"Done","result":{"key":{"namespace":"shop","name":"cart"},"outcome":"Migrated","wrote":true}}]}
signal migration-reports {"reports":[{"failoverID":"e","attempt":1,"key":{"namespace":"shop","name":"web"},"phase":"Done","result":{"key":{"namespace":"shop","name":"web"},"outcome":"Blocked","reason":"LeaseLost"}}]}
signal migration-reports {"reports":[{"failoverID":"old","attempt":9,"key":{"name":"x"},"wantsPermit":true,"acts":[{"id":"x","kind":"?"}]}]}`,
	`signal migration-reports {"reports":[{"failoverID":"e","attempt":1,"key":{"namespace":"shop","name":"cart"},"result":{"key":{"namespace":"shop","name":"mail"},"outcome":"Migrated"}}]}
signal migration-reports {"reports":[{"failoverID":"e","attempt":1,"key":{"namespace":"shop","name":"cart"},"result":{}}]}`,
	`signal pause {}
signal pause {"who":"jane","reason":"x","namespace":"shop"}
update pause {"who":"jane","reason":"x","binding":{"namespace":"shop","name":"mail"}}
update resume {"who":"jane","reason":"x","binding":{"namespace":"shop","name":"mail"}}
update resume {"who":"jane","reason":"x","all":true}
update resume {"who":"jane","reason":"x","enforce":true}`,
	`update snooze {"who":"jane","reason":"x","namespace":"shop","for":"30m"}
update snooze {"who":"jane","reason":"x","all":true,"for":"9999999h"}
update prioritise {"who":"jane","reason":"x","all":true,"priority":2147483647}
update prioritise {"who":"jane","reason":"x","all":true}
update approve {"who":"jane","reason":"x","namespace":"shop"}`,
	`update skip {"who":"jane","reason":"x","binding":{"namespace":"shop","name":"mail"}}
update cancel {"who":"jane","reason":"x","binding":{"namespace":"shop","name":"cart"},"putBack":true}
update put-back {"who":"jane","reason":"x","binding":{"namespace":"shop","name":"web"}}
update release {"who":"jane","reason":"x","binding":{"name":"-"}}
update confirm-fenced {"who":"jane","reason":"x"}
update cancel {"who":"jane","reason":"x"}`,
	`update drain {"who":"jane","reason":"x","selector":"a in (b","rate":-1}
update undrain {"who":"jane","reason":"x"}
update taint {"who":"jane","reason":"x","taint":"down=a:NoExecute"}
update taint {"who":"jane","reason":"x","taint":"down:NoSchedule"}
update untaint {"who":"jane","reason":"x"}
update untaint {"reason":"x","taint":"::"}`,
	"signal cluster-observed [\nsignal grant null\nupdate snooze 7\nupdate cancel \"x\"\nupdate none {}\nupdate pause {",
}

// FuzzFailoverMessages: whatever signals and updates a ClusterFailover gets, it takes what
// makes sense, refuses or ignores the rest, and what is about one binding changes nothing
// of another.
func FuzzFailoverMessages(f *testing.F) {
	for _, script := range failoverScripts {
		for phase := range fuzzFailoverPhases {
			f.Add(uint8(phase), script) //nolint:gosec // small
		}
		f.Add(uint8(2+16), script)
	}
	f.Fuzz(func(t *testing.T, shape uint8, script string) {
		about := reportedOn(script)
		flowtest.Played(t, script, func(ctx workflow.Context) (func() error, error) {
			f := underWay(ctx, shape)
			before := len(f.st.Results)
			return func() error {
				for _, r := range f.st.Results[min(before, len(f.st.Results)):] {
					if !about[r.Key] || r.Outcome == "" {
						return fmt.Errorf("%s came to %q, and nobody reported that", r.Key, r.Outcome)
					}
				}
				_ = f.st.Status(f.instance, f.cluster, f.now())
				return errors.Join(f.sane(), f.saneOrders(), flowtest.CarriedWhole(&f.st))
			}, f.serve(ctx)
		})
	})
}

// reportedOn are the bindings of which a script has a migration report.
func reportedOn(script string) map[karmada.BindingKey]bool {
	about := map[karmada.BindingKey]bool{}
	for _, m := range flowtest.MessagesOf(script) {
		var told workflows.MigrationReports
		if m.Name != workflows.SignalMigrationReports || json.Unmarshal(m.Payload, &told) != nil {
			continue
		}
		for _, r := range told.Reports {
			about[r.Key] = true
		}
	}
	return about
}

// underWay is a failover of m1 with some bindings that wait, two that move, and some that
// have ended, in a phase and a mode by its shape.
func underWay(ctx workflow.Context, shape uint8) *failover {
	f := crowded(ctx, 8)
	now := f.now()
	f.cluster = "m1"
	f.st.UID, f.st.Listed, f.st.Seen = "u", now, "7"
	f.st.Phase = fuzzFailoverPhases[int(shape%16)%len(fuzzFailoverPhases)]
	f.st.Terms = activities.Terms{Mode: rules.ModeEnforce, InFlight: 300, Waiting: 1500, FreezeWhenHalted: true, Audit: true}
	if shape&16 != 0 {
		f.st.Terms.Mode = rules.ModeObserve
	}
	if f.st.Phase == phase.FailoverStopped {
		f.st.Stopped = &workflows.Order{Who: "jane", Reason: "a drill"}
	}
	f.st.Turns = rules.Turns{karmada.ConditionReady: "False@2026-01-01T00:00:00Z"}
	f.st.Cluster.Ready = "False"
	f.st.Pace = pace.Pace{Tier: pace.TierNormal, Rate: 0.5}
	for name, current := range map[string]phase.Migration{"cart": phase.MigrationEvicting, "web": phase.MigrationAwaitingHealth} {
		key := karmada.BindingKey{Namespace: "shop", Name: name}
		f.st.Migrations[key.String()] = workflows.Migration{Key: key, UID: "u", Attempt: 1, Phase: current, Placed: current == phase.MigrationAwaitingHealth, Since: now}
	}
	f.st.Items = append(f.st.Items, queue.Item{
		Key: karmada.BindingKey{Namespace: "shop", Name: "mail"}, UID: "u", State: queue.Due, Reason: reason.Waiting, Affected: true,
	})
	return f
}

// sane tells what must hold of a failover whatever it was told.
func (f *failover) sane() error {
	if len(f.st.Facts) > maxFacts {
		return fmt.Errorf("it keeps %d facts", len(f.st.Facts))
	}
	for _, fact := range f.st.Facts {
		if fact.Cluster != f.cluster || fact.UID == "" || fact.Oversized() {
			return fmt.Errorf("it keeps a fact that is none: %+v", fact)
		}
	}
	numbers := map[int64]bool{}
	for _, g := range f.st.Grants {
		if g.Size <= 0 || !g.Valid() || numbers[g.Number] {
			return fmt.Errorf("it holds grants %+v", f.st.Grants)
		}
		numbers[g.Number] = true
	}
	for key, m := range f.st.Migrations {
		if m.Key.String() != key {
			return fmt.Errorf("the move of %s is about %s", key, m.Key)
		}
	}
	return f.saneResults()
}

// saneResults reports whether every binding has one outcome, and is counted for it.
func (f *failover) saneResults() error {
	counts, once := map[string]int{}, map[string]bool{}
	for _, r := range f.st.Results {
		who := r.Key.String() + "/" + string(r.UID)
		if once[who] {
			return fmt.Errorf("%s has two outcomes", r.Key)
		}
		once[who] = true
		counts[string(r.Outcome)]++
	}
	for outcome, n := range f.st.Counts {
		if folded := f.st.Folded[outcome].Len(); n != counts[outcome]+folded {
			return fmt.Errorf("%d are counted as %s, and %d are", n, outcome, counts[outcome]+folded)
		}
	}
	return nil
}

// saneOrders reports whether every order that stands could have been given.
func (f *failover) saneOrders() error {
	now := f.now()
	most := max(len(f.st.Snoozes), len(f.st.Pauses), len(f.st.Priorities), len(f.st.Approvals))
	long := func(z workflows.Snooze) bool { return z.Check() != "" || z.Until.Sub(now) > queue.MaxSnooze }
	void := func(w confirmation) bool {
		return w.fence.Outage == "" || w.fence.Who == "" || w.fence.At.After(now.Add(time.Second))
	}
	orders := []*workflows.Order{f.orders.cancel, f.orders.resume}
	for _, ask := range f.asks {
		orders = append(orders, &ask.by)
	}
	return errors.Join(
		flowtest.Unless(most <= maxStanding, "it keeps %d standing orders of a kind", most),
		flowtest.Unless(!slices.ContainsFunc(f.st.Snoozes, long), "snoozed: %+v", f.st.Snoozes),
		flowtest.Unless(!slices.ContainsFunc(f.st.Pauses, func(p workflows.ScopedPause) bool { return p.Check() != "" || p.All }), "paused: %+v", f.st.Pauses),
		flowtest.Unless(!slices.ContainsFunc(f.st.Priorities, func(p workflows.Priority) bool { return p.Check() != "" }), "prioritised: %+v", f.st.Priorities),
		flowtest.Unless(!slices.ContainsFunc(f.orders.confirmations, void), "it goes by the words %+v", f.orders.confirmations),
		flowtest.Given(orders...),
	)
}
