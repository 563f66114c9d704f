package documents

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const ours = "failover.lifeboat.dev/"

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
			if strings.HasPrefix(name, ours) {
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

	rows := names(section, "(?m)^\\| `("+ours+"[a-z-]+)`")
	_, text, found := strings.Cut(section, "Lifeboat's records")
	require.True(t, found)
	records := names(text, "`("+ours+"[a-z-]+)`")
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
			require.NotContains(t, string(raw), `"`+ours, path)
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
