package main

import (
	"bytes"
	"time"

	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/spf13/cobra"
)

// say writes a line to the command's output. A closed pipe ends nothing.
func say(cmd *cobra.Command, format string, args ...any) {
	show.Page{Out: cmd.OutOrStdout()}.Line(format, args...)
}

// formFlag gives a command --output.
func formFlag(cmd *cobra.Command, form *show.Form) {
	cmd.Flags().VarP(form, "output", "o", form.Usage())
	// It fails for a flag that does not exist alone.
	_ = cmd.RegisterFlagCompletionFunc("output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return form.Allowed(), cobra.ShellCompDirectiveNoFileComp
	})
}

// answered writes an answer in the form that was asked for: as text drawn for people, or
// encoded.
func answered(cmd *cobra.Command, form *show.Form, answer any, draw func(show.Page)) error {
	if !form.ForPeople() {
		return form.Encode(cmd.OutOrStdout(), answer)
	}
	_, err := cmd.OutOrStdout().Write(drawn(cmd, draw))
	return err
}

// drawn is text for people: colour is for terminals only.
func drawn(cmd *cobra.Command, draw func(show.Page)) []byte {
	var text bytes.Buffer
	draw(show.Page{Out: &text, Now: time.Now(), Colour: show.IsTerminal(cmd.OutOrStdout())})
	return text.Bytes()
}
