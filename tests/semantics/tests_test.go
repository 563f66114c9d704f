package semantics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// namedByTests maps each id to the tests whose doc comment names it in a line that
// begins with "Rules:". It reads every test file of the repository, the modules of
// the lab too. An id in any other comment of a test file must be a rule as well.
func namedByTests(t *testing.T) map[string][]string {
	t.Helper()
	named := map[string][]string{}
	for _, name := range testFiles(t) {
		if filepath.Base(filepath.Dir(name)) != "semantics" {
			readFile(t, name, named)
		}
	}
	return named
}

// testFiles are the test files of the repository, those of the lab too.
func testFiles(t *testing.T) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "bin"):
			return fs.SkipDir
		case !entry.IsDir() && strings.HasSuffix(name, "_test.go"):
			files = append(files, name)
		}
		return nil
	}))
	require.Greater(t, len(files), 80, "the tests of the repository were found")
	return files
}

func readFile(t *testing.T, name string, named map[string][]string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	require.NoError(t, err)
	inRules := map[string]bool{}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ids := rulesOf(f.Doc.Text())
		if len(ids) > 0 && !isTest(f) {
			t.Errorf("%s: %s names rules, but is neither a test nor a story", name, f.Name.Name)
			continue
		}
		for _, id := range ids {
			inRules[id] = true
			named[id] = append(named[id], f.Name.Name)
		}
	}
	// A test that nobody finds through its Rules line would rot unseen.
	for _, group := range file.Comments {
		for _, id := range idForm.FindAllString(group.Text(), -1) {
			if !inRules[id] {
				t.Errorf("%s: a comment names %s outside a line \"Rules: …\" of a test", name, id)
			}
		}
	}
}

// rulesOf reads the ids after "Rules:" at the beginning of a line, to the end of
// its paragraph.
func rulesOf(doc string) []string {
	for paragraph := range strings.SplitSeq(doc, "\n\n") {
		before, ids, found := strings.Cut(paragraph, "Rules:")
		if found && (before == "" || strings.HasSuffix(before, "\n")) {
			return idForm.FindAllString(ids, -1)
		}
	}
	return nil
}

// isTest tells a test that go runs, and a story of the end-to-end tests, from a helper.
func isTest(f *ast.FuncDecl) bool {
	if f.Recv != nil || f.Type.Params.NumFields() != 1 {
		return false
	}
	star, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	switch of := star.X.(type) {
	case *ast.Ident:
		return of.Name == "scene"
	case *ast.SelectorExpr:
		return strings.HasPrefix(f.Name.Name, "Test") && of.Sel.Name == "T" ||
			strings.HasPrefix(f.Name.Name, "Fuzz") && of.Sel.Name == "F"
	}
	return false
}

// TestTheTestsOfTheInvariantsExist holds docs/invariants.md against the tests. A missing name would
// leave its guard without a proof.
func TestTheTestsOfTheInvariantsExist(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/invariants.md")
	require.NoError(t, err)
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`).FindAllString(string(text), -1)
	require.Greater(t, len(named), 100)
	require.Subset(t, allTests(t), named)
}
