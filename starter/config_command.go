package main

import (
	"runtime"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Look at the configuration",
		Args:  process.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var form string
	var defaults bool
	show := &cobra.Command{
		Use:   "print",
		Short: "Print the configuration in effect, every key with what it means and may be",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := process.NoArgs(cmd, args); err != nil {
				return err
			}
			return wantForm(cmd, form, outYAML, outJSON)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := config.Default()
			if !defaults {
				var err error
				if c, err = a.flags.Load(); err != nil {
					return err
				}
			}
			if form == outJSON {
				return c.PrintJSON(cmd.OutOrStdout())
			}
			return c.PrintYAML(cmd.OutOrStdout())
		},
	}
	show.Flags().StringVarP(&form, "output", "o", outYAML, "yaml or json")
	show.Flags().BoolVar(&defaults, "defaults", false, "print the defaults instead")
	cmd.AddCommand(show)
	return cmd
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			say(cmd, "lifeboat %s, %s, %s/%s", telemetry.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
