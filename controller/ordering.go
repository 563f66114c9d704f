package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/controller/orders"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
)

// order is a verb that changes something. It needs a reason and a confirmation (or --yes), and prints its effect.
type order struct {
	use, short, long, example string
	aliases                   []string // former names
	// namespaces: the order may be about the bindings of one namespace.
	namespaces bool
	// each: an order about a cluster is about each of its bindings.
	each bool
	// held: look for the cluster of a binding among hold tasks, too.
	held bool
	// migration: while the failover of its application moves a binding, the migration takes the order.
	migration bool
	// application: the failover of its application takes the order, where one runs; nil is no.
	application *bool
	// confirm completes the question "About to …"; %s is the object.
	confirm   string
	unchanged string
	// check refuses flags that do not go together; nil checks nothing.
	check cobra.PositionalArgs
	send  sendFunc
	// after runs once the order is accepted; nil does nothing.
	after func(cmd *cobra.Command, s *session, out *orderAnswer) error
}

// aimed is the workflow of an order, and what the order is about there.
type aimed struct {
	orders.Target
	scope queue.Scope
	// also names another failover that concerns the binding and does not get the order, empty without one; nil: there is none.
	also func(ctx context.Context, verb string) string
}

// aimFunc finds the workflow of an order.
type aimFunc func(ctx context.Context, s *session) (aimed, error)

type sendFunc func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error)

// update sends an order as an update of that name to a workflow that runs.
func update(name string, argument func(workflows.ScopedOrder) any) sendFunc {
	return func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
		return d.Give(ctx, to, name, argument(o))
	}
}

// startAndUpdate is update for a failover that may not run yet.
func startAndUpdate(name string, argument func(workflows.ScopedOrder) any) sendFunc {
	return func(d orders.Sender, ctx context.Context, to orders.Target, o workflows.ScopedOrder) (string, error) {
		return d.Begin(ctx, to, name, argument(o))
	}
}

// wants is the name of the argument.
func (v order) wants() string { return strings.Fields(v.use)[1] }

// takes reports whether the argument may be "<cluster>", "<binding>" or "fleet".
func (v order) takes(kind string) bool { return strings.Contains(v.wants(), kind) }

// ordering are the flags that every order has.
type ordering struct {
	by   workflows.Order
	yes  bool
	form show.Form
}

// orderAnswer is the output of -o json.
type orderAnswer struct {
	Verb    string `json:"verb"`
	Cluster string `json:"cluster"`
	Whom    string `json:"whom,omitempty"`
	Answer  string `json:"answer"`
	// Also names another failover that concerns the binding and did not get the order, with the command for it.
	Also string `json:"also,omitempty"`
	// NotChanged is what the order leaves unchanged.
	NotChanged string `json:"notChanged"`
	WorkflowID string `json:"workflowID"`
	Link       string `json:"link,omitempty"`
	// Progress is the progress of a drain with --wait.
	Progress *orders.Drained `json:"progress,omitempty"`
}

func (a *app) orderCommand(verb order) (*cobra.Command, *ordering) {
	g := &ordering{form: show.NewForm()}
	cmd := &cobra.Command{Use: verb.use, Aliases: verb.aliases, Short: verb.short, Long: verb.long, Example: verb.example}
	cmd.Flags().StringVar(&g.by.Reason, "reason", "", "why; it is recorded (required)")
	cmd.Flags().StringVar(&g.by.Who, "who", config.Operator(), "who orders it; it is recorded")
	cmd.Flags().BoolVar(&g.yes, "yes", false, "do not ask for confirmation")
	formFlag(cmd, &g.form)
	return cmd, g
}

func (g *ordering) check(cmd *cobra.Command) error {
	if strings.TrimSpace(g.by.Reason) == "" {
		return process.Usage(cmd, "say why, with --reason")
	}
	if strings.TrimSpace(g.by.Who) == "" {
		return process.Usage(cmd, "say who you are, with --who")
	}
	return nil
}

// give asks for confirmation, finds the workflow, sends the order to it and prints the answer.
func (a *app) give(cmd *cobra.Command, verb order, g *ordering, name string, aim aimFunc) error {
	if err := g.check(cmd); err != nil {
		return err
	}
	if !g.yes {
		if err := confirm(cmd, fmt.Sprintf(verb.confirm, name)); err != nil {
			return err
		}
	}
	s, err := a.open(cmd, "lifeboat-cli/"+g.by.Who)
	if err != nil {
		return err
	}
	defer s.close()
	end := s.progress.Begin("waiting for " + name)
	out, err := s.send(cmd, verb, g, aim)
	end()
	if err != nil {
		return err
	}
	if verb.after == nil {
		return answered(cmd, &g.form, out, out.draw)
	}
	if g.form.ForPeople() {
		if err := answered(cmd, &g.form, out, out.draw); err != nil {
			return err
		}
		return verb.after(cmd, s, &out)
	}
	return errors.Join(verb.after(cmd, s, &out), g.form.Encode(cmd.OutOrStdout(), out))
}

