// Package preflight checks whether Lifeboat can work with a Temporal and a Karmada, and says what to do about
// problems; in full it tries everything except writing. Setup prepares a Temporal namespace and a Karmada: it
// alone writes, and it changes nothing that exists.
package preflight

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

// Result is the result of a check.
type Result string

// The results. Only Failed and Unknown keep a preflight from passing.
const (
	OK      Result = "ok"
	Warning Result = "warning"
	Failed  Result = "failed"
	Unknown Result = "unknown" // no answer
)

// Check is one check with its result.
type Check struct {
	Name   string `json:"name"`
	Result Result `json:"result"`
	Found  string `json:"found"`
	Do     string `json:"do,omitempty"` // what to do about it
}

// Temporal is the part of Temporal that is checked.
type Temporal interface {
	WorkflowService() workflowservice.WorkflowServiceClient
	// Lacking are the search attributes that the namespace does not have.
	Lacking(ctx context.Context, attributes []string) ([]string, error)
}

// Karmada is the part of Karmada's API that is checked.
type Karmada interface {
	process.Asker
	Undefined(ctx context.Context) ([]string, error)
	PurgeModes(ctx context.Context) ([]string, error)
	ClusterTaintPolicies(ctx context.Context) ([]string, error)
	SecondEvictor(ctx context.Context) (evidence string, err error)
}

// Host is the cluster that Karmada's own controllers run in.
type Host interface {
	ControllerManagerFlags(ctx context.Context, namespace, name string) ([]string, error)
}

// Preflight is the configuration of the checks.
type Preflight struct {
	// Temporal is nil if it is not checked.
	Temporal  Temporal
	Namespace string
	Karmada   Karmada
	// Host is nil if the operator did not name it.
	Host                                   Host
	ControllerNamespace, ControllerManager string
	// Callers is why the settings are the caller's alone; empty if they are the workers'.
	Callers string
	// Mode is enforce when any cluster is handled so.
	Mode        rules.Mode
	Permissions []k8sadapter.Permission
	// KarmadaPolicies reports that Lifeboat acts on ClusterTaintPolicies, too.
	KarmadaPolicies bool
	// Applications reports that Lifeboat acts on spec.failover.application; WithField counts the bindings that have
	// it, 0 if they were not read.
	Applications bool
	WithField    int
	// Plugins are the plug-ins that prove a new copy healthy.
	Plugins proof.Plugins
}

// Run runs every check.
func (p Preflight) Run(ctx context.Context) []Check {
	var checks []Check
	if p.Temporal != nil {
		checks = append(checks, p.namespace(ctx), p.attributes(ctx))
	}
	checks = append(checks, p.settings(), p.definitions(ctx), p.version(ctx))
	checks = append(checks, p.permissions(ctx)...)
	manager, seen := p.manager(ctx)
	return append(checks, seen, p.evictor(ctx, manager), p.rules(ctx, manager), p.applications(manager), p.plugins())
}

// Verdict is the worst result of all: Failed before Unknown before Warning.
func Verdict(checks []Check) Result {
	verdict := OK
	rank := map[Result]int{OK: 0, Warning: 1, Unknown: 2, Failed: 3}
	for _, c := range checks {
		if rank[c.Result] > rank[verdict] {
			verdict = c.Result
		}
	}
	return verdict
}

func unknown(name string, err error) Check {
	return Check{Name: name, Result: Unknown, Found: err.Error()}
}

// settings names the source of the configuration.
func (p Preflight) settings() Check {
	c := Check{Name: "Configuration", Result: OK, Found: "mode " + string(p.Mode) + ": what the workers publish, and over it what this command says"}
	if p.Callers != "" {
		c.Found = "mode " + string(p.Mode) + ": what this command says; of the workers' none: " + p.Callers
	}
	return c
}

// shortRetention is the least retention without a warning.
const shortRetention = 24 * time.Hour

