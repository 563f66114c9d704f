package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTableRowsHaveKeyedFields: a row of a table says what each of its values is.
func TestTableRowsHaveKeyedFields(t *testing.T) {
	tests := slices.DeleteFunc(files(t, ".", "bin"), func(f file) bool { return !f.test }) // bin has a checkout of Karmada, which the lab builds
	require.Greater(t, len(tests), 100, "the tests were found")
	for _, f := range tests {
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, filepath.Join(root, f.path), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if table, is := n.(*ast.CompositeLit); is && isTable(table) {
				for _, row := range table.Elts {
					assert.False(t, isUnkeyed(row), "%s: a table's row without the names of its fields", set.Position(row.Pos()))
				}
			}
			return true
		})
	}
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
