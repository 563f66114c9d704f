package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"
)

// The forms of output.
const (
	outTable = "table"
	outJSON  = "json"
	outYAML  = "yaml"
)

// say writes a line to the command's output. A closed pipe ends nothing.
func say(cmd *cobra.Command, format string, args ...any) {
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...)
}

// encode writes v as JSON or YAML.
func encode(w io.Writer, form string, v any) error {
	if form == outYAML {
		encoded, err := yaml.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode as YAML: %w", err)
		}
		_, err = w.Write(encoded)
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// wantForm refuses another form than those given.
func wantForm(cmd *cobra.Command, form string, allowed ...string) error {
	for _, a := range allowed {
		if form == a {
			return nil
		}
	}
	return process.Usage(cmd, "--output = %q: want one of %v", form, allowed)
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
