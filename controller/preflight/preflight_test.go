package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/controller/plan"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
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
		Temporal: p, Namespace: "lifeboat", Karmada: p, Host: p, Mode: mode,
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
func TestPreflight_AllFine_Passes(t *testing.T) {
	for _, mode := range []rules.Mode{rules.ModeObserve, rules.ModeEnforce} {
		_, checks := fine().look(t, mode)
		require.Equal(t, OK, Verdict(checks), "%+v", checks)
	}
}

// Rules: R4.15-15, R4.15-16, R4.15-17, R4.15-18, R4.15-24.
func TestPreflight_Problems_AreNamedWithWhatToDo(t *testing.T) {
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
		"a Karmada without purge modes": {change: func(p *place) { p.modes = nil }, check: "Karmada version", result: Warning, says: "list no purge modes", do: "1.15"},
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
func TestPreflight_MissingPermissions_AreNamedOnce(t *testing.T) {
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
func TestPreflight_SecondEvictor_FailsInEnforceAndWarnsInObserve(t *testing.T) {
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
	require.Contains(t, by["Karmada controllers"].Found, "no state goes along")
	stateful := fine()
	stateful.flags = append(stateful.flags, "--feature-gates=StatefulFailoverInjection=true")
	by, _ = stateful.look(t, rules.ModeEnforce)
	require.NotContains(t, by["Karmada controllers"].Found, "no state goes along")
}

// Rules: R4.15-22.
func TestPreflight_TwoControllersOnTheSameRules_Warns(t *testing.T) {
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
func TestPreflight_SeveralPluginsWithModeAny_Warns(t *testing.T) {
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
			require.Equal(t, c.want, Verdict(checks), "a warning, no failure")
			require.Contains(t, by["Evict plug-ins"].Found, c.plugins.All()[0].Name)
			if c.want == Warning {
				require.Contains(t, by["Evict plug-ins"].Found, "dns")
				require.Contains(t, by["Evict plug-ins"].Do, "evictPluginsMode: all")
			}
		})
	}
}

// objects is a Karmada with these answers.
type objects struct {
	inventory []k8sadapter.Inventory
	watched   []k8sadapter.Watched
	behind    bool
}

func (k *objects) Inventory(context.Context, k8sadapter.May) []k8sadapter.Inventory {
	return k.inventory
}

func (k *objects) Watches(_ context.Context, may k8sadapter.May) []k8sadapter.Watched {
	return slices.DeleteFunc(slices.Clone(k.watched), func(w k8sadapter.Watched) bool { return may != nil && !may("watch", w.Resource) })
}

func (k *objects) InStep(ctx context.Context) (k8sadapter.Sight, error) {
	if k.behind {
		<-ctx.Done()
		return k8sadapter.Sight{}, ctx.Err()
	}
	return k8sadapter.Sight{Clusters: 3, Rules: 1, Bindings: 7, Applications: 4}, nil
}

// sound is a Karmada with nothing wrong, and how to try it.
func sound() (*objects, *Full) {
	k := &objects{
		inventory: []k8sadapter.Inventory{
			{Resource: "clusters.cluster.karmada.io", Count: 3},
			{Resource: "clustertaintpolicies.policy.karmada.io", Absent: true},
		},
		watched: []k8sadapter.Watched{
			{Resource: "clusters.cluster.karmada.io", Events: 2},
			{Resource: "clustertaintpolicies.policy.karmada.io", Absent: true},
		},
	}
	return k, &Full{
		Karmada: k, SyncWithin: time.Minute,
		Preflight: func(_ context.Context, applications int) []Check {
			return []Check{{Name: "Second evictor", Result: Warning, Found: fmt.Sprint(applications)}}
		},
		Plan: func(context.Context) ([]plan.Plan, error) {
			return []plan.Plan{{Foresight: activities.Foresight{Cluster: "m2"}, Totals: plan.Totals{Migrations: 5, Blocked: 2}}, {Foresight: activities.Foresight{Cluster: "m1"}}}, nil
		},
	}
}

