package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/stretchr/testify/require"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
)

// place is a Temporal, a Karmada and the host of its controllers, as they are found.
type place struct {
	workflowservice.WorkflowServiceClient
	retention time.Duration
	describe  error
	lacking   []string
	undefined []string
	modes     []string
	policies  []string
	evidence  string
	denied    string
	away      error
	flags     []string
	flagsErr  error
	asked     int
}

// fine is where everything is as it should be.
func fine() *place {
	return &place{retention: 7 * 24 * time.Hour, modes: []string{"Directly", "Gracefully", "Never"}, flags: []string{"--feature-gates=Failover=false"}}
}

func (p *place) WorkflowService() workflowservice.WorkflowServiceClient { return p }

func (p *place) DescribeNamespace(
	context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption,
) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{
		Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(p.retention)},
	}, p.describe
}

func (p *place) Lacking(context.Context, []string) ([]string, error) { return p.lacking, nil }

func (p *place) Preflight(_ context.Context, permissions []k8sadapter.Permission) []k8sadapter.Finding {
	var findings []k8sadapter.Finding
	for _, x := range permissions {
		p.asked++
		findings = append(findings, k8sadapter.Finding{Permission: x, Allowed: x.Verb != p.denied && p.away == nil, Err: p.away})
	}
	return findings
}

func (p *place) Undefined(context.Context) ([]string, error)  { return p.undefined, p.away }
func (p *place) PurgeModes(context.Context) ([]string, error) { return p.modes, p.away }
func (p *place) ClusterTaintPolicies(context.Context) ([]string, error) {
	return p.policies, p.away
}
func (p *place) SecondEvictor(context.Context) (string, error) { return p.evidence, p.away }
func (p *place) ControllerManagerFlags(context.Context, string, string) ([]string, error) {
	return p.flags, p.flagsErr
}

func (p *place) look(t *testing.T, mode rules.Mode, change ...func(*Preflight)) (map[string]Check, []Check) {
	t.Helper()
	all := Preflight{
		Temporal: p, Namespace: "lifeboat", Attributes: []string{"LifeboatCluster"}, Karmada: p, Host: p, Mode: mode,
		Permissions: k8sadapter.WorkerPermissions(mode),
	}
	for _, f := range change {
		f(&all)
	}
	checks := all.Run(t.Context())
	by := map[string]Check{}
	for _, c := range checks {
		require.NotEmpty(t, c.Found, c.Name)
		require.Equal(t, c.Result == Failed, c.Result == Failed && c.Do != "", "what failed says what to do: %+v", c)
		if by[c.Name].Result != Failed {
			by[c.Name] = c
		}
	}
	return by, checks
}

// Rules: R4.15-24.
func TestWhereEverythingIsFineThePreflightPasses(t *testing.T) {
	for _, mode := range []rules.Mode{rules.ModeObserve, rules.ModeEnforce} {
		_, checks := fine().look(t, mode)
		require.Equal(t, OK, Verdict(checks), "%+v", checks)
	}
}

// Rules: R4.15-15, R4.15-16, R4.15-17, R4.15-18, R4.15-24.
func TestEachThingThatIsWrongIsNamedWithWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*place)
		check  string
		result Result
		says   string
		do     string
	}{
		"no namespace": {
			change: func(p *place) { p.describe = serviceerror.NewNamespaceNotFound("lifeboat") },
			check:  "Temporal namespace lifeboat", result: Failed, says: "does not exist", do: "lifeboat setup",
		},
		"Temporal does not answer": {
			change: func(p *place) { p.describe = errors.New("away") }, check: "Temporal namespace lifeboat", result: Unknown, says: "away",
		},
		"reports go too soon": {
			change: func(p *place) { p.retention = time.Hour }, check: "Temporal namespace lifeboat", result: Warning, says: "1h0m0s", do: "24h",
		},
		"search attributes": {
			change: func(p *place) { p.lacking = []string{"LifeboatCluster"} },
			check:  "Temporal search attributes", result: Failed, says: "lacks LifeboatCluster", do: "lifeboat setup",
		},
		"definitions": {
			change: func(p *place) { p.undefined = []string{"clustertaintrules.failover.lifeboat.dev"} },
			check:  "Karmada definitions", result: Failed, says: "clustertaintrules", do: "lifeboat setup",
		},
		"an old Karmada": {
			change: func(p *place) { p.modes = []string{"Immediately", "Graciously", "Never"} }, check: "Karmada version", result: Failed, says: "up to 1.14", do: "upgrade",
		},
		"a Karmada that does not tell": {change: func(p *place) { p.modes = nil }, check: "Karmada version", result: Warning, says: "do not tell", do: "1.15"},
		"a permission": {
			change: func(p *place) { p.denied = "patch" },
			check:  "Karmada permissions", result: Failed, says: "may not patch clusters.cluster.karmada.io, which it needs to taint and untaint", do: "deploy/rbac",
		},
		"Karmada does not answer": {change: func(p *place) { p.away = errors.New("away") }, check: "Karmada permissions", result: Unknown, says: "away"},
	} {
		t.Run(name, func(t *testing.T) {
			p := fine()
			c.change(p)
			by, checks := p.look(t, rules.ModeEnforce)
			require.Equal(t, c.result, by[c.check].Result, "%+v", checks)
			require.Contains(t, by[c.check].Found, c.says)
			require.Contains(t, by[c.check].Do, c.do)
			require.Equal(t, c.result, Verdict(checks))
		})
	}
}