func (p Preflight) namespace(ctx context.Context) Check {
	c := Check{Name: "Temporal namespace " + p.Namespace}
	answer, err := p.Temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: p.Namespace})
	if process.IsA[*serviceerror.NamespaceNotFound](err) {
		c.Result, c.Found, c.Do = Failed, "it does not exist", process.SetupHint
		return c
	}
	if err != nil {
		return unknown(c.Name, err)
	}
	retention := answer.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	c.Result, c.Found = OK, fmt.Sprintf("keeps closed workflows, and so reports, for %s", retention)
	if retention < shortRetention {
		c.Result, c.Do = Warning, fmt.Sprintf("keep them for %s or longer: temporal operator namespace update --retention", shortRetention)
	}
	return c
}

func (p Preflight) attributes(ctx context.Context) Check {
	names := workflows.SearchAttributeNames()
	c := Check{Name: "Temporal search attributes", Result: OK, Found: strings.Join(names, ", ")}
	lacking, err := p.Temporal.Lacking(ctx, names)
	switch {
	case err != nil:
		return unknown(c.Name, err)
	case len(lacking) > 0:
		c.Result, c.Found, c.Do = Failed, "the namespace lacks "+strings.Join(lacking, ", "), process.SetupHint
	}
	return c
}

func (p Preflight) definitions(ctx context.Context) Check {
	c := Check{Name: "Karmada definitions", Result: OK, Found: "all that are needed are served"}
	missing, err := p.Karmada.Undefined(ctx)
	switch {
	case err != nil:
		return unknown(c.Name, err)
	case len(missing) > 0:
		c.Result, c.Found = Failed, "not served: "+strings.Join(missing, ", ")
		c.Do = process.SetupHint + " for clustertaintrules; for any other this is no Karmada API server"
	}
	return c
}

func (p Preflight) version(ctx context.Context) Check {
	c := Check{Name: "Karmada version", Result: OK}
	modes, err := p.Karmada.PurgeModes(ctx)
	if err != nil {
		return unknown(c.Name, err)
	}
	switch wrong := rules.OldPurgeModes(modes); {
	case len(modes) == 0:
		c.Result, c.Found, c.Do = Warning, "its definitions list no purge modes", "make sure that it is 1.15 or newer"
	case wrong != "":
		c.Result, c.Found, c.Do = Failed, wrong, "upgrade Karmada"
	default:
		c.Found = "its eviction tasks support " + strings.Join(modes, ", ")
	}
	return c
}

// permissions checks each permission. Granted ones share one line.
func (p Preflight) permissions(ctx context.Context) []Check {
	const name = "Karmada permissions"
	var out []Check
	granted := 0
	for _, f := range p.Karmada.Preflight(ctx, p.Permissions) {
		switch {
		case f.Err != nil:
			return append(out, unknown(name, f.Err)) // no further permission is checked: the server does not answer
		case f.Allowed:
			granted++
		default:
			out = append(out, Check{
				Name: name, Result: Failed, Found: fmt.Sprintf("may not %s, which it needs to %s", f.Permission, f.Permission.Why),
				Do: "grant it, see deploy/rbac",
			})
		}
	}
	return append([]Check{{Name: name, Result: OK, Found: fmt.Sprintf("%d of %d are granted", granted, len(p.Permissions))}}, out...)
}

// manager reads the flags of Karmada's controller manager, if the host is known.
func (p Preflight) manager(ctx context.Context) (*rules.ControllerManager, Check) {
	c := Check{Name: "Karmada controllers", Result: OK}
	if p.Host == nil {
		c.Result, c.Found = Warning, "could not be checked: they run in another cluster"
		c.Do = "name it with --host-kubeconfig or karmada.hostKubeconfig, or make sure of this by yourself: " + rules.TurnOff
		return nil, c
	}
	flags, err := p.Host.ControllerManagerFlags(ctx, p.ControllerNamespace, p.ControllerManager)
	if err != nil {
		return nil, unknown(c.Name, err)
	}
	m := rules.ReadControllerManager(flags)
	c.Found = fmt.Sprintf("read the flags of %s/%s", p.ControllerNamespace, p.ControllerManager)
	if !m.State {
		c.Found += "; StatefulFailoverInjection is off: no state goes along (spec.failover.cluster.statePreservation)"
	}
	return &m, c
}

