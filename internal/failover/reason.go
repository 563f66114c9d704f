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
	ReasonPinned                Reason = "Pinned"             // its placement names the failed cluster alone; name another one in its policy to move it
	ReasonSpreadUnsatisfied     Reason = "SpreadUnsatisfied"  // a spread constraint's minGroups cannot be met
	ReasonNoCapacity            Reason = "NoCapacity"         // candidates exist, none has proven room
	ReasonSchedulerReturnsIt    Reason = "SchedulerReturnsIt" // the scheduler put the binding back after a release
	ReasonMalformed             Reason = "Malformed"          // the object cannot be understood
	ReasonPaused                Reason = "Paused"             // a human paused dispatch
	ReasonSnoozed               Reason = "Snoozed"            // an operator delayed its due time; of two snoozes the longer stands
	ReasonForbidden             Reason = "Forbidden"          // the API server refused the write
	ReasonInvalid               Reason = "Invalid"            // the API server found the write invalid
	ReasonConflict              Reason = "Conflict"           // others kept writing the object
	ReasonUnreachable           Reason = "Unreachable"        // the API server did not answer
	ReasonAwaitingApproval      Reason = "AwaitingApproval"   // a rule asks a human, who has not answered
	ReasonApprovalExpired       Reason = "ApprovalExpired"    // nobody answered in time: it stays until approved
	ReasonPermitPassed          Reason = "PermitPassed"       // the permit passed before the write; if it repeats, workers, Temporal or Karmada are too slow for the rate
	ReasonClockSkew             Reason = "ClockSkew"          // the worker's clock and the Temporal server's differ too much
	ReasonHalted                Reason = "Halted"             // the pacer issues nothing
	ReasonPingPong              Reason = "PingPong"           // moved too often within an hour
	ReasonModeObserve           Reason = "ModeObserve"        // this worker's own config says observe
	ReasonAwaitingFence         Reason = "AwaitingFence"      // Directly, and the old copy is not proven dead
	ReasonForeignTask           Reason = "ForeignTask"        // another producer's task for this cluster stands
	ReasonSecondEvictor         Reason = "SecondEvictor"      // Karmada's own taint manager evicts, too
	ReasonDependentsUnknown     Reason = "DependentsUnknown"  // Karmada has not listed its dependents yet
	ReasonDependentsNotHeld     Reason = "DependentsNotHeld"  // its dependents are held first; if it lasts, see why their bindings cannot be written
	ReasonTooManyHolders        Reason = "TooManyHolders"     // too many migrations hold one of its dependents; it moves when others have finished
	ReasonHeldForParents        Reason = "HeldForParents"     // Directly would take this dependent from its parents, which still move
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
	ReasonNoReplicas            Reason = "NoReplicas"          // it has replica requirements and 0 replicas: the scheduler would place nothing; scale it up to move it
	ReasonComponentsUnsized     Reason = "ComponentsUnsized"   // its components do not say what they need
	ReasonNotSupportedPlacement Reason = "NotSupportedYetPlacement"
)

