package failover

import "strings"

// Reason says why, in one PascalCase word that an operator can look up. The set
// is closed: metrics use it as a label, and docs/operations.md has a heading for each.
type Reason string

// LookUp is where a page speaks of each of the reasons; nil without any, or without a page.
func LookUp(page string, reasons ...Reason) map[Reason]string {
	var found map[Reason]string
	for _, r := range reasons {
		at := r.In(page)
		if at == "" {
			continue
		}
		if found == nil {
			found = map[Reason]string{}
		}
		found[r] = at
	}
	return found
}

// In is where a page with a heading for every reason speaks of this one; empty
// without a page or a reason.
func (r Reason) In(page string) string {
	if page == "" || r == ReasonNone {
		return ""
	}
	return page + "#" + strings.ToLower(string(r))
}

// Reasons that a binding is Blocked: it stays in the queue and is looked at again.
const (
	ReasonNone                  Reason = ""
	ReasonNoTarget              Reason = "NoTarget"           // no candidate cluster fits the placement
	ReasonPinned                Reason = "Pinned"             // its placement names the failing cluster alone
	ReasonSpreadUnsatisfied     Reason = "SpreadUnsatisfied"  // a spread constraint's minGroups cannot be met
	ReasonNoCapacity            Reason = "NoCapacity"         // candidates exist, none has proven room
	ReasonSchedulerReturnsIt    Reason = "SchedulerReturnsIt" // the scheduler put the binding back after a release
	ReasonMalformed             Reason = "Malformed"          // the object cannot be understood
	ReasonPaused                Reason = "Paused"             // a human paused dispatch
	ReasonSnoozed               Reason = "Snoozed"            // a human moved its due time later
	ReasonForbidden             Reason = "Forbidden"          // the API server refused the write
	ReasonInvalid               Reason = "Invalid"            // the API server found the write invalid
	ReasonConflict              Reason = "Conflict"           // others kept writing the object
	ReasonUnreachable           Reason = "Unreachable"        // the API server did not answer
	ReasonAwaitingApproval      Reason = "AwaitingApproval"   // a rule asks a human, who has not answered
	ReasonApprovalExpired       Reason = "ApprovalExpired"    // nobody answered in time: it stays until approved
	ReasonPermitPassed          Reason = "PermitPassed"       // the moment of its permit passed before the write
	ReasonClockSkew             Reason = "ClockSkew"          // the worker's clock and the Temporal server's differ too much
	ReasonHalted                Reason = "Halted"             // the pacer issues nothing
	ReasonPingPong              Reason = "PingPong"           // moved too often within an hour
	ReasonModeObserve           Reason = "ModeObserve"        // this worker's own config says observe
	ReasonAwaitingFence         Reason = "AwaitingFence"      // Directly, and the old copy is not proven dead
	ReasonForeignTask           Reason = "ForeignTask"        // another producer's task for this cluster stands
	ReasonSecondEvictor         Reason = "SecondEvictor"      // Karmada's own taint manager evicts, too
	ReasonDependentsUnknown     Reason = "DependentsUnknown"  // Karmada has not listed its dependents yet
	ReasonDependentsNotHeld     Reason = "DependentsNotHeld"  // a dependent would leave before the old copy does
	ReasonTooManyHolders        Reason = "TooManyHolders"     // too many migrations hold a dependent of it
	ReasonHeldForParents        Reason = "HeldForParents"     // Directly would take its Work from under its parents
	ReasonStateNeedsSource      Reason = "StateNeedsSource"   // its state goes along only when the source is back
	ReasonStateNotCollected     Reason = "StateNotCollected"  // its state is to be preserved, and no status was ever collected
	ReasonStateUnreadable       Reason = "StateUnreadable"    // a rule of its state preservation cannot be read
	ReasonStateNotCarried       Reason = "StateNotCarried"    // Karmada would not hand its state on to the new copy
	ReasonCopyPreserved         Reason = "CopyPreserved"      // spec.preserveResourcesOnDeletion: the old copy outlives its Work
	ReasonKindInUse             Reason = "KindInUse"          // a CRD whose objects stand on the cluster
	ReasonNotSupportedComps     Reason = "NotSupportedYetComponents"
	ReasonForeignScheduler      Reason = "ForeignScheduler"    // a scheduler whose rules we do not know places it
	ReasonSchedulingSuspended   Reason = "SchedulingSuspended" // nothing would place it elsewhere
	ReasonSchedulingPending     Reason = "SchedulingPending"   // the scheduler has yet to act on the binding as it stands
	ReasonNoReplicas            Reason = "NoReplicas"          // nothing runs, and the scheduler would place nothing
	ReasonComponentsUnsized     Reason = "ComponentsUnsized"   // its components do not say what they need
	ReasonNotSupportedPlacement Reason = "NotSupportedYetPlacement"
)