func check(t *testing.T, r Report, name string) Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q in %+v", name, r.Checks)
	return Check{}
}

// A worker watches nothing, and its kubeconfig may not.
func TestFull_RoleThatWatchesNothing_TriesNoWatch(t *testing.T) {
	k, v := sound()
	k.behind, v.SyncWithin = true, time.Millisecond
	k.watched[0].Err = karmada.ErrForbidden
	require.Equal(t, Failed, v.Run(t.Context()).Verdict)
	v.May = func(verb, _ string) bool { return verb == "list" }
	r := v.Run(t.Context())
	require.Equal(t, Warning, r.Verdict, "%+v", r.Checks)
	for _, c := range r.Checks {
		require.NotContains(t, c.Name, "Watch")
	}
}

func TestFull_SoundKarmada_Passes(t *testing.T) {
	_, v := sound()
	r := v.Run(t.Context())
	require.Equal(t, Warning, r.Verdict, "the preflight's checks count, too: %+v", r.Checks)
	require.Equal(t, map[string]int{"clusters.cluster.karmada.io": 3}, r.Objects)
	require.Equal(t, "3, all understood", check(t, r, "Read clusters").Found)
	require.Equal(t, "not served here", check(t, r, "Read clustertaintpolicies").Found)
	require.Equal(t, OK, check(t, r, "Watch clustertaintpolicies").Result, "an older Karmada does without")
	require.Contains(t, check(t, r, "Watch everything").Found, "3 clusters, 1 rules, 7 bindings")
	require.Equal(t, "4", check(t, r, "Second evictor").Found, "the other checks learn what was seen")
	require.Contains(t, check(t, r, "Plan").Found, "2 clusters; worst to lose would be m2: 5 would move, 2 could not")
}

// Rules: R4.15-26.
func TestFull_AnyFailure_FailsAndIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(*objects, *Full)
		check  string
		says   string
	}{
		"an object that cannot be understood": {
			breaks: func(k *objects, _ *Full) {
				k.inventory[0].Malformed = []k8sadapter.MalformedObject{{Name: "m3", Problem: "spec: no"}}
			},
			check: "Read clusters", says: "3, of which 1 cannot be understood:\nm3: spec: no",
		},
		"a resource that cannot be read": {
			breaks: func(k *objects, _ *Full) { k.inventory[0].Err = errors.New("forbidden") }, check: "Read clusters", says: "forbidden",
		},
		"a resource that is not served": {
			breaks: func(k *objects, _ *Full) { k.inventory[0].Absent = true }, check: "Read clusters", says: "not served here",
		},
		"a watch that cannot be opened": {
			breaks: func(k *objects, _ *Full) { k.watched[0].Err = errors.New("may not watch") }, check: "Watch clusters", says: "may not watch",
		},
		"a watch that is never in step": {
			breaks: func(k *objects, v *Full) { k.behind, v.SyncWithin = true, time.Millisecond }, check: "Watch everything", says: "deadline",
		},
		"a plan that cannot be made": {
			breaks: func(_ *objects, v *Full) {
				v.Plan = func(context.Context) ([]plan.Plan, error) { return nil, errors.New("no rules") }
			},
			check: "Plan", says: "no rules",
		},
		"a failed check of the preflight": {
			breaks: func(_ *objects, v *Full) {
				v.Preflight = func(context.Context, int) []Check {
					return []Check{{Name: "Karmada version", Result: Failed, Found: "too old"}}
				}
			},
			check: "Karmada version", says: "too old",
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, v := sound()
			c.breaks(k, v)
			r := v.Run(t.Context())
			require.Equal(t, Failed, r.Verdict)
			found := check(t, r, c.check)
			require.Equal(t, Failed, found.Result)
			require.Contains(t, found.Found, c.says)
			require.Len(t, r.Checks, 7, "nothing that fails keeps another thing from being tried")
		})
	}
}