// Reasons of episodes, migrations and the pacer.
const (
	ReasonConditionsMatch   Reason = "ConditionsMatch"   // a rule's conditions hold
	ReasonOurSide           Reason = "OurSide"           // the evidence speaks of our side, not of the member
	ReasonMemberAnswers     Reason = "MemberAnswers"     // Karmada cannot reach the member, and the member answers the external probe
	ReasonForeignTaint      Reason = "ForeignTaint"      // a human or another controller put a NoExecute taint
	ReasonOursStands        Reason = "OursStands"        // a Lifeboat taint or annotation without an owner stands on the cluster; a failover adopts it
	ReasonTaintUntolerated  Reason = "TaintUntolerated"  // a taint that it does not tolerate makes it due now; snooze it to keep it
	ReasonTolerationExpired Reason = "TolerationExpired" // its toleration has run out; snooze it to keep it
	ReasonTolerated         Reason = "Tolerated"         // it tolerates all taints without limit, or a soft taint does not apply to it
	ReasonPolicyUnread      Reason = "PolicyUnread"      // its seconds under a soft taint are not read yet; if it lasts, run preflight: the worker may lack a right
	ReasonNoTaint           Reason = "NoTaint"           // no triggering taint remains
	ReasonNotTargeting      Reason = "NotTargeting"      // the binding does not use the cluster
	ReasonOptedOut          Reason = "OptedOut"          // the annotation enabled "false", or a configured selector, keeps Lifeboat away
	ReasonKindStays         Reason = "KindStays"         // its kind keeps it on the cluster; annotate its binding enabled "true" to move it
	ReasonClusterRecovered  Reason = "ClusterRecovered"  // the cluster is back; unwritten bindings stay, unplaced ones are restored, placed ones finish
	ReasonCancelled         Reason = "Cancelled"         // a human cancelled; release or put back what was left to you
	ReasonEnforceOrdered    Reason = "EnforceOrdered"    // an operator turned observe into enforce; everything is listed and judged again
	ReasonClusterGone       Reason = "ClusterGone"       // the Cluster was deleted, or another uid has its name
	ReasonBindingGone       Reason = "BindingGone"       // the binding was deleted, or another uid has its name
	ReasonBlip              Reason = "Blip"              // the conditions were good again before the window was over; nothing was written
	ReasonNotPlaced         Reason = "NotPlaced"         // the scheduler has not placed it yet; if it lasts, check karmada-scheduler
	ReasonNoClusterFit      Reason = "NoClusterFit"      // the scheduler says that nothing fits
	ReasonPlaced            Reason = "Placed"            // the scheduler placed it elsewhere; the new copy has to become healthy
	ReasonNotHealthy        Reason = "NotHealthy"        // a new copy is not proven healthy
	ReasonTargetNotReady    Reason = "TargetNotReady"    // a new target is itself not Ready or failing
	ReasonTargetWorse       Reason = "TargetWorse"       // a surviving target is worse than before
	ReasonHealthy           Reason = "Healthy"           // every new copy is healthy; it must stay so for health.minHealthy, or health.detection where the old cluster is Ready
	ReasonUnproven          Reason = "ReleasedUnproven"  // released after gracefulTimeout, as configured
	ReasonPutBack           Reason = "PutBack"           // the scheduler put the failed cluster back; Lifeboat removes it again while its task stands
	ReasonGracefulTimeout   Reason = "GracefulTimeout"   // no proof of health within gracefulTimeout
	ReasonRewound           Reason = "Rewound"           // what stands is older than what stood: restored from a backup, or a replica that lags
	ReasonRestoreUnanswered Reason = "RestoreUnanswered" // the scheduler has not answered within restoreWait
	ReasonRestoreUndone     Reason = "RestoreUndone"     // the scheduler took the restored cluster out again
	ReasonPutBackRefused    Reason = "PutBackRefused"    // the former cluster cannot take it back
	ReasonPutBackOrdered    Reason = "PutBackOrdered"    // an operator had it put back
	ReasonSkipOrdered       Reason = "SkipOrdered"       // an operator excluded it before the write, for this attempt
	ReasonSwapped           Reason = "Swapped"           // its new target failed, and the held copy on the recovered cluster took over
	ReasonWaitingFull       Reason = "WaitingFull"       // too many migrations wait for health
	ReasonWindowFull        Reason = "WindowFull"        // 300 migrations of this cluster are in flight, the most; if it lasts, check karmada-scheduler
	ReasonWritten           Reason = "Written"           // Lifeboat's write stands; the scheduler is next
	ReasonSuperseded        Reason = "Superseded"        // the cluster is a target again, so its Work stays
	ReasonPurged            Reason = "Purged"            // the old Work is gone
	ReasonFenced            Reason = "Fenced"            // the old copy is proven dead, or its cluster answers
	ReasonOldCopyGoing      Reason = "OldCopyGoing"      // Directly: Karmada deletes the old copy first; if it lasts, look for a finalizer or a pod that does not stop
	ReasonPluginSilent      Reason = "PluginSilent"      // a plug-in gave no usable answer: no proof
	ReasonPluginRefuses     Reason = "PluginRefuses"     // a plug-in says: not proven
	ReasonProbeFailed       Reason = "ProbeFailed"       // a target did not answer the probe before the release
	ReasonKarmadaStale      Reason = "KarmadaStale"      // karmada-controller-manager does not renew its Lease, or leads for too short
	ReasonKarmadaUnseen     Reason = "KarmadaUnseen"     // nobody can tell whether what Karmada reports is kept up to date
	ReasonPurgeNever        Reason = "PurgeNever"        // the old copy stays: purge mode Never
	ReasonPurgeDebt         Reason = "PurgeDebt"         // the old Work stays on an absent cluster
	ReasonFirstStart        Reason = "FirstStart"        // the pacer's first start, at the configured rate
	ReasonStateLost         Reason = "StateLost"         // the pacer cannot know what it had granted
	ReasonFleetHealthy      Reason = "FleetHealthy"      // at most pace.unhealthyThreshold of the clusters are faulty
	ReasonFleetUnhealthy    Reason = "FleetUnhealthy"    // fault rate above unhealthyThreshold
	ReasonCordoned          Reason = "Cordoned"          // only NoSchedule taints of rules stand; each goes after its removal window. To uncordon at once: cancel
	ReasonAllFaulty         Reason = "AllFaulty"         // every cluster looks failed: probably us
	ReasonHaltedByHuman     Reason = "HaltedByHuman"     // an operator halted
	ReasonFleetUnknown      Reason = "FleetUnknown"      // the fleet could not be read
	ReasonRateSetByHuman    Reason = "RateSetByHuman"    // an operator set the rate; it stays until an operator sets another
	ReasonWouldMove         Reason = "WouldMove"         // observe: in enforce it would have moved; resume --enforce acts
	ReasonWindowRunning     Reason = "WindowRunning"     // a rule's window has not elapsed; a mismatch restarts it
	ReasonWaiting           Reason = "Waiting"           // it is due; its check comes next, in order of priority
	ReasonAwaitingDue       Reason = "AwaitingDue"       // its toleration still runs; snooze keeps it longer
	ReasonAwaitingGrant     Reason = "AwaitingGrant"     // it waits for a permit, by priority, then due time; prioritise brings it forward
	ReasonMovedByOthers     Reason = "MovedByOthers"     // another actor moved it before Lifeboat's write
	ReasonUnverified        Reason = "WriteUnverified"   // the answer of a write was lost, or its migration was ended from outside; Lifeboat reads before it acts
	ReasonDependentsNotBack Reason = "DependentsNotBack" // after a restore a dependent is not wanted on the cluster yet; if it lasts, check Karmada's dependencies distributor
	ReasonDrained           Reason = "Drained"           // an operator ordered the cluster emptied; end the drain when the work is done
	ReasonTaintOrdered      Reason = "TaintOrdered"      // somebody ordered a taint put that moves bindings
)
