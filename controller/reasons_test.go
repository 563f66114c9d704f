package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
		word, err := strconv.Unquote(text.Value)
		require.NoError(t, err)
		out[word] = strings.TrimSpace(spec.Comment.Text())
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
	if *rewrite {
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
