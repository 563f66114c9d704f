package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write docs/cli.md anew")

const reference = "../docs/cli.md"

// mark begins the part of docs/cli.md that follows from the commands.
const mark = "<!-- From here on this is written by: go test ./controller -run TestTheReference -rewrite -->\n"

// verbs are all commands of the tree that do something, the root first.
func verbs() []*cobra.Command {
	var out []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		out = append(out, c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newApp().command("lifeboat"))
	return out
}

// describe is a command's place in the reference. Its flags and the whole story are in its --help.
func describe(c *cobra.Command) string {
	return fmt.Sprintf("\n## %s\n\n%s.\n\n```\n%s\n%s\n```\n", c.CommandPath(), strings.ReplaceAll(c.Short, "<", `\<`), c.UseLine(), dedent(c.Example))
}

func dedent(example string) string {
	return strings.ReplaceAll(strings.TrimPrefix(example, "  "), "\n  ", "\n")
}

func TestTheReferenceFollowsFromTheCommands(t *testing.T) {
	raw, err := os.ReadFile(reference)
	require.NoError(t, err)
	head, _, found := strings.Cut(string(raw), mark)
	require.True(t, found, "docs/cli.md has lost its mark")
	want := head + mark
	for _, c := range verbs() {
		want += describe(c)
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(reference, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(raw), "run: go test ./controller -run TestTheReference -rewrite")
}

func TestEveryVerbHasAHelpAndAnExampleThatItWouldUnderstand(t *testing.T) {
	for _, c := range verbs() {
		require.NotEmpty(t, c.Short, c.CommandPath())
		require.NotEmpty(t, c.Example, c.CommandPath())
		for line := range strings.Lines(c.Example) {
			words := split(strings.TrimSpace(line))
			require.Equal(t, "lifeboat", words[0], line)
			root := newApp().command("lifeboat")
			found, rest, err := root.Find(words[1:])
			require.NoError(t, err, line)
			require.True(t, found.CommandPath() == c.CommandPath() || c.HasSubCommands(), line)
			require.NoError(t, found.ParseFlags(rest), line)
			require.NoError(t, found.ValidateArgs(found.Flags().Args()), line)
		}
		for line := range strings.Lines(c.Long) {
			require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), 120, "%s: %s", c.CommandPath(), line)
		}
	}
}

// What prints an answer prints it for programs, too.
func TestEveryVerbThatAnswersAnswersInJSONAndYAML(t *testing.T) {
	silent := []string{"controller", "codec"} // they run until they are stopped, and log
	for _, c := range verbs() {
		if c.HasSubCommands() || slices.Contains(silent, c.Name()) {
			continue
		}
		flag := c.Flags().Lookup("output")
		require.NotNil(t, flag, c.CommandPath())
		for _, form := range []string{"json", "yaml"} {
			require.NoError(t, flag.Value.Set(form), c.CommandPath())
		}
		require.Contains(t, page(t, reference), "\n## "+c.CommandPath()+"\n")
	}
}

func TestTheReferenceSaysEveryExitCode(t *testing.T) {
	for _, code := range []int{process.ExitOK, process.ExitFailed, process.ExitUsage, process.ExitNotFound, process.ExitRefused} {
		require.Contains(t, page(t, reference), fmt.Sprintf("\n| %d | ", code))
	}
}

// split takes a command line apart as a shell does, as far as examples need it.
func split(line string) []string {
	var words []string
	var word strings.Builder
	quoted := false
	for _, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ' ' && !quoted:
			words = append(words, word.String())
			word.Reset()
		default:
			word.WriteRune(r)
		}
	}
	return append(words, word.String())
}
