package main

import (
	"runtime"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Look at the configuration",
		Example: `  lifeboat config print`,
		Args:    process.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	form := show.NewForm(show.YAML, show.JSON)
	var defaults bool
	printing := &cobra.Command{
		Use:   "print",
		Short: "Print the configuration in effect, every setting with what it means and may be",
		Example: `  lifeboat config print --defaults
  lifeboat config print --config lifeboat.yaml -o json`,
		Args: process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := config.Default()
			if !defaults {
				var err error
				if c, err = a.flags.Load(); err != nil {
					return err
				}
			}
			if form.String() == show.JSON {
				return c.PrintJSON(cmd.OutOrStdout())
			}
			return c.PrintYAML(cmd.OutOrStdout())
		},
	}
	formFlag(printing, &form)
	printing.Flags().BoolVar(&defaults, "defaults", false, "print the defaults instead")
	cmd.AddCommand(printing)
	return cmd
}

// version is what -o json prints.
type version struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func versionCommand() *cobra.Command {
	form := show.NewForm()
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  lifeboat version`,
		Args:    process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := version{Version: telemetry.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			return answered(cmd, &form, v, func(p show.Page) { p.Line("lifeboat %s, %s, %s/%s", v.Version, v.Go, v.OS, v.Arch) })
		},
	}
	formFlag(cmd, &form)
	return cmd
}
