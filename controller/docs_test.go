package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

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
	raw := fixtures.Must(os.ReadFile(reference))(t)
	head, _, found := strings.Cut(string(raw), mark)
	require.True(t, found, "docs/cli.md has lost its mark")
	want := head + mark
	for _, c := range verbs() {
		want += describe(c)
	}
	if *fixtures.Rewrite {
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

const (
	// rowsBegin and rowsEnd surround the rows of docs/operations.md that follow from the code.
	rowsBegin = "<!-- These rows are written by: go test ./controller -run TestTheReasonsThatNeedNoAction -rewrite -->\n| reason | meaning |\n|---|---|\n"
	rowsEnd   = "<!-- end -->\n"
)

// meanings are the comments of the core's reasons.
func meanings(t *testing.T) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "../internal/reason/reason.go", nil, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	out := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || spec.Comment == nil {
			return true
		}
		text, isText := spec.Values[0].(*ast.BasicLit)
		require.True(t, isText)
		out[fixtures.Must(strconv.Unquote(text.Value))(t)] = strings.TrimSpace(spec.Comment.Text())
		return true
	})
	return out
}

// rows are the reasons that have a row instead of a heading, with the meaning there.
func rows(t *testing.T, text string) map[string]string {
	t.Helper()
	_, table, found := strings.Cut(text, rowsBegin)
	require.True(t, found, "docs/operations.md has lost the table of reasons")
	table, _, found = strings.Cut(table, rowsEnd)
	require.True(t, found)
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| <a id="(\w+)"></a>(\w+) \| (.+) \|$`).FindAllStringSubmatch(table, -1) {
		require.Equal(t, strings.ToLower(m[2]), m[1], "as Reason.In names the anchor")
		out[m[2]] = m[3]
	}
	require.Len(t, out, strings.Count(table, "\n"))
	return out
}

// TestTheReasonsThatNeedNoActionSayWhatTheCodeSays writes a row for every reason without a
// heading, from its comment in the code.
func TestTheReasonsThatNeedNoActionSayWhatTheCodeSays(t *testing.T) {
	text := page(t, runbook)
	headings := sections(sections(text, "##")["Reasons"], "###")
	want := meanings(t)
	maps.DeleteFunc(want, func(reason, _ string) bool { _, is := headings[reason]; return is })
	if *fixtures.Rewrite {
		head, rest, _ := strings.Cut(text, rowsBegin)
		_, tail, _ := strings.Cut(rest, rowsEnd)
		var table strings.Builder
		for _, reason := range slices.Sorted(maps.Keys(want)) {
			fmt.Fprintf(&table, "| <a id=%q></a>%s | %s |\n", strings.ToLower(reason), reason, want[reason])
		}
		require.NoError(t, os.WriteFile(runbook, []byte(head+rowsBegin+table.String()+rowsEnd+tail), 0o600))
		return
	}
	require.Equal(t, want, rows(t, text), "run: go test ./controller -run TestTheReasonsThatNeedNoAction -rewrite")
}

const runbook = "../docs/operations.md"

// words are the values of the core's string constants of a type, read from its source: a
// list by hand would forget the next one.
func words(t *testing.T, typeName string) []string {
	t.Helper()
	files := fixtures.Must(filepath.Glob("../internal/*/*.go"))(t)
	var out []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed := fixtures.Must(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution))(t)
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is {
				return true
			}
			named, is := spec.Type.(*ast.Ident)
			for _, v := range spec.Values {
				text, isText := v.(*ast.BasicLit)
				if !is || named.Name != typeName || !isText {
					continue
				}
				if word, err := strconv.Unquote(text.Value); err == nil && word != "" {
					out = append(out, word)
				}
			}
			return true
		})
	}
	require.NotEmpty(t, out, typeName)
	slices.Sort(out)
	return out
}

// sections are the parts of a page below the headings that begin with mark.
func sections(text, mark string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Split("\n"+text, "\n"+mark+" ")[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		out[strings.TrimSpace(heading)] = body
	}
	return out
}

func page(t *testing.T, path string) string {
	t.Helper()
	return string(fixtures.Must(os.ReadFile(path))(t))
}

func TestEveryReasonHasAHeadingOrARowInTheRunbookAndEachIsAReason(t *testing.T) {
	reasons := sections(sections(page(t, runbook), "##")["Reasons"], "###")
	all := slices.Concat(slices.Collect(maps.Keys(reasons)), slices.Collect(maps.Keys(rows(t, page(t, runbook)))))
	require.ElementsMatch(t, words(t, "Reason"), all)
	for reason, body := range reasons {
		require.Contains(t, body, "\n- **Lifeboat:** ", reason)
		require.Contains(t, body, "\n- **You:** ", reason)
		require.Len(t, fenced(body), 1, "%s: one command to begin with", reason)
	}
	require.Equal(t, "p#notarget", reason.NoTarget.In("p"), "as GitHub names a heading's anchor")
}

func TestTheRunbookKnowsEveryPhaseOutcomeAndTaskReason(t *testing.T) {
	all := sections(page(t, runbook), "##")
	for _, kind := range []string{"Failover", "Migration", "Outcome"} {
		for _, word := range words(t, kind) {
			require.Regexp(t, `(?m)^\|[^|]*\b`+word+`\b[^|]*\|`, all["Phases and outcomes"], kind)
		}
	}
	for _, reason := range []string{
		karmada.TaskReason, karmada.TaskReasonKept, karmada.TaskReasonNeedsOperator, karmada.TaskReasonBanned, karmada.TaskReasonDependent,
	} {
		require.Contains(t, all["Tasks and annotations"], "| `"+reason+"` |")
	}
}

// fenced are the lines of a page's code blocks.
func fenced(text string) []string {
	var out []string
	for i, part := range strings.Split("\n"+text, "\n```") {
		if i%2 == 0 {
			continue
		}
		_, body, _ := strings.Cut(part, "\n")
		for line := range strings.Lines(body) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func TestEveryQueryInTheRunbookNamesWhatExists(t *testing.T) {
	values := map[string][]string{
		"WorkflowType":    {workflows.TypeClusterFailover, workflows.TypeBindingMigration, workflows.TypeFleetPacer},
		"ExecutionStatus": {"Running"},
		// The server's own: what keeps a workflow's tasks from being done.
		"TemporalReportedProblems":        {"category=WorkflowTaskFailed"},
		workflows.SearchCluster.GetName(): nil,
		workflows.SearchBinding.GetName(): nil,
		workflows.SearchReason.GetName():  words(t, "Reason"),
		workflows.SearchMode.GetName():    words(t, "Mode"),
		workflows.SearchPhase.GetName(): slices.Concat(
			words(t, "Failover"), words(t, "Migration"), words(t, "Outcome"), words(t, "Tier")),
	}
	clause := regexp.MustCompile(`^(\w+) (?:=|!=|IN) (.+)$`)
	queries := regexp.MustCompile(`--query "([^"]+)"`).FindAllStringSubmatch(page(t, runbook), -1)
	require.NotEmpty(t, queries)
	for _, query := range queries {
		for _, part := range strings.Split(query[1], " AND ") {
			found := clause.FindStringSubmatch(part)
			require.NotNil(t, found, part)
			known, is := values[found[1]]
			require.True(t, is, "no such search attribute: %s", part)
			for _, value := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(found[2], -1) {
				require.True(t, known == nil || slices.Contains(known, value[1]), part)
			}
		}
	}
}