// send finds the workflow of an order, and sends the order to it.
func (s *session) send(cmd *cobra.Command, verb order, g *ordering, aim aimFunc) (orderAnswer, error) {
	to, err := aim(cmd.Context(), s)
	if err != nil {
		return orderAnswer{}, err
	}
	out := orderAnswer{
		Verb: cmd.CalledAs(), NotChanged: verb.unchanged,
		Cluster: to.Name, WorkflowID: to.WorkflowID, Link: s.source().Link(to.WorkflowID),
	}
	if to.scope != (queue.Scope{}) {
		out.Whom = to.scope.String()
	}
	out.Answer, err = verb.send(s.sender(), cmd.Context(), to.Target, workflows.ScopedOrder{Order: g.by, Scope: to.scope})
	if err == nil && to.also != nil {
		out.Also = to.also(cmd.Context(), out.Verb)
	}
	return out, s.noFailover(cmd.Context(), to.Name, err)
}

func (o orderAnswer) draw(p show.Page) {
	p.Wrapped("", fmt.Sprintf("%s: %s", o.Cluster, o.Answer))
	if o.Also != "" {
		p.Wrapped("", "also: "+o.Also)
	}
	p.Wrapped("", "not changed: "+o.NotChanged)
	p.Line("workflow %s", o.WorkflowID)
	if o.Link != "" {
		p.Line("%s", o.Link)
	}
}

// object is what an order is about, as the operator typed it.
type object struct {
	cluster, binding, namespace string
	all                         bool
}

// named is the object, for the confirmation.
func (w *object) named() string {
	some := ""
	switch {
	case w.binding != "":
		some = show.Joined(" -n ", w.binding, w.namespace)
	case w.namespace != "":
		some = "namespace " + w.namespace
	case w.all:
		some = "everything that waits"
	}
	return show.Joined(" on ", some, w.cluster)
}

// read parses the argument, and refuses objects that cannot exist.
func (w *object) read(cmd *cobra.Command, verb order, args []string) error {
	if len(args) > 1 {
		return process.Usage(cmd, "want %s, got %d arguments", verb.wants(), len(args))
	}
	if len(args) == 1 {
		if err := w.take(cmd, verb, args[0]); err != nil {
			return err
		}
	}
	some := w.binding != "" || w.namespace != ""
	if w.cluster == "" && w.binding == "" || len(args) == 0 && !some && !w.all {
		return process.Usage(cmd, "want %s", verb.wants())
	}
	if err := w.check(cmd, verb, some); err != nil {
		return err
	}
	w.all = verb.each && !some
	return nil
}

// check refuses objects that cannot exist; some: the order is about some bindings alone.
func (w *object) check(cmd *cobra.Command, verb order, some bool) error {
	switch {
	case w.all && some:
		return process.Usage(cmd, "--all excludes a binding and --namespace")
	case w.cluster == orders.Fleet && !verb.takes(orders.Fleet):
		return process.Usage(cmd, "want the name of a cluster")
	case w.cluster == orders.Fleet && some:
		return process.Usage(cmd, "--namespace is for one cluster, not for the fleet")
	case w.namespace != "" && w.binding == "" && !verb.namespaces:
		return process.Usage(cmd, "--namespace says where a workload is; %s is for %s", cmd.Name(), verb.wants())
	}
	if w.binding != "" {
		if _, err := subject.Parse(w.binding, w.namespace); err != nil {
			return process.Usage(cmd, "%s", err)
		}
	}
	return nil
}

// take distinguishes a binding, which has a slash in it, from a cluster.
func (w *object) take(cmd *cobra.Command, verb order, arg string) error {
	switch {
	case verb.takes("<binding>") && (strings.Contains(arg, "/") || !verb.takes("<cluster>")):
		w.binding = arg
	case w.cluster != "":
		return process.Usage(cmd, "--cluster says whose failover concerns a binding; %s is a cluster", arg)
	default:
		w.cluster = arg
	}
	return nil
}

// confirm asks the operator at the terminal, and fails without a terminal.
func confirm(cmd *cobra.Command, what string) error {
	if !show.IsTerminal(cmd.InOrStdin()) {
		return fmt.Errorf("%w: no terminal to confirm: %s; add --yes", errRefused, what)
	}
	// Beside the answer, which programs may read.
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "About to %s. Type yes to go on: ", what)
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if given := strings.TrimSpace(answer); err != nil || given != "yes" && given != "y" {
		return fmt.Errorf("%w: not confirmed, nothing was done", errRefused)
	}
	return nil
}
