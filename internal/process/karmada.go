package process

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
)

// Karmada is a client of the configured Karmada; program is for its user agent.
func Karmada(program string, c config.Config, log *slog.Logger, readOnly bool) (*k8sadapter.Client, error) {
	return k8sadapter.NewClient(c.Kubernetes.Kubeconfig, c.Kubernetes.Context, k8sadapter.Options{
		QPS: float32(c.Kubernetes.QPS), Burst: c.Kubernetes.Burst, ReadOnly: readOnly,
		UserAgent: program + "/" + telemetry.Version, Logger: log, Policies: PolicyWindows(c),
		DrainDeleting: c.OnDeletion == rules.DeletionDrain,
	})
}

// Serve serves health and metrics of a program, with the metrics of its credentials.
func (t *Temporal) Serve(ctx context.Context, c config.Config, registry telemetry.Registry, api *k8sadapter.Client, log *slog.Logger) (*telemetry.Server, error) {
	secure, err := ServerTLS(c, log)
	if err != nil {
		return nil, err
	}
	credentials := slices.Clone(t.Credentials)
	for _, c := range api.Credentials() {
		credentials = append(credentials, telemetry.Credential{Server: "karmada", File: c.File, Value: c.Value})
	}
	telemetry.PublishCredentials(registry, credentials)
	server := &telemetry.Server{Address: c.Listen.Address, Registry: registry, Log: log, TLS: secure, Ready: []telemetry.Check{
		{Name: "temporal", Run: t.Healthy},
		{Name: "karmada", Run: api.Healthy},
	}}
	return server, server.Start(ctx)
}

// Asker checks permissions at Karmada's API server.
type Asker interface {
	Preflight(ctx context.Context, permissions []k8sadapter.Permission) []k8sadapter.Finding
}

// Permitted returns nil when every permission is granted. Otherwise the error names every
// missing verb and resource, and its purpose.
func Permitted(ctx context.Context, asker Asker, permissions []k8sadapter.Permission) error {
	missing := slices.DeleteFunc(asker.Preflight(ctx, permissions), func(f k8sadapter.Finding) bool { return f.Allowed })
	if len(missing) == 0 {
		return nil
	}
	var lines []string
	failure := ""
	for _, f := range missing {
		line := fmt.Sprintf("  %s: to %s", f.Permission, f.Permission.Why)
		if f.Err != nil {
			line += " (could not be checked)"
			failure = cmp.Or(failure, f.Err.Error())
		}
		lines = append(lines, line)
	}
	if failure != "" { // it is the same for each permission
		lines = append(lines, "the API server said: "+failure)
	}
	return fmt.Errorf("%w in Karmada, grant (see deploy/rbac):\n%s", karmada.ErrForbidden, strings.Join(lines, "\n"))
}

// controllerLease is the Lease of the controller without an instance.
const controllerLease = "lifeboat-controller"

// LeaseName is the leader Lease of the controller of an instance, empty for none.
func LeaseName(instance string) string {
	if instance == "" {
		return controllerLease
	}
	return controllerLease + "-" + instance
}

// WorkerPermissions are a worker's permissions under this configuration.
func WorkerPermissions(c config.Config) []k8sadapter.Permission {
	all := slices.Concat(k8sadapter.WorkerPermissions(c.Acts()), leasePermissions(c), PolicyPermissions(c, "list"))
	if c.Health.Probe == config.ProbeProxy {
		all = append(all, k8sadapter.ProxyPermissions(c.Acts())...)
	}
	return all
}

// leasePermissions are what a worker needs for the Leases that its releases read.
func leasePermissions(c config.Config) []k8sadapter.Permission {
	all := k8sadapter.ManagerPermissions(c.Acts(), c.Karmada.ManagerLease.Namespace, c.Karmada.ManagerLease.Name)
	if election := c.Controller.LeaderElection; election.Enabled {
		all = append(all, k8sadapter.ControllerLeasePermissions(c.Acts(), election.Namespace, LeaseName(c.Instance))...)
	}
	return all
}

// PolicyWindows are the windows of ClusterTaintPolicies as configured; nil where
// Karmada's policies are not honoured.
func PolicyWindows(c config.Config) *k8sadapter.PolicyWindows {
	if !c.Rules.KarmadaPolicies {
		return nil
	}
	return &k8sadapter.PolicyWindows{AddOnMatch: c.Rules.AddOnMatch, RemoveOnMismatch: c.Rules.RemoveOnMismatch}
}

// PolicyPermissions are what a process needs besides, verb by verb, for that source.
func PolicyPermissions(c config.Config, verbs ...string) []k8sadapter.Permission {
	if !c.Rules.KarmadaPolicies {
		return nil
	}
	return k8sadapter.PolicyPermissions(verbs...)
}
