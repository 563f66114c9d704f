package documents

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// Every command that a document says to type is run somewhere, and nothing stands in the
// table that no document says.
func TestEveryCommandInTheDocumentsIsRunByATest(t *testing.T) {
	typed, err := Read(root)
	require.NoError(t, err)
	known := map[string]bool{}
	for _, step := range Steps() {
		require.NotEqual(t, step.Lab == "", step.Run == "", "%+v is an act of the lab, or a command", step)
		if step.Run != "" {
			known[step.Run] = true
		}
	}
	for command := range Elsewhere {
		require.False(t, known[command], "the story runs it: %s", command)
		known[command] = true
	}
	said := map[string]bool{}
	for _, c := range typed {
		said[c.Text] = true
		require.True(t, known[c.Text], "%s: nothing runs it: put it into tests/documents", c)
	}
	for _, command := range slices.Sorted(maps.Keys(known)) {
		require.True(t, said[command], "no document says: %s", command)
	}
}

// What runs a command elsewhere is there.
func TestWhatRunsACommandElsewhereExists(t *testing.T) {
	var makefile strings.Builder
	for _, name := range []string{"Makefile", "lab.mk"} {
		raw, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		makefile.Write(raw)
	}
	for command, place := range Elsewhere {
		require.NotEmpty(t, place.Why, command)
		if place.Target != "" {
			require.Empty(t, place.Test, command)
			require.Regexp(t, `(?m)^`+regexp.QuoteMeta(place.Target)+`:`, makefile.String(), command)
			if typed, is := strings.CutPrefix(command, "make "); is {
				require.Equal(t, place.Target, strings.Fields(typed)[0])
			}
			continue
		}
		require.True(t, tests(t, place.Folder, place.Test), "%s: %s has no %s", command, place.Folder, place.Test)
	}
}

// tests tells whether a folder has a test of that name.
func tests(t *testing.T, folder, name string) bool {
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Contains(string(raw), "\nfunc "+name+"(t *testing.T)")
	})
}

// Every exit code of the table is one that docs/cli.md has, and what is said is a
// regular expression.
func TestTheTableSpeaksTheReferencesExitCodes(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "docs/cli.md"))
	require.NoError(t, err)
	for _, step := range Steps() {
		_, err := regexp.Compile(step.Says)
		require.NoError(t, err, step.Run)
		for _, code := range []int{step.Exit, step.Or} {
			require.Regexp(t, `(?m)^\| `+string(rune('0'+code))+` \| `, string(raw), step.Run)
		}
		if step.Exit != done {
			require.NotEmpty(t, step.Says, "%s: a refusal says why", step.Run)
		}
	}
}

func TestCommandsAreFoundInBlocksAndInText(t *testing.T) {
	text := strings.Join([]string{
		"Say `lifeboat`, `lifeboat status", "member1` or `lifeboat x […]`.", "```", "lifeboat plan member1     # what would happen",
		"helm install \\", "  lifeboat", "some output", "for p in a b; do", "  lifeboat $p", "done", "```", "```yaml", "lifeboat: 1", "```", "`make test`",
	}, "\n")
	require.Equal(t, []Command{
		{"a.md", 1, "lifeboat status member1"},
		{"a.md", 4, "lifeboat plan member1"},
		{"a.md", 6, "helm install lifeboat"},
		{"a.md", 10, "for p in a b; do lifeboat $p done"},
		{"a.md", 15, "make test"},
	}, of("a.md", text))
}
