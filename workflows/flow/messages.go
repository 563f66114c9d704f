package flow

import (
	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Messages are the signals, updates and queries of a workflow, in one table.
type Messages struct {
	Queries []Query
	Updates []Update
	Signals []Signal

	channels []workflow.ReceiveChannel // of Signals
}

// Query is a question that a workflow answers; Answer is a function as the SDK takes it.
type Query struct {
	Name, Description string
	Answer            any
}

// Update is an order that a workflow answers; Answer and Refuse are functions as the SDK takes them.
type Update struct {
	Name, Description string
	Refuse, Answer    any
}

// Ordered is an update that is answered at once. Refuse says why it makes no sense as things stand.
func Ordered[T any](name, description string, refuse func(T) error, answer func(T) string) Update {
	return Update{Name: name, Description: description, Refuse: refuse, Answer: func(_ workflow.Context, order T) (string, error) {
		return answer(order), nil
	}}
}

// Awaited is an update whose answer takes a while: it comes from the main loop.
func Awaited[T any](name, description string, refuse func(T) error, answer func(workflow.Context, T) (string, error)) Update {
	return Update{Name: name, Description: description, Refuse: refuse, Answer: answer}
}

// Signal is one kind of signal that a workflow takes: one message of a channel, false when none is left.
type Signal struct {
	name string
	take func(workflow.ReceiveChannel) bool
}

// OnSignal hands every signal of a name to take, a fresh message each time. It never blocks: of a
// message that is not even of its kind the SDK says nothing, and a blocking receive would wait for
// the next one while every other channel starves.
func OnSignal[T any](name string, take func(T)) Signal {
	return Signal{name: name, take: func(c workflow.ReceiveChannel) bool {
		var message T
		received := c.ReceiveAsync(&message)
		if received {
			take(message)
		}
		return received
	}}
}

// OnReports hands every report of a migration to take, one after the other.
func OnReports(take func(activities.MigrationReport)) Signal {
	return OnSignal(workflows.SignalMigrationReports, func(m workflows.MigrationReports) {
		for _, r := range m.Reports {
			take(r)
		}
	})
}

// Serve registers the table, and has a coroutine of live take signals as they come.
func (m *Messages) Serve(ctx, live workflow.Context) error {
	for _, q := range m.Queries {
		if err := workflow.SetQueryHandlerWithOptions(ctx, q.Name, q.Answer, workflow.QueryHandlerOptions{Description: q.Description}); err != nil {
			return err
		}
	}
	for _, u := range m.Updates {
		options := workflow.UpdateHandlerOptions{Validator: u.Refuse, Description: u.Description}
		if err := workflow.SetUpdateHandlerWithOptions(ctx, u.Name, u.Answer, options); err != nil {
			return err
		}
	}
	for _, s := range m.Signals {
		m.channels = append(m.channels, workflow.GetSignalChannel(ctx, s.name))
	}
	workflow.Go(live, func(ctx workflow.Context) {
		s := workflow.NewSelector(ctx)
		for n, signal := range m.Signals {
			s.AddReceive(m.channels[n], func(c workflow.ReceiveChannel, _ bool) { signal.take(c) })
		}
		for ctx.Err() == nil {
			s.Select(ctx)
		}
	})
	return nil
}

// Yield lets every other coroutine run that can. Before a run continues as new, the coroutine of Serve has to: a signal
// that arrived together with what the main coroutine waited for has left its channel, so Drain does not find it.
func Yield(ctx workflow.Context) {
	ran := false
	workflow.Go(ctx, func(workflow.Context) { ran = true }) // the last one in order
	_ = workflow.Await(ctx, func() bool { return ran })
}

// Drain takes the signals that are left before a run closes, so that nothing is lost.
func (m *Messages) Drain() {
	for n, signal := range m.Signals {
		for signal.take(m.channels[n]) {
		}
	}
}

// Refused is the answer to an order that cannot be carried out.
func Refused(why string) error {
	return temporal.NewApplicationError(why, "Refused")
}

// RefuseOrder is the validator of every update that takes an Order.
func RefuseOrder(o workflows.Order) error {
	if bad := o.Malformed(); bad != "" {
		return temporal.NewApplicationError(bad, "InvalidOrder")
	}
	return nil
}

// StateNeedsSource refuses a fence of an old copy whose state is still needed.
func StateNeedsSource(cluster string) string {
	return "its state goes along only when " + cluster + " is back; to go on without it, say --without-state (withoutState) as well"
}

// UnseenOutage refuses a fence of a cluster that was not seen to be silent: a
// confirmation counts for the outage that was seen when it was given.
func UnseenOutage(cluster string) string {
	return cluster + " was not silent when it was last looked at, or nobody says since when: say it again once it is seen to be"
}
