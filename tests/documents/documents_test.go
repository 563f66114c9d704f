package documents

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

const own = "failover.lifeboat.dev/"

// The reference of annotations in docs/operations.md has each one that the code reads, and
// no other: those that users set in a row each, those that are Lifeboat's records beside them.
func TestAnnotations_ReferenceNamesWhatTheCodeReads(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal/karmada/names.go"), nil, 0)
	require.NoError(t, err)
	var read []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if is && strings.HasPrefix(spec.Names[0].Name, "Annotation") {
			name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value) //nolint:errcheck,forcetypeassert // a constant of text
			require.NoError(t, err)
			if strings.HasPrefix(name, own) {
				read = append(read, name)
			}
		}
		return true
	})
	raw, err := os.ReadFile(filepath.Join(root, "docs/operations.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(raw), "\n## Tasks and annotations\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")

	rows := names(section, "(?m)^\\| `("+own+"[a-z-]+)`")
	_, text, found := strings.Cut(section, "Lifeboat's records")
	require.True(t, found)
	records := names(text, "`("+own+"[a-z-]+)`")
	require.NotEmpty(t, rows)
	require.NotEmpty(t, records)
	require.ElementsMatch(t, read, append(rows, records...))
}

// No other file spells an annotation of Lifeboat out: the test above would not see it.
func TestAnnotations_AreSpelledInOnePlace(t *testing.T) {
	for _, folder := range []string{"activities", "config", "internal", "k8sadapter", "controller", "worker", "workflows"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "karmada/names.go") {
				return err
			}
			raw, err := os.ReadFile(path) //nolint:gosec // of this repository
			require.NotContains(t, string(raw), `"`+own, path)
			return err
		}))
	}
}

func names(text, pattern string) []string {
	var out []string
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		out = append(out, found[1])
	}
	return out
}

// maxWords bounds the words of all Markdown files but docs/results. A reader has to find a fact in
// one place: who adds a page takes another one away, or raises this number with a reason.
const maxWords = 36_000

// markdown are the files of the repository whose names end in .md, without docs/results.
func markdown(t *testing.T) map[string]string {
	texts := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(root, path)
		require.NoError(t, relErr)
		aside := strings.HasPrefix(entry.Name(), ".") && name != "." || slices.Contains([]string{"bin", "docs/results"}, name) || entry.Name() == "node_modules"
		switch {
		case err != nil:
			return err
		case entry.IsDir() && aside:
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".md"):
			return nil
		}
		raw, err := os.ReadFile(path) //nolint:gosec // of this repository
		texts[name] = string(raw)
		return err
	}))
	require.Greater(t, len(texts), 20, "the documents were found")
	return texts
}

func TestTheDocumentsStayWithinTheirWords(t *testing.T) {
	words := 0
	for _, text := range markdown(t) {
		words += len(strings.Fields(text))
	}
	t.Logf("%d words", words)
	require.LessOrEqual(t, words, maxWords)
}

var (
	linkForm    = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]+)?\)`)
	headingForm = regexp.MustCompile(`(?m)^##+ (.*)$`)
	anchorForm  = regexp.MustCompile(`<a id="(\w+)"></a>`)
	droppedForm = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors are what a link may name in a page, as GitHub names them.
func anchors(text string) []string {
	var all []string
	for _, heading := range headingForm.FindAllStringSubmatch(text, -1) {
		plain := droppedForm.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading[1])), "")
		all = append(all, "#"+strings.ReplaceAll(plain, " ", "-"))
	}
	for _, row := range anchorForm.FindAllStringSubmatch(text, -1) {
		all = append(all, "#"+row[1])
	}
	return all
}

func TestEveryLinkBetweenDocumentsLeadsSomewhere(t *testing.T) {
	for name, text := range markdown(t) {
		if strings.Contains(name, "testdata") {
			continue // pages that Lifeboat renders link to the published runbook
		}
		for _, link := range linkForm.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			there := text
			if link[1] != "" {
				file := filepath.Join(root, filepath.Dir(name), link[1])
				info, err := os.Stat(file)
				require.NoError(t, err, "%s: %s", name, link[0])
				if link[2] == "" || info.IsDir() {
					continue
				}
				raw, err := os.ReadFile(file) //nolint:gosec // of this repository
				require.NoError(t, err)
				there = string(raw)
			}
			require.True(t, link[2] == "" || slices.Contains(anchors(there), link[2]), "%s: %s", name, link[0])
		}
	}
}