// Rules: R4.15-15.
func TestEachMissingPermissionIsNamedOnceAndAnOutageOnceForAll(t *testing.T) {
	p := fine()
	p.denied = "patch"
	_, checks := p.look(t, rules.ModeEnforce)
	failed := map[string]int{}
	for _, c := range checks {
		if c.Result == Failed {
			failed[c.Found]++
		}
	}
	require.Len(t, failed, 5, "clusters, both kinds of bindings, Works, Events")
	p = fine()
	p.away = errors.New("connection refused")
	_, checks = p.look(t, rules.ModeEnforce)
	told := 0
	for _, c := range checks {
		if c.Name == "Karmada permissions" && strings.Contains(c.Found, "refused") {
			told++
		}
	}
	require.Equal(t, 1, told)
}

// Rules: R4.15-19, R4.15-20, R4.15-21.
func TestASecondEvictorFailsEnforceAndIsOnlyWarnedOfInObserve(t *testing.T) {
	for name, change := range map[string]func(*place){
		"by its tasks": func(p *place) { p.evidence = "ResourceBinding shop/cart carries a task of producer TaintManager" },
		"by its flags": func(p *place) {
			p.flags = []string{"--feature-gates=Failover=true", "--enable-no-execute-taint-eviction=true"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := fine()
			change(p)
			by, checks := p.look(t, rules.ModeEnforce)
			require.Equal(t, Failed, by["Second evictor"].Result)
			require.Equal(t, rules.TurnOff, by["Second evictor"].Do)
			require.Equal(t, Failed, Verdict(checks))
			by, checks = p.look(t, rules.ModeObserve)
			require.Equal(t, Warning, by["Second evictor"].Result)
			require.Equal(t, Warning, Verdict(checks))
		})
	}
	by, _ := fine().look(t, rules.ModeEnforce, func(p *Preflight) { p.Host = nil })
	require.Equal(t, Warning, by["Karmada controllers"].Result, "what cannot be seen is said")
	require.Contains(t, by["Karmada controllers"].Do, "--enable-no-execute-taint-eviction=false")
	require.Equal(t, Warning, by["Second evictor"].Result, "without a task its flags alone would tell")
	require.Contains(t, by["Second evictor"].Found, "could not be checked")
	require.Equal(t, rules.TurnOff, by["Second evictor"].Do)
	away := fine()
	away.flagsErr = karmada.ErrForbidden
	by, _ = away.look(t, rules.ModeEnforce)
	require.Equal(t, Unknown, by["Karmada controllers"].Result)
	require.Contains(t, by["Second evictor"].Found, "could not be checked")
	by, _ = fine().look(t, rules.ModeEnforce)
	require.Equal(t, OK, by["Second evictor"].Result, "flags read, and no task")
}

// Rules: R4.15-22.
func TestTwoControllersOnTheSameRulesAreWarnedOf(t *testing.T) {
	both := func(p *Preflight) { p.KarmadaPolicies = true }
	p := fine()
	p.policies = []string{"not-ready"}
	by, _ := p.look(t, rules.ModeEnforce, both)
	require.Equal(t, OK, by["Rule sources"].Result, "Karmada's own is off")
	p.flags = []string{"--feature-gates=Failover=true"}
	by, _ = p.look(t, rules.ModeEnforce, both)
	require.Equal(t, Warning, by["Rule sources"].Result)
	require.Contains(t, by["Rule sources"].Found, "not-ready")
	by, _ = p.look(t, rules.ModeEnforce)
	require.Equal(t, OK, by["Rule sources"].Result, "Lifeboat leaves them alone")
	p.policies = nil
	by, _ = p.look(t, rules.ModeEnforce, both)
	require.Equal(t, OK, by["Rule sources"].Result, "there are none")
}

// Rules: R4.15-23.
func TestSeveralEvictPluginsUnderAnyAreWarnedOf(t *testing.T) {
	two := proof.Plugins{List: []proof.Plugin{{Name: proof.PluginResourceHealth}, {Name: "dns", TaskQueue: "q", Activity: "a"}}}
	for name, c := range map[string]struct {
		plugins proof.Plugins
		want    Result
	}{
		"one":         {plugins: proof.Plugins{List: two.List[1:]}, want: OK},
		"none named":  {plugins: proof.Plugins{}, want: OK},
		"two, any":    {plugins: proof.Plugins{List: two.List, Mode: proof.PluginsAny}, want: Warning},
		"two, as is":  {plugins: two, want: Warning},
		"all of them": {plugins: proof.Plugins{List: two.List, Mode: proof.PluginsAll}, want: OK},
	} {
		t.Run(name, func(t *testing.T) {
			by, checks := fine().look(t, rules.ModeEnforce, func(p *Preflight) { p.Plugins = c.plugins })
			require.Equal(t, c.want, by["Evict plug-ins"].Result)
			require.Equal(t, c.want, Verdict(checks), "it is warned of, and refused by nobody")
			require.Contains(t, by["Evict plug-ins"].Found, c.plugins.All()[0].Name)
			if c.want == Warning {
				require.Contains(t, by["Evict plug-ins"].Found, "dns")
				require.Contains(t, by["Evict plug-ins"].Do, "evictPluginsMode: all")
			}
		})
	}
}
