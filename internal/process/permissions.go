package process

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
)

// TurnOff are the flags of Karmada's controller manager that leave evictions to
// Lifeboat, in the order in which they are set: gracefulEviction is what ends the tasks
// of the taint manager, so it is turned off when none is left.
const TurnOff = `set these flags of karmada-controller-manager, in this order:
  1. --feature-gates=Failover=false
     --enable-taint-manager=false
     --enable-no-execute-taint-eviction=false
  2. when no task of producer TaintManager is left (lifeboat preflight looks for them):
     --controllers=*,-gracefulEviction,-applicationFailover,-clustertaintpolicy`

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
	return fmt.Errorf("%w in Karmada, grant (see deploy/rbac):\n%s", failover.ErrForbidden, strings.Join(lines, "\n"))
}