// Reasons of episodes, migrations and the pacer.
const (
	ReasonConditionsMatch   Reason = "ConditionsMatch"   // a rule's conditions hold
	ReasonOurSide           Reason = "OurSide"           // the evidence speaks of our side, not of the member
	ReasonMemberAnswers     Reason = "MemberAnswers"     // Karmada cannot reach the member, and the member answers the external probe
	ReasonForeignTaint      Reason = "ForeignTaint"      // a human or another controller put a NoExecute taint
	ReasonOursStands        Reason = "OursStands"        // a taint or annotation of ours stands on the cluster
	ReasonTaintUntolerated  Reason = "TaintUntolerated"  // moves at once
	ReasonTolerationExpired Reason = "TolerationExpired" // moves when its toleration has run out
	ReasonTolerated         Reason = "Tolerated"         // never moves for these taints
	ReasonPolicyUnread      Reason = "PolicyUnread"      // how long it bears soft taints is not read yet
	ReasonNoTaint           Reason = "NoTaint"           // no triggering taint remains
	ReasonNotTargeting      Reason = "NotTargeting"      // the binding does not use the cluster
	ReasonOptedOut          Reason = "OptedOut"          // failover.lifeboat.dev/enabled: "false"
	ReasonKindStays         Reason = "KindStays"         // the rule of its kind says keep
	ReasonClusterRecovered  Reason = "ClusterRecovered"  // the cluster came back
	ReasonCancelled         Reason = "Cancelled"         // a human cancelled
	ReasonEnforceOrdered    Reason = "EnforceOrdered"    // a human turned observe into enforce
	ReasonClusterGone       Reason = "ClusterGone"       // deleted, or another uid under its name
	ReasonBindingGone       Reason = "BindingGone"       // deleted, or another uid under its name
	ReasonBlip              Reason = "Blip"              // shorter than the window
	ReasonNotPlaced         Reason = "NotPlaced"         // the scheduler has not placed it yet
	ReasonNoClusterFit      Reason = "NoClusterFit"      // the scheduler says that nothing fits
	ReasonPlaced            Reason = "Placed"            // placed elsewhere
	ReasonNotHealthy        Reason = "NotHealthy"        // a new copy is not proven healthy
	ReasonTargetNotReady    Reason = "TargetNotReady"    // a new target is itself not Ready or failing
	ReasonTargetWorse       Reason = "TargetWorse"       // a surviving target is worse than before
	ReasonHealthy           Reason = "Healthy"           // proven
	ReasonUnproven          Reason = "ReleasedUnproven"  // released after gracefulTimeout, as configured
	ReasonPutBack           Reason = "PutBack"           // the scheduler put the failed cluster back
	ReasonGracefulTimeout   Reason = "GracefulTimeout"   // no proof of health within gracefulTimeout
	ReasonRewound           Reason = "Rewound"           // what stands is older than what stood: restored from a backup, or a replica that lags
	ReasonRestoreUnanswered Reason = "RestoreUnanswered" // the scheduler has not answered within restoreWait
	ReasonRestoreUndone     Reason = "RestoreUndone"     // the scheduler took the restored cluster out again
	ReasonPutBackRefused    Reason = "PutBackRefused"    // the former cluster cannot take it back
	ReasonPutBackOrdered    Reason = "PutBackOrdered"    // a human had it put back
	ReasonSkipOrdered       Reason = "SkipOrdered"       // a human excluded it before the write
	ReasonSwapped           Reason = "Swapped"           // its new target failed, and the held copy took over again
	ReasonWaitingFull       Reason = "WaitingFull"       // too many migrations wait for health
	ReasonWindowFull        Reason = "WindowFull"        // too many migrations are in flight
	ReasonWritten           Reason = "Written"           // our write stands
	ReasonSuperseded        Reason = "Superseded"        // the cluster is a target again, its Work is wanted
	ReasonPurged            Reason = "Purged"            // the old Work is gone
	ReasonFenced            Reason = "Fenced"            // the old copy is proven dead, or its cluster answers
	ReasonOldCopyGoing      Reason = "OldCopyGoing"      // Directly: Karmada deletes the old copy first
	ReasonPluginSilent      Reason = "PluginSilent"      // a plug-in gave no usable answer: no proof
	ReasonPluginRefuses     Reason = "PluginRefuses"     // a plug-in says: not proven
	ReasonProbeFailed       Reason = "ProbeFailed"       // a target did not answer the probe before the release
	ReasonKarmadaStale      Reason = "KarmadaStale"      // karmada-controller-manager does not renew its Lease, or leads for too short
	ReasonKarmadaUnseen     Reason = "KarmadaUnseen"     // nobody can tell whether what Karmada reports is kept up to date
	ReasonPurgeNever        Reason = "PurgeNever"        // the old copy stays: purge mode Never
	ReasonPurgeDebt         Reason = "PurgeDebt"         // the old Work stays on an absent cluster
	ReasonFirstStart        Reason = "FirstStart"        // the pacer's first start
	ReasonStateLost         Reason = "StateLost"         // the pacer cannot know what it had granted
	ReasonFleetHealthy      Reason = "FleetHealthy"      // fault rate within unhealthyThreshold
	ReasonFleetUnhealthy    Reason = "FleetUnhealthy"    // fault rate above unhealthyThreshold
	ReasonCordoned          Reason = "Cordoned"          // NoSchedule taints of rules stand, and nothing else speaks for a failure
	ReasonAllFaulty         Reason = "AllFaulty"         // every cluster looks failed: probably us
	ReasonHaltedByHuman     Reason = "HaltedByHuman"     // an operator halted
	ReasonFleetUnknown      Reason = "FleetUnknown"      // the fleet could not be read
	ReasonRateSetByHuman    Reason = "RateSetByHuman"    // an operator set the rate
	ReasonWouldMove         Reason = "WouldMove"         // observe mode
	ReasonWindowRunning     Reason = "WindowRunning"     // a rule's window has not elapsed
	ReasonWaiting           Reason = "Waiting"           // queued behind others
	ReasonAwaitingDue       Reason = "AwaitingDue"       // its toleration still runs
	ReasonAwaitingGrant     Reason = "AwaitingGrant"     // asked the pacer
	ReasonMovedByOthers     Reason = "MovedByOthers"     // another hand moved it before our write
	ReasonUnverified        Reason = "WriteUnverified"   // the end of a write is not known yet
	ReasonDependentsNotBack Reason = "DependentsNotBack" // a dependent is not wanted on the cluster again yet
	ReasonDrained           Reason = "Drained"           // somebody ordered the cluster emptied
	ReasonTaintOrdered      Reason = "TaintOrdered"      // somebody ordered a taint put that moves bindings
)