func TestFull_SilentServer_IsUnknown(t *testing.T) {
	k, v := sound()
	k.inventory[0].Err = fmt.Errorf("list clusters: %w", karmada.ErrUnreachable)
	k.watched[0].Err = &karmada.ThrottledError{}
	r := v.Run(t.Context())
	require.Equal(t, Unknown, check(t, r, "Read clusters").Result)
	require.Equal(t, Unknown, check(t, r, "Watch clusters").Result)
	require.Equal(t, Unknown, r.Verdict)

	for n := range k.inventory {
		k.inventory[n].Err = karmada.ErrUnreachable
	}
	r = v.Run(t.Context())
	require.Equal(t, Unknown, r.Verdict)
	require.Len(t, r.Checks, len(k.inventory), "no other check waits for a silent server")
}

func TestFull_ReportHasEveryMalformedObject(t *testing.T) {
	k, v := sound()
	for range 9 {
		k.inventory[0].Malformed = append(k.inventory[0].Malformed, k8sadapter.MalformedObject{Name: "m"})
	}
	require.Len(t, v.Run(t.Context()).Malformed["clusters.cluster.karmada.io"], 9)
}

// server is a Temporal whose frontends learn of new things after a while.
type server struct {
	workflowservice.WorkflowServiceClient
	operatorservice.OperatorServiceClient
	namespaceAt  time.Time // zero: there is none
	retention    time.Duration
	attributes   map[string]enumspb.IndexedValueType
	attributesAt time.Time
	denied       error
	updates      int
}

const lag = 40 * time.Second

func (s *server) WorkflowService() workflowservice.WorkflowServiceClient { return s }
func (s *server) OperatorService() operatorservice.OperatorServiceClient { return s }

func (s *server) DescribeNamespace(
	context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption,
) (*workflowservice.DescribeNamespaceResponse, error) {
	if s.denied != nil {
		return nil, s.denied
	}
	if s.namespaceAt.IsZero() || time.Now().Before(s.namespaceAt) {
		return nil, serviceerror.NewNamespaceNotFound("lifeboat")
	}
	return &workflowservice.DescribeNamespaceResponse{Config: &namespacepb.NamespaceConfig{
		WorkflowExecutionRetentionTtl: durationpb.New(s.retention),
	}}, nil
}

func (s *server) RegisterNamespace(
	_ context.Context, r *workflowservice.RegisterNamespaceRequest, _ ...grpc.CallOption,
) (*workflowservice.RegisterNamespaceResponse, error) {
	s.namespaceAt, s.retention = time.Now().Add(lag), r.GetWorkflowExecutionRetentionPeriod().AsDuration()
	return &workflowservice.RegisterNamespaceResponse{}, nil
}

func (s *server) UpdateNamespace(
	_ context.Context, r *workflowservice.UpdateNamespaceRequest, _ ...grpc.CallOption,
) (*workflowservice.UpdateNamespaceResponse, error) {
	s.retention = r.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	s.updates++
	return &workflowservice.UpdateNamespaceResponse{}, nil
}

func (s *server) AddSearchAttributes(
	_ context.Context, r *operatorservice.AddSearchAttributesRequest, _ ...grpc.CallOption,
) (*operatorservice.AddSearchAttributesResponse, error) {
	s.attributes, s.attributesAt = r.GetSearchAttributes(), time.Now().Add(lag)
	return &operatorservice.AddSearchAttributesResponse{}, nil
}

func (s *server) Lacking(_ context.Context, names []string) ([]string, error) {
	if s.attributes == nil || time.Now().Before(s.attributesAt) {
		return names, nil
	}
	return nil, nil
}

type definer struct{ installed int }

func (k *definer) InstallCRDs(context.Context) error { k.installed++; return nil }

func TestSetup_CreatesWhatIsMissingAndWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, out := &server{}, &definer{}, &strings.Builder{}
		begun := time.Now()
		setup := Setup{Temporal: s, Namespace: "lifeboat", Retention: 48 * time.Hour, Karmada: k, Out: out}
		result := fixtures.Must(setup.Run(t.Context()))(t)
		require.Equal(t, Standing{
			Namespace: "lifeboat", Created: true, Retention: "48h0m0s", Attributes: result.Attributes, Definitions: true,
			Done: strings.Split(strings.TrimSpace(out.String()), "\n"),
		}, result)
		require.Len(t, result.Done, 3)
		require.Len(t, result.Attributes, len(workflows.SearchAttributeNames()))
		require.GreaterOrEqual(t, time.Since(begun), 2*lag)
		require.Equal(t, 48*time.Hour, s.retention)
		require.Len(t, s.attributes, len(workflows.SearchAttributeNames()))
		require.Equal(t, 1, k.installed)
		fixtures.ContainsAll(t, out.String(), "created namespace lifeboat", "LifeboatCluster")

		begun, s.retention = time.Now(), 72*time.Hour
		result = fixtures.Must(setup.Run(t.Context()))(t)
		require.Zero(t, time.Since(begun), "what is there is not made again")
		require.Equal(t, Standing{Namespace: "lifeboat", Retention: "72h0m0s", Definitions: true, Done: result.Done}, result)
	})
}

func TestSetup_WithoutKarmada_InstallsNoCRDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		result := fixtures.Must(Setup{Temporal: &server{}, Namespace: "lifeboat", Out: &strings.Builder{}}.Run(t.Context()))(t)
		require.False(t, result.Definitions)
	})
}

func TestSetup_Denied_IsAnError(t *testing.T) {
	denied := errors.New("denied")
	_, err := Setup{Temporal: &server{denied: denied}, Namespace: "lifeboat", Out: &strings.Builder{}}.Run(t.Context())
	require.ErrorIs(t, err, denied)
}

func TestSetup_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Setup{Temporal: &server{}, Namespace: "lifeboat", Out: &strings.Builder{}}.Run(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// Rules: R4.16-8.
func TestSetup_Retention_IsSetOnlyWhenGiven(t *testing.T) {
	s, out := &server{namespaceAt: time.Now().Add(-time.Hour), retention: 24 * time.Hour, attributes: map[string]enumspb.IndexedValueType{}}, &strings.Builder{}
	setup := Setup{Temporal: s, Namespace: "lifeboat", Retention: 720 * time.Hour, Out: out}
	result := fixtures.Must(setup.Run(t.Context()))(t)
	require.Equal(t, "24h0m0s", result.Retention)
	require.Contains(t, out.String(), "it keeps closed workflows for 24h0m0s")
	require.Zero(t, s.updates, "no retention was given")

	setup.SetRetention = true
	for range 2 {
		result = fixtures.Must(setup.Run(t.Context()))(t)
		require.Equal(t, "720h0m0s", result.Retention)
	}
	require.Equal(t, 720*time.Hour, s.retention)
	require.Equal(t, 1, s.updates)
	require.Contains(t, out.String(), "keeps closed workflows for 720h0m0s now; it was 24h0m0s")
}

// Rules: R4.15-20.
func TestApplications_TwoThatMoveThem_IsRefused(t *testing.T) {
	on, off := &rules.ControllerManager{Applications: true}, &rules.ControllerManager{}
	for name, c := range map[string]struct {
		enabled bool
		manager *rules.ControllerManager
		fields  int
		want    Result
		found   string
	}{
		"both":           {enabled: true, manager: on, want: Failed, found: "both"},
		"Lifeboat alone": {enabled: true, manager: off, want: OK, found: "Lifeboat alone"},
		"not known":      {enabled: true, want: Warning, found: "could not be checked"},
		"Karmada alone":  {manager: on, want: OK, found: "Karmada's own"},
		"neither":        {manager: off, want: OK, found: "nothing follows"},
		"neither, and bindings want it": {
			manager: off, fields: 12, want: Warning, found: "12 bindings with spec.failover.application, and nothing follows it",
		},
		"Karmada alone, and bindings want it": {manager: on, fields: 12, want: OK, found: "Karmada's own"},
	} {
		t.Run(name, func(t *testing.T) {
			check := Preflight{Applications: c.enabled, WithField: c.fields}.applications(c.manager)
			require.Equal(t, c.want, check.Result)
			require.Contains(t, check.Found, c.found)
			require.Equal(t, c.want != OK, check.Do != "")
		})
	}
}
