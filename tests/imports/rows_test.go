package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTableRowsHaveKeyedFields: a row of a table says what each of its values is.
func TestTableRowsHaveKeyedFields(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && path == filepath.Join("../..", "bin") {
			return filepath.SkipDir // a checkout of Karmada, which the lab builds
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if table, is := n.(*ast.CompositeLit); is && isTable(table) {
				for _, row := range table.Elts {
					assert.False(t, isUnkeyed(row), "%s: a table's row without the names of its fields", set.Position(row.Pos()))
				}
			}
			return true
		})
		return nil
	}))
	require.Greater(t, files, 100, "the tests were found")
}

// isTable: a list or map of a struct type that is written where the table is.
func isTable(literal *ast.CompositeLit) bool {
	var element ast.Expr
	switch kind := literal.Type.(type) {
	case *ast.ArrayType:
		element = kind.Elt
	case *ast.MapType:
		element = kind.Value
	}
	_, is := element.(*ast.StructType)
	return is
}

func isUnkeyed(row ast.Expr) bool {
	if pair, is := row.(*ast.KeyValueExpr); is {
		row = pair.Value
	}
	literal, is := row.(*ast.CompositeLit)
	if !is || len(literal.Elts) == 0 {
		return false
	}
	_, keyed := literal.Elts[0].(*ast.KeyValueExpr)
	return !keyed
}