// evictor looks for a second evictor, which fails the check in enforce.
func (p Preflight) evictor(ctx context.Context, m *rules.ControllerManager) Check {
	c := Check{Name: "Second evictor", Result: OK, Found: "no sign of one"}
	evidence, err := p.Karmada.SecondEvictor(ctx)
	if err != nil {
		return unknown(c.Name, err)
	}
	signs := evidence
	if m != nil {
		signs = show.Joined("; ", evidence, m.Evicts)
	}
	switch {
	case signs == "" && m == nil:
		// Without a failure the taint manager writes no task: only its flags report whether it will.
		c.Result, c.Found, c.Do = Warning, "no task of producer "+karmada.TaintManager+" stands; the flags could not be checked", rules.TurnOff
		return c
	case signs == "":
		return c
	}
	c.Result, c.Found, c.Do = Failed, signs, rules.TurnOff
	if p.Mode != rules.ModeEnforce {
		c.Result = Warning // who observes may watch another one evict
	}
	return c
}

// rules warns of two controllers that act on the same rules.
func (p Preflight) rules(ctx context.Context, m *rules.ControllerManager) Check {
	c := Check{Name: "Rule sources", Result: OK, Found: "Lifeboat acts on ClusterTaintRules"}
	if !p.KarmadaPolicies {
		return c
	}
	policies, err := p.Karmada.ClusterTaintPolicies(ctx)
	if err != nil {
		return unknown(c.Name, err)
	}
	switch {
	case len(policies) > 0 && (m == nil || m.Taints):
		c.Result, c.Found = Warning, "Lifeboat acts on ClusterTaintPolicies ("+strings.Join(policies, ", ")+"), and Karmada's own controller does or may, too"
		c.Do = "set rules.karmadaPolicies: false, or --controllers=*,-clustertaintpolicy of karmada-controller-manager"
	case len(policies) > 0:
		c.Found = fmt.Sprintf("ClusterTaintRules and %d ClusterTaintPolicies, by Lifeboat alone", len(policies))
	}
	return c
}

// applications fails where Karmada's own controller moves applications as well.
func (p Preflight) applications(m *rules.ControllerManager) Check {
	c := Check{Name: "Application failover", Result: OK, Found: "Karmada's own controller follows spec.failover.application"}
	const off = "--controllers=*,-applicationFailover of karmada-controller-manager"
	switch {
	case p.Applications && m == nil:
		c.Result, c.Found, c.Do = Warning, "Lifeboat follows spec.failover.application; whether Karmada's own controller does, too, could not be checked", "make sure of "+off
	case p.Applications && m.Applications:
		c.Result, c.Found, c.Do = Failed, "both Lifeboat and Karmada's own controller move applications that are Unhealthy", "set applicationFailover.enabled: false, or "+off
	case p.Applications:
		c.Found = "Lifeboat alone follows spec.failover.application"
	case m != nil && !m.Applications && p.WithField > 0:
		c.Result, c.Do = Warning, "set applicationFailover.enabled: true"
		c.Found = reason.Count(p.WithField, "binding") + " with spec.failover.application, and nothing follows it"
	case m != nil && !m.Applications:
		c.Found = "nothing follows spec.failover.application: Karmada's own controller is off, and so is applicationFailover.enabled"
	case m == nil:
		c.Found = "applicationFailover.enabled is off"
	}
	return c
}

// plugins warns of several plug-ins of which any one releases an old copy.
func (p Preflight) plugins() Check {
	names := reason.Texts(p.Plugins.All(), func(x proof.Plugin) string { return x.Name })
	c := Check{Name: "Evict plug-ins", Result: OK, Found: strings.Join(names, ", ")}
	if p.Plugins.AnyOfSeveral() {
		c.Result, c.Found = Warning, proof.WarnAnyOfSeveral+" ("+c.Found+")"
		c.Do = "set evictPluginsMode: all, unless each of them is enough by itself"
	}
	return c
}
