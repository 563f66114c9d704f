package clusterfailover

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

// owners are the parts of a failover by the fields of its state that they alone write. The engine
// writes the others, and may reset each: for an attempt, a stop, a recovery.
var owners = map[string]string{
	"UID Seen Turns Windows Facts ExternalProbe Cluster GoneAt": "judgement",
	"Virtual Refused TakenAway":                                 "taints",
	"Snoozes Pauses Priorities Standing StandingOrders Paused":  "standing",
	"Approvals Asking": "approvals",
	"Ledger Results Counts Folded Past Later LaterIdle": "outcomes",
	"PendingPurges PendingPurgesBeyond":                 "oldCopies",
	"Pace Frozen":                                       "waiting",
	"Bans NextDrain":                                    "draining",
	"Migrations":                                        "children",
	"Beside":                                            "evictor",
	"Fenced":                                            "fences",
	"Dues Judged":                                       "policies",
	"Listed Kinds Policy":                               "affected",
	"Grants Newest":                                     "grants",
	"Asked AskedAt Unheard NextSim":                     "dispatcher",
	"Attention":                                         "publisher",
	"Audit":                                             "trail",
	"FailoverID Attempt Phase Terms Since Entered Began Confirmed WellSince": "failover",
	"ClosedAt Stopped StopPutBack Runs":                                      "failover",
	"Untainted Reason Items Queue":                                           "", // several: untainted or stopped, refused or entered, joined or dispatched
}

// Where a field is decided there is one place to look.
func TestEveryFieldOfTheStateIsWrittenByItsOwner(t *testing.T) {
	owner := map[string]string{}
	for fields, part := range owners {
		for _, field := range strings.Fields(fields) {
			owner[field] = part
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[workflows.FailoverState]()) {
		if f.IsExported() {
			require.Contains(t, owner, f.Name, "who writes it?")
		}
	}
	writes := 0
	for _, m := range methods(t) {
		part := typeOf(m.Recv.List[0].Type)
		ast.Inspect(m, func(n ast.Node) bool {
			for _, field := range written(n) {
				writes++
				if is := owner[field]; is != "" && part != is && part != "failover" {
					t.Errorf("%s.%s writes %s, which is for %s alone", part, m.Name.Name, field, is)
				}
			}
			return true
		})
	}
	require.Greater(t, writes, 80, "the test sees the writes")
}

// methods are those of this package's types.
func methods(t *testing.T) (all []*ast.FuncDecl) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				all = append(all, f)
			}
		}
	}
	return all
}

func typeOf(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return typeOf(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// written are the fields of the state that a statement writes: x.st.Field, or what is in it.
func written(n ast.Node) (fields []string) {
	var to []ast.Expr
	switch s := n.(type) {
	case *ast.AssignStmt:
		to = s.Lhs
	case *ast.IncDecStmt:
		to = []ast.Expr{s.X}
	case *ast.CallExpr:
		if f, ok := s.Fun.(*ast.Ident); ok && f.Name == "delete" {
			to = s.Args[:1]
		}
	}
	for _, e := range to {
		if field := fieldOf(e); field != "" {
			fields = append(fields, field)
		}
	}
	return fields
}

// fieldOf is the field of the state in which an expression lies, empty for another.
func fieldOf(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.IndexExpr:
		return fieldOf(x.X)
	case *ast.SelectorExpr:
		if st, ok := x.X.(*ast.SelectorExpr); ok && st.Sel.Name == "st" {
			return x.Sel.Name
		}
		return fieldOf(x.X)
	}
	return ""
}
