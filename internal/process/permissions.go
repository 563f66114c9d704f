package process

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
)

// TurnOff is [rules.TurnOff].
const TurnOff = rules.TurnOff

// Asker asks Karmada's API server what it would allow.
type Asker interface {
	Preflight(ctx context.Context, permissions []k8sadapter.Permission) []k8sadapter.Finding
}

// Permitted is nil when every permission is granted. Otherwise the error names
// every verb and resource that is missing, and what it is needed for.
func Permitted(ctx context.Context, asker Asker, permissions []k8sadapter.Permission) error {
	missing := k8sadapter.Missing(asker.Preflight(ctx, permissions))
	if len(missing) == 0 {
		return nil
	}
	lines := make([]string, len(missing))
	unasked := ""
	for i, f := range missing {
		lines[i] = fmt.Sprintf("  %s: to %s", f.Permission, f.Permission.Why)
		if f.Err != nil {
			lines[i] += " (could not be asked)"
			unasked = cmp.Or(unasked, f.Err.Error())
		}
	}
	if unasked != "" { // the same answer for each of them: it is told once
		lines = append(lines, "the API server said: "+unasked)
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

// LeasePermissions are what a worker needs for the Leases that its releases read.
func LeasePermissions(c config.Config) []k8sadapter.Permission {
	all := k8sadapter.ManagerPermissions(c.Acts(), c.Karmada.ManagerLease.Namespace, c.Karmada.ManagerLease.Name)
	if election := c.Controller.LeaderElection; election.Enabled {
		all = append(all, k8sadapter.ControllerLeasePermissions(c.Acts(), election.Namespace, LeaseName(c.Instance))...)
	}
	return all
}
