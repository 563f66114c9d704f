package main

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/controller/explain"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/spf13/cobra"
)

type explainOptions struct {
	form               show.Form
	namespace, cluster string
	trail              string // where the audit trail is; empty follows the configuration
}

func (a *app) explainCommand() *cobra.Command {
	o := explainOptions{form: show.NewForm()}
	cmd := &cobra.Command{
		Use:   "explain <binding>",
		Short: "Show why a binding moves, waits, or stays where it is",
		Long: `Show why a binding moves, waits, or stays where it is, from the rule that matched to what it waits for:
the taint, the toleration and until when it holds, the place in the queue, the pace, what blocks the binding, and
its migration. For a binding that no failover drives: why nothing moves it, and what would happen if its
cluster failed. The outcomes in failovers that are over come last: from the reports that Temporal still has, and
from the audit trail, which also has failovers that Temporal has forgotten, and bindings that are gone.

A binding is <namespace>/<binding> (-/<binding> without a namespace), or the workload that it carries.`,
		Example: `  lifeboat explain shop/cart-deployment
  lifeboat explain deployment/cart -n shop --cluster member1
  lifeboat explain shop/cart-deployment --audit /var/log/lifeboat -o json`,
		Args: exactly(1, "<binding>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := subject.Parse(args[0], o.namespace)
			if err != nil {
				return err
			}
			return a.runExplain(cmd, o, ref)
		},
	}
	formFlag(cmd, &o.form)
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "", "namespace of the workload, where a workload is named")
	cmd.Flags().StringVar(&o.cluster, "cluster", "", "look at this cluster alone; a binding may be driven off several")
	auditFlag(cmd, &o.trail)
	_ = cmd.RegisterFlagCompletionFunc("cluster", completion{a.look}.clusters())
	cmd.ValidArgsFunction = completion{a.look}.bindings()
	return cmd
}

func (a *app) runExplain(cmd *cobra.Command, o explainOptions, ref subject.Ref) error {
	s, source, err := a.planning(cmd)
	if err != nil {
		return err
	}
	defer s.close()
	asked := explain.Source{Source: source, Alone: status.Source{Instance: s.config.Instance, UI: s.config.UIURL}}
	key, known := ref.Key()
	if !known {
		b, err := ref.Find(cmd.Context(), source.Karmada)
		if err != nil {
			return err
		}
		key = b.Key
	}
	trail, err := readTrail(cmd, s.config, o.trail, explain.About(key, s.config.Instance))
	if err != nil {
		return err
	}
	asked.Trail = trail.Records
	var x explain.Explained
	err = s.progress.While(cmd.Context(), "asking why", func(ctx context.Context) error {
		x, err = asked.Binding(ctx, ref, o.cluster)
		return err
	})
	if err != nil {
		return err
	}
	return answered(cmd, &o.form, x, func(p show.Page) { explain.View{Page: p}.Binding(x) })
}
