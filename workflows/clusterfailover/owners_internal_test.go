package clusterfailover

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"regexp"
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
	"Migrations":                                        "migrations",
	"Beside Unheld":                                     "secondEvictor",
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
	"ListDirty AdoptDirty AdoptNow Declined":                                 "", // whoever finds that something is to be looked at
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
		part := strings.TrimPrefix(types.ExprString(m.Recv.List[0].Type), "*")
		ast.Inspect(m, func(n ast.Node) bool {
			for _, to := range written(n) {
				field := ofState.FindStringSubmatch(types.ExprString(to))
				if field == nil {
					continue
				}
				writes++
				if is := owner[field[1]]; is != "" && part != is && part != "failover" {
					t.Errorf("%s.%s writes %s, which is for %s alone", part, m.Name.Name, field[1], is)
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

// ofState matches a field of the state, x.st.Field, or what is in it.
var ofState = regexp.MustCompile(`^[\w.]+\.st\.(\w+)`)

// written are the expressions that a statement writes to.
func written(n ast.Node) []ast.Expr {
	switch s := n.(type) {
	case *ast.AssignStmt:
		return s.Lhs
	case *ast.IncDecStmt:
		return []ast.Expr{s.X}
	case *ast.CallExpr:
		if f, ok := s.Fun.(*ast.Ident); ok && f.Name == "delete" {
			return s.Args[:1]
		}
	}
	return nil
}
