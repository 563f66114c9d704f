package fleetpacer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/tests/flowtest"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/workflow"
)

// FuzzPacerMessages: whatever signals and updates the FleetPacer gets, its books are
// right, nothing is granted while it is halted, and no permit can be used for longer than
// it was given.
func FuzzPacerMessages(f *testing.F) {
	for _, script := range []string{
		`signal grant-request {"cluster":"m1","failoverID":"e","want":5,"priority":3,"open":true,"every":10000000000}
signal permits-used {"used":[{"number":7,"binding":"shop/cart"},{"number":-7,"binding":"shop/cart"}]}
signal permits-used {"used":[{"number":9223372036854775807,"binding":"shop/cart"},{"number":7}]}
signal grant-request {"cluster":"m2","failoverID":"e2","want":2,"open":true,"every":-1}`,
		`update halt {"who":"jane","reason":"x"}
signal grant-request {"cluster":"m1","failoverID":"e","want":9223372036854775807,"open":true,"every":9223372036854775807}
update claim {"cluster":"m1","binding":"shop/cart"}
update resume {"who":"jane","reason":"x"}
update claim {"cluster":"m1","binding":"shop/cart"}`,
		`update set-rate {"who":"jane","reason":"x","rate":1000}
update set-rate {"who":"jane","reason":"x","rate":0}
update set-rate {"who":"jane","reason":"x","rate":-1}
update set-rate {"who":"jane","reason":"x","configured":true}
signal fleet-observed {"resourceVersion":"7"}`,
		`signal permits-used {"used":null}
signal grant-request {"cluster":"m1","failoverID":"e","want":-1,"open":true}
signal grant-request {"cluster":"m1","failoverID":"e","want":1,"open":true,"paused":true}
update claim {"cluster":"m1","binding":"shop/cart"}`,
		"signal grant-request {\nsignal permits-used 7\nupdate claim []\nupdate halt {}\nupdate set-rate \"x\"",
	} {
		f.Add(uint8(3), script)
		f.Add(uint8(0), script)
	}
	f.Fuzz(func(t *testing.T, size uint8, script string) {
		flowtest.Played(t, script, func(ctx workflow.Context) (func() error, error) {
			p := granting(ctx, int(size%8))
			granted := p.st.Schedule.Number
			return func() error {
				p.expire()
				p.forgetSilent()
				p.st.Pace, p.st.Assessed = p.ordered(pace.Pace{Tier: pace.TierNormal, Rate: 0.5}), p.now()
				p.grant()
				halted := p.st.Orders.Halted != nil && p.st.Schedule.Number != granted
				if granted = p.st.Schedule.Number; halted {
					return errors.New("it granted while an operator's halt stands")
				}
				return errors.Join(p.sane(), flowtest.CarriedWhole(&p.st))
			}, p.serve()
		})
	})
}

// granting is a pacer that was asked by m1, and has permits out for it unless it
// is of size 0.
func granting(ctx workflow.Context, size int) *pacer {
	now := workflow.Now(ctx)
	p := &pacer{ctx: ctx, log: workflow.GetLogger(ctx)}
	p.st = workflows.PacerState{
		Pace: pace.Pace{Tier: pace.TierNormal, Rate: 0.5}, Assessed: now, Schedule: pace.Schedule{Number: 7}, Audited: true,
		Config:   pace.Config{EvictionRate: 0.5, UnhealthyThreshold: 0.55, MigrationsPerHour: 3},
		Requests: map[string]workflows.Request{"m1": {PermitRequest: activities.PermitRequest{Cluster: "m1", FailoverID: "e", Want: 2, Open: true, Every: time.Minute}, Heard: now, Told: true}},
	}
	if size > 0 {
		p.st.Schedule.Number = 6
		p.st.Schedule.Grant(p.st.Pace, now, "m1", min(size, p.st.Schedule.Room(p.st.Pace, p.st.Config, now)))
	}
	p.trail = newTrail(p.ctx, p.instance, &p.st, &p.dirty)
	return p
}

// sane tells what must hold of a pacer whatever it was told.
func (p *pacer) sane() error {
	for cluster, r := range p.st.Requests {
		if cluster == "" || r.Cluster != cluster || r.FailoverID == "" || r.Want < 0 || !r.Open {
			return fmt.Errorf("the request of %q: %+v", cluster, r)
		}
	}
	rate := p.st.Orders.Rate
	return errors.Join(
		p.saneSchedule(),
		flowtest.Unless(rate == nil || *rate > 0 && *rate <= workflows.MaxRate, "a rate was ordered: %+v", p.st.Orders),
		flowtest.Unless(min(p.st.Granted, p.st.Written, p.st.Unused) >= 0, "granted %d, written %d, unused %d", p.st.Granted, p.st.Written, p.st.Unused),
		flowtest.Given(p.st.Orders.Halted, p.st.Orders.RateBy),
	)
}

// saneSchedule reports whether the permits that are out add up.
func (p *pacer) saneSchedule() error {
	now := p.now()
	var bad []error
	for _, g := range p.st.Schedule.Out {
		bad = append(bad,
			flowtest.Unless(g.Valid() && g.Used >= 0 && g.Used <= g.Size, "the books of a grant are wrong: %+v", g),
			flowtest.Unless(g.Ends().Sub(now) <= pace.PermitsEnd, "a permit outlasts its time: %+v", g))
	}
	return errors.Join(bad...)
}
