package imports

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// acting are the SDK's functions that write into history or wait.
var acting = []string{
	"workflow.Await", "workflow.AwaitWithTimeout", "workflow.ExecuteActivity", "workflow.ExecuteChildWorkflow", "workflow.ExecuteLocalActivity",
	"workflow.Go", "workflow.MutableSideEffect", "workflow.NewTimer", "workflow.NewTimerWithOptions", "workflow.RequestCancelExternalWorkflow",
	"workflow.SideEffect", "workflow.SignalExternalWorkflow", "workflow.Sleep", "workflow.UpsertMemo", "workflow.UpsertTypedSearchAttributes",
}

// called are the names of what an expression or a body calls: "f", "x.f" as ".f", and "pkg.F".
func called(n ast.Node, packages []string) []string {
	var names []string
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			names = append(names, f.Name)
		case *ast.SelectorExpr:
			if x, ok := f.X.(*ast.Ident); ok && slices.Contains(packages, x.Name) {
				names = append(names, x.Name+"."+f.Sel.Name)
			} else {
				names = append(names, "."+f.Sel.Name)
			}
		}
		return true
	})
	return names
}

// conditions are the expressions of a function that decide where it goes on.
func conditions(body ast.Node) []ast.Expr {
	var found []ast.Expr
	ast.Inspect(body, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.IfStmt:
			found = append(found, s.Cond)
		case *ast.ForStmt:
			if s.Cond != nil {
				found = append(found, s.Cond)
			}
		case *ast.SwitchStmt:
			if s.Tag != nil {
				found = append(found, s.Tag)
			}
		case *ast.CaseClause:
			found = append(found, s.List...)
		}
		return true
	})
	return found
}

// A workflow's steps are statements: no condition writes, signals or waits. Whoever reads what a
// condition asks need not wonder what it does.
func TestNoConditionOfAWorkflowActs(t *testing.T) {
	set := token.NewFileSet()
	acts := map[string]string{} // by the name that a call has, what acts in it
	for _, name := range acting {
		acts[name] = name
	}
	for _, folder := range []string{"flow", "clusterfailover", "applicationfailover", "bindingmigration", "fleetpacer"} {
		names, err := filepath.Glob(filepath.Join(root, "workflows", folder, "*.go"))
		require.NoError(t, err)
		var decls []*ast.FuncDecl
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(set, name, nil, 0)
			require.NoError(t, err)
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					decls = append(decls, f)
				}
			}
		}
		known := learn(acts, folder, decls)
		require.NotEmpty(t, known, "%s: nothing acts", folder)
		for _, f := range decls {
			for _, c := range conditions(f.Body) {
				for _, name := range called(c, []string{"workflow", "flow"}) {
					if why := known[name]; why != "" {
						t.Errorf("%s: a condition of %s calls %s, which does %s: make it a step of its own", set.Position(c.Pos()), f.Name.Name, name, why)
					}
				}
			}
		}
	}
}

// learn adds to what acts whatever calls it, by the name that calls of the same package have; for
// the packages that come later under the package's name.
func learn(acts map[string]string, folder string, decls []*ast.FuncDecl) map[string]string {
	here := map[string]string{}
	for name, why := range acts {
		here[name] = why
	}
	for again := true; again; {
		again = false
		for _, f := range decls {
			name := f.Name.Name
			if f.Recv != nil {
				name = "." + name
			}
			if here[name] != "" {
				continue
			}
			for _, callee := range called(f.Body, []string{"workflow", "flow"}) {
				if why := here[callee]; why != "" {
					here[name], again = why, true
					break
				}
			}
		}
	}
	if folder == "flow" {
		for name, why := range here {
			if !strings.HasPrefix(name, "workflow.") {
				acts[fmt.Sprintf("flow.%s", strings.TrimPrefix(name, "."))] = why
				if strings.HasPrefix(name, ".") {
					acts[name] = why
				}
			}
		}
	}
	return here
}
