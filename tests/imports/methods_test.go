package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mostMethods is how many methods a type has at most: what has more is several things.
const mostMethods = 40

// TestNoTypeHasTooManyMethods counts the methods of every type of the product, tests aside.
func TestNoTypeHasTooManyMethods(t *testing.T) {
	methods := map[string]int{}
	for _, f := range product(t) {
		if f.test || below(f.path, "tests") {
			continue
		}
		path := filepath.Join(root, f.path)
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declared := range parsed.Decls {
			if method, is := declared.(*ast.FuncDecl); is && method.Recv != nil {
				methods[filepath.Dir(f.path)+"."+receiver(method.Recv.List[0].Type)]++
			}
		}
	}
	require.Greater(t, len(methods), 100, "the types were found")
	for name, n := range methods {
		assert.LessOrEqual(t, n, mostMethods, name)
	}
}

// receiver is the name of a method's type.
func receiver(of ast.Expr) string {
	switch at := of.(type) {
	case *ast.StarExpr:
		return receiver(at.X)
	case *ast.IndexExpr:
		return receiver(at.X)
	case *ast.IndexListExpr:
		return receiver(at.X)
	case *ast.Ident:
		return at.Name
	default:
		return "?"
	}
}
