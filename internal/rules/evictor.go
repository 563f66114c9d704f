package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// TurnOff are the flags of Karmada's controller manager that leave evictions to
// Lifeboat, in the order in which they are set: gracefulEviction is what ends the tasks
// of the taint manager and of applicationFailover, so it is turned off when none is left.
const TurnOff = `set these flags of karmada-controller-manager, in this order:
  1. --feature-gates=Failover=false
     --enable-taint-manager=false
     --enable-no-execute-taint-eviction=false
     --controllers=*,-applicationFailover,-clustertaintpolicy
  2. when no task of another producer is left (lifeboat preflight looks for those of TaintManager):
     --controllers=*,-gracefulEviction,-applicationFailover,-clustertaintpolicy`

// SecondEvictorAt says why a failover is paused, and what to do, in one line.
func SecondEvictorAt(b karmada.BindingKey, cluster string) string {
	return fmt.Sprintf("%s: a task of producer %s for %s stands on %s; %s; then resume",
		reason.SecondEvictor, karmada.TaintManager, cluster, b, strings.Join(strings.Fields(TurnOff), " "))
}

// ControllerManager is what the flags of karmada-controller-manager say about moving
// workloads beside Lifeboat.
type ControllerManager struct {
	// Evicts is why its taint manager evicts, empty when it does not.
	Evicts string
	// Taints reports that its own ClusterTaintPolicy controller acts.
	Taints bool
	// Applications reports that its own applicationFailover controller moves workloads.
	Applications bool
	// State reports that it gives a new copy the state that an eviction preserves.
	State bool
}

// ReadControllerManager reads the flags as Karmada does: its taint manager evicts only
// with the Failover gate (off by default), --enable-taint-manager (on by default) and
// --enable-no-execute-taint-eviction (off by default); ClusterTaintPolicies are acted
// on only with that gate. The gate StatefulFailoverInjection is off by default.
func ReadControllerManager(args []string) ControllerManager {
	gate, manager, eviction, state := false, true, false, false
	off, applications := false, true
	for _, arg := range args {
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		on := !given || value == "true"
		switch name {
		case "feature-gates":
			gate, state = gateOn("Failover", value, gate), gateOn("StatefulFailoverInjection", value, state)
		case "enable-taint-manager":
			manager = on
		case "enable-no-execute-taint-eviction":
			eviction = on
		case "controllers":
			off, applications = leavesOut(value, "clustertaintpolicy"), !leavesOut(value, "applicationFailover")
		}
	}
	out := ControllerManager{Taints: gate && !off, Applications: applications, State: state}
	if gate && manager && eviction {
		out.Evicts = "karmada-controller-manager runs with --feature-gates=Failover=true, its taint manager and --enable-no-execute-taint-eviction"
	}
	return out
}

// gateOn reads --feature-gates for one gate; a gate that is not named stays as it was.
func gateOn(gate, value string, was bool) bool {
	for one := range strings.SplitSeq(value, ",") {
		if set, is := strings.CutPrefix(one, gate+"="); is {
			was = set == "true"
		}
	}
	return was
}

// leavesOut reads --controllers: "*" is all that are on by default, "-x" is all but x.
func leavesOut(value, controller string) bool {
	all, named := false, false
	for one := range strings.SplitSeq(value, ",") {
		switch strings.TrimSpace(one) {
		case "-" + controller:
			return true
		case controller:
			named = true
		case "*":
			all = true
		}
	}
	return !all && !named
}

// OldPurgeModes says what is wrong with the purge modes that a Karmada's eviction
// tasks know, empty when nothing is: up to 1.14 there were others.
func OldPurgeModes(known []string) string {
	modern := slices.Contains(known, string(karmada.PurgeGracefully)) && slices.Contains(known, string(karmada.PurgeDirectly))
	if len(known) == 0 || modern {
		return ""
	}
	return fmt.Sprintf("its eviction tasks know the purge modes %s, as Karmada up to 1.14; want 1.15 or newer", strings.Join(known, ", "))
}
