package workflows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// message is one signal or update as it reaches a workflow: nobody has looked at what it
// carries.
type message struct {
	update  bool
	name    string
	payload []byte
}

// messagesOf reads a script: "signal <name> <payload>" or "update <name> <payload>" a line.
func messagesOf(script string) []message {
	var out []message
	for line := range strings.Lines(script) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, payload, _ := strings.Cut(rest, " ")
		if kind == "signal" || kind == "update" {
			out = append(out, message{update: kind == "update", name: name, payload: []byte(payload)})
		}
		if len(out) == 20 {
			break
		}
	}
	return out
}

// deliver sends it as it stands: to make sense of it is for the SDK and the handler.
func (m message) deliver(t *testing.T, env *testsuite.TestWorkflowEnvironment, id int) {
	raw := converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: m.payload,
	})
	if m.update {
		env.UpdateWorkflow(m.name, strconv.Itoa(id), verdict{t, m}, raw)
		return
	}
	env.SignalWorkflow(m.name, raw)
}

// verdict hears what becomes of an update.
type verdict struct {
	t *testing.T
	message
}

// Accept holds every order that is taken to its having said who gives it, and why.
func (v verdict) Accept() {
	var o Order
	if err := json.Unmarshal(v.payload, &o); v.name != UpdateClaim && (err != nil || o.Malformed() != "") {
		v.t.Errorf("%s was taken, of nobody or for no reason: %s", v.name, v.payload)
	}
}

// Reject is what nonsense gets, by a validator that stands it.
func (v verdict) Reject(err error) {
	var panicked *temporal.PanicError
	if errors.As(err, &panicked) {
		v.t.Errorf("%s: %s: %v", v.name, v.payload, err)
	}
}

// Complete does not matter: who waits for a main loop waits in vain here.
func (v verdict) Complete(any, error) {}

// played hands a script to a workflow, a message a second, and lets it look after each.
func played(t *testing.T, script string, serve func(workflow.Context) (look func() error, err error)) {
	messages := messagesOf(script)
	env := patientEnv()
	env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(nil)
	for n, m := range messages {
		env.RegisterDelayedCallback(func() { m.deliver(t, env, n) }, time.Duration(n+1)*time.Second-time.Millisecond)
	}
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		look, err := serve(ctx)
		for range len(messages) + 1 {
			if err == nil {
				err = errors.Join(workflow.Sleep(ctx, time.Second), look())
			}
		}
		return err
	})
	require.NoError(t, env.GetWorkflowError(), "after:\n%s", script)
}

// carriedWhole tells whether a state that messages have made is carried to the next run as it is.
func carriedWhole[T any](st *T) error {
	before, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("it cannot be carried over: %w", err)
	}
	read := new(T)
	if err := json.Unmarshal(before, read); err != nil {
		return fmt.Errorf("the next run cannot read it: %w", err)
	}
	if after, err := json.Marshal(read); err != nil || !bytes.Equal(before, after) {
		return fmt.Errorf("the next run reads %s of %s (%w)", after, before, err)
	}
	return nil
}

// given tells whether an order that stands was given by somebody and for a reason.
func given(orders ...*Order) error {
	for _, o := range orders {
		if o != nil && o.Malformed() != "" {
			return fmt.Errorf("an order stands of which %s", o.Malformed())
		}
	}
	return nil
}

// fuzzPhases are the phases that a message can find a migration in.
var fuzzPhases = []phase.Migration{
	phase.MigrationChecking, phase.MigrationAwaitingFence, phase.MigrationEvicting, phase.MigrationPlacing,
	phase.MigrationAwaitingHealth, phase.MigrationReleasing, phase.MigrationPurging, phase.MigrationRestoring, phase.MigrationDone,
}

// FuzzMigrationMessages: whatever signals and updates a BindingMigration gets, it takes
// what makes sense, refuses or ignores the rest, and stays one that can go on.
func FuzzMigrationMessages(f *testing.F) {
	for n, script := range []string{
		`signal binding-observed {"key":{"namespace":"shop","name":"cart"},"uid":"u","resourceVersion":"8"}
signal recover {"attempt":2}
signal recover {"attempt":3,"cancelled":{"who":"jane","reason":"x"},"putBack":true}`,
		`signal migration-adopted {"failoverID":"e2","attempt":3}
signal migration-adopted {"failoverID":"e2","attempt":-1}
signal fenced {"fence":{"by":"Human","who":"jane","at":"2026-01-01T00:00:00Z"}}`,
		`signal migration-order {"who":"jane","reason":"x","verb":"put-back"}
signal migration-order {"verb":"pause"}
signal migration-order {"who":"jane","reason":"x","verb":"pause"}
signal migration-order {"who":"jane","reason":"x","verb":"resume"}`,
		`signal permit {"number":7,"earliest":"2026-03-01T03:00:00Z","latest":"2026-03-01T03:00:01Z"}
signal permit {"number":7,"earliest":"2026-03-01T03:00:00Z","latest":"2126-03-01T03:00:01Z"}`,
		`update cancel {"who":"jane","reason":"x","putBack":true}
update put-back {"who":"jane","reason":"x"}
update release {"who":"jane"}
update confirm-fenced {"who":"jane","reason":"dead","withoutState":true}`,
		"signal recover [\nupdate cancel null\nupdate release 7\nupdate none {}",
	} {
		for phase := range fuzzPhases {
			f.Add(uint8(phase+16*n), script) //nolint:gosec // small
		}
	}
	f.Fuzz(func(t *testing.T, shape uint8, script string) {
		played(t, script, func(ctx workflow.Context) (func() error, error) {
			m := newMigration(ctx, BindingMigrationParams{State: midway(ctx, shape)})
			return func() error {
				if wrong := malformedState(&m.st); wrong != "" {
					return errors.New(wrong)
				}
				return errors.Join(m.sane(workflow.Now(ctx)), carriedWhole(&m.st))
			}, m.serve(ctx)
		})
	})
}

// midway is a migration of shop/cart, in a phase and a purge mode by its shape.
func midway(ctx workflow.Context, shape uint8) MigrationState {
	now := workflow.Now(ctx)
	st := MigrationState{
		Ref:    activities.MoveRef{Cluster: "m1", Key: karmada.BindingKey{Namespace: "shop", Name: "cart"}, UID: "u", Purge: karmada.PurgeGracefully},
		Parent: "cluster-failover/m1", FailoverID: "e", Attempt: 2, Phase: fuzzPhases[int(shape%16)%len(fuzzPhases)], Began: now, Entered: now,
		Terms: activities.Terms{Mode: rules.ModeEnforce, Audit: true}, Outage: "False@2026-01-01T00:00:00Z", Held: true, HasDependents: true,
	}
	if shape&16 != 0 {
		st.Ref.Purge = karmada.PurgeDirectly
	}
	if st.Wrote = shape&32 == 0; st.Phase == phase.MigrationDone {
		st.Result = &record.Result{Key: st.Ref.Key, UID: "u", Outcome: phase.OutcomeMigrated}
	}
	return st
}

// sane tells what must hold of a migration whatever it was told.
func (m *migration) sane(now time.Time) error {
	about := karmada.BindingKey{Namespace: "shop", Name: "cart"}
	fence := m.st.Ref.Fence
	return errors.Join(
		unless(m.st.Attempt > 0 && m.st.FailoverID != "", "it reports to attempt %d of failover %q, which nobody hears", m.st.Attempt, m.st.FailoverID),
		unless(m.st.Ref.Key == about && m.st.Ref.Cluster == "m1", "it is about %s on %s", m.st.Ref.Key, m.st.Ref.Cluster),
		unless(m.st.Permit == pace.Permit{} || m.st.Permit.Valid(), "it goes by permit %+v", m.st.Permit),
		unless(fence == nil || fence.By != "" && !fence.At.After(now), "it goes by fence %+v at %s", fence, now),
		unless(m.st.Recover == nil || m.st.Recover.Attempt > 0, "it recovers in attempt %+v", m.st.Recover),
		unless(!m.over() || m.st.PutBack == nil, "it is over, and says that it was put back"),
		m.given(),
	)
}

// unless is what is wrong where something does not hold.
func unless(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func (m *migration) given() error {
	return given(m.st.Cancelled, m.st.Paused, m.st.PutBack, m.st.Drop)
}

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
		played(t, script, func(ctx workflow.Context) (func() error, error) {
			p := granting(ctx, int(size%8))
			granted := p.st.Schedule.Number
			return func() error {
				p.expire()
				p.forgetSilent()
				p.st.Pace, p.st.Assessed = p.ordered(pace.Pace{Tier: pace.TierNormal, Rate: 0.5}), p.now()
				p.grant()
				halted := p.st.Orders.Halted != nil && p.st.Schedule.Number != granted
				if granted = p.st.Schedule.Number; halted {
					return errors.New("it granted while a human's halt stands")
				}
				return errors.Join(p.sane(), carriedWhole(&p.st))
			}, p.serve()
		})
	})
}

// granting is a pacer that was asked by m1, and has permits out for it unless it
// is of size 0.
func granting(ctx workflow.Context, size int) *pacer {
	now := workflow.Now(ctx)
	p := &pacer{ctx: ctx, log: workflow.GetLogger(ctx)}
	p.st = PacerState{
		Pace: pace.Pace{Tier: pace.TierNormal, Rate: 0.5}, Assessed: now, Schedule: pace.Schedule{Number: 7}, Audited: true,
		Config:   pace.Config{EvictionRate: 0.5, UnhealthyThreshold: 0.55, MovesPerHour: 3},
		Requests: map[string]Request{"m1": {PermitRequest: PermitRequest{Cluster: "m1", FailoverID: "e", Want: 2, Open: true, Every: time.Minute}, Heard: now, Told: true}},
	}
	if size > 0 {
		p.st.Schedule.Number = 6
		p.st.Schedule.Grant(p.st.Pace, now, "m1", min(size, p.st.Schedule.Room(p.st.Pace, p.st.Config, now)))
	}
	p.audit()
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
		unless(rate == nil || *rate > 0 && *rate <= MaxRate, "a rate was ordered: %+v", p.st.Orders),
		unless(min(p.st.Granted, p.st.Written, p.st.Unused) >= 0, "granted %d, written %d, unused %d", p.st.Granted, p.st.Written, p.st.Unused),
		given(p.st.Orders.Halted, p.st.Orders.RateBy),
	)
}

// saneSchedule tells whether the permits that are out add up.
func (p *pacer) saneSchedule() error {
	now := p.now()
	var bad []error
	for _, g := range p.st.Schedule.Out {
		bad = append(bad,
			unless(g.Valid() && g.Used >= 0 && g.Used <= g.Size, "the books of a grant are wrong: %+v", g),
			unless(g.Ends().Sub(now) <= pace.PermitsEnd, "a permit outlasts its time: %+v", g))
	}
	return errors.Join(bad...)
}
