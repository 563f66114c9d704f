package reason

import (
	"strings"
)

// Reason says why, in one PascalCase word that an operator can look up. The set
// is closed: metrics use it as a label, and docs/operations.md has a heading for each.
type Reason string

// LookUp is where a page speaks of each of the reasons; nil without any, or without a page.
func LookUp(page string, reasons ...Reason) map[Reason]string {
	found := map[Reason]string{}
	for _, r := range reasons {
		if at := r.In(page); at != "" {
			found[r] = at
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// In is where a page with a heading for every reason speaks of this one; empty
// without a page or a reason.
func (r Reason) In(page string) string {
	if page == "" || r == None {
		return ""
	}
	return page + "#" + strings.ToLower(string(r))
}

// Reasons that a binding is Blocked: it stays in the queue and is looked at again.
const (
	None                  Reason = ""
	NoTarget              Reason = "NoTarget"                  // no candidate cluster fits the placement
	Pinned                Reason = "Pinned"                    // its placement names the failed cluster alone; name another one in its policy to move it
	SpreadUnsatisfied     Reason = "SpreadUnsatisfied"         // a spread constraint's minGroups cannot be met
	NoCapacity            Reason = "NoCapacity"                // candidates exist, none has proven room
	SchedulerReturnsIt    Reason = "SchedulerReturnsIt"        // the scheduler put the binding back after a release
	Malformed             Reason = "Malformed"                 // the object cannot be understood
	Paused                Reason = "Paused"                    // an operator paused dispatch
	Snoozed               Reason = "Snoozed"                   // an operator delayed its due time; of two snoozes the longer stands
	Forbidden             Reason = "Forbidden"                 // the API server refused the write
	Invalid               Reason = "Invalid"                   // the API server found the write invalid
	Conflict              Reason = "Conflict"                  // others kept writing the object
	Unreachable           Reason = "Unreachable"               // the API server did not answer
	AwaitingApproval      Reason = "AwaitingApproval"          // a rule asks an operator, who has not answered
	ApprovalExpired       Reason = "ApprovalExpired"           // no answer came in time: it stays until approved
	PermitPassed          Reason = "PermitPassed"              // the permit passed before the write; if it repeats, workers, Temporal or Karmada are too slow for the rate
	ClockSkew             Reason = "ClockSkew"                 // the worker's clock and the Temporal server's differ too much
	Halted                Reason = "Halted"                    // the pacer issues nothing
	PingPong              Reason = "PingPong"                  // moved too often within an hour
	ModeObserve           Reason = "ModeObserve"               // this worker's own config says observe
	AwaitingFence         Reason = "AwaitingFence"             // Directly, and the old copy is not proven dead
	ForeignTask           Reason = "ForeignTask"               // another producer's task for this cluster stands
	SecondEvictor         Reason = "SecondEvictor"             // Karmada's own taint manager evicts, too
	DependentsUnknown     Reason = "DependentsUnknown"         // Karmada has not listed its dependents yet
	DependentsNotHeld     Reason = "DependentsNotHeld"         // its dependents are held first; if it lasts, see why their bindings cannot be written
	TooManyHolders        Reason = "TooManyHolders"            // too many migrations hold one of its dependents; it moves when others have finished
	HeldForParents        Reason = "HeldForParents"            // its parents, or a workload of its policy, need its old copy: it stays until they have moved
	StateNeedsSource      Reason = "StateNeedsSource"          // its state goes along only when the source is back
	StateNotCollected     Reason = "StateNotCollected"         // its state is to be preserved, and no status was ever collected
	StateUnreadable       Reason = "StateUnreadable"           // a rule of its state preservation cannot be read
	StateNotCarried       Reason = "StateNotCarried"           // Karmada would not hand its state on to the new copy
	CopyPreserved         Reason = "CopyPreserved"             // spec.preserveResourcesOnDeletion: the old copy outlives its Work
	KindInUse             Reason = "KindInUse"                 // a CRD whose objects stand on the cluster
	NotSupportedComps     Reason = "NotSupportedYetComponents" // its components are divided over clusters, or stand beside spec.replicas; move it by hand
	ForeignScheduler      Reason = "ForeignScheduler"          // another scheduler places it, by unknown rules; move it by hand
	SchedulingSuspended   Reason = "SchedulingSuspended"       // nothing would place it elsewhere; end spec.suspension.scheduling to move it
	DispatchingSuspended  Reason = "DispatchingSuspended"      // Karmada would start no new copy; end spec.suspension.dispatching to move it
	SchedulingPending     Reason = "SchedulingPending"         // the scheduler has yet to act on the binding as it stands
	NoReplicas            Reason = "NoReplicas"                // it has replica requirements and 0 replicas: the scheduler places nothing; scale it up to move it
	ComponentsUnsized     Reason = "ComponentsUnsized"         // its components do not say what a replica needs; give them resource requests to move it
	NotSupportedPlacement Reason = "NotSupportedYetPlacement"
)

// Reasons of failovers, migrations and the pacer.
const (
	ConditionsMatch   Reason = "ConditionsMatch"   // a rule's conditions hold
	KarmadaFault      Reason = "KarmadaFault"      // a fault on Karmada's side, not of the member
	MemberAnswers     Reason = "MemberAnswers"     // Karmada cannot reach the member, and the member answers the external probe
	ForeignTaint      Reason = "ForeignTaint"      // an operator or another controller put a NoExecute taint
	LifeboatTaint     Reason = "LifeboatTaint"     // Lifeboat has put a taint or an annotation on the cluster; a failover takes care of it
	TaintUntolerated  Reason = "TaintUntolerated"  // a taint that it does not tolerate makes it due now; snooze it to keep it
	TolerationExpired Reason = "TolerationExpired" // its toleration has run out; snooze it to keep it
	Tolerated         Reason = "Tolerated"         // it tolerates all taints without limit, or a soft taint does not apply to it
	PolicyUnread      Reason = "PolicyUnread"      // its seconds under a soft taint are not read yet; if it lasts, run preflight: the worker may lack a right
	NoTaint           Reason = "NoTaint"           // no triggering taint remains
	NotTargeting      Reason = "NotTargeting"      // the binding does not use the cluster
	OptedOut          Reason = "OptedOut"          // the annotation enabled "false", or a configured selector, keeps Lifeboat away
	KindStays         Reason = "KindStays"         // its kind keeps it on the cluster; annotate its binding enabled "true" to move it
	ClusterRecovered  Reason = "ClusterRecovered"  // the cluster is back; unwritten bindings stay, unplaced ones are restored, placed ones finish
	Cancelled         Reason = "Cancelled"         // an operator cancelled; release or put back what was left to you
	EnforceOrdered    Reason = "EnforceOrdered"    // an operator turned observe into enforce; everything is listed and judged again
	ClusterGone       Reason = "ClusterGone"       // the Cluster was deleted, or another uid has its name
	BindingGone       Reason = "BindingGone"       // the binding was deleted, or another uid has its name
	Blip              Reason = "Blip"              // the conditions were good again before the window was over; nothing was written
	NotPlaced         Reason = "NotPlaced"         // the scheduler has not placed it yet; if it lasts, check karmada-scheduler
	NoClusterFit      Reason = "NoClusterFit"      // the scheduler says that nothing fits
	Placed            Reason = "Placed"            // the scheduler placed it elsewhere; the new copy has to become healthy
	NotHealthy        Reason = "NotHealthy"        // a new copy is not proven healthy
	TargetNotReady    Reason = "TargetNotReady"    // a new target is itself not Ready or failing: check it. If the old cluster recovers, the old copy takes over
	TargetWorse       Reason = "TargetWorse"       // a surviving target is worse than before
	Healthy           Reason = "Healthy"           // every new copy is healthy; it must stay so for health.minHealthy, or health.detection where the old cluster is Ready
	Unproven          Reason = "ReleasedUnproven"  // released without proof, by health.releaseUnproven or an order; check that the new copy works
	PutBack           Reason = "PutBack"           // the scheduler put the failed cluster back; Lifeboat removes it again while its task stands
	GracefulTimeout   Reason = "GracefulTimeout"   // no proof of health within gracefulTimeout
	StaleRead         Reason = "StaleRead"         // what stands is older than what stood: restored from a backup, or a replica that lags
	RestoreUnanswered Reason = "RestoreUnanswered" // the scheduler has not answered within restoreWait
	RestoreUndone     Reason = "RestoreUndone"     // the scheduler took the restored cluster out again
	PutBackRefused    Reason = "PutBackRefused"    // the former cluster cannot take it back
	PutBackOrdered    Reason = "PutBackOrdered"    // an operator had it put back
	SkipOrdered       Reason = "SkipOrdered"       // an operator excluded it before the write, for this attempt
	Swapped           Reason = "Swapped"           // its new target failed, and the held copy on the recovered cluster took over
	WaitingFull       Reason = "WaitingFull"       // too many migrations wait for health
	WindowFull        Reason = "WindowFull"        // 300 migrations of this cluster are in flight, the most; if it lasts, check karmada-scheduler
	Written           Reason = "Written"           // Lifeboat's write stands; the scheduler is next
	Superseded        Reason = "Superseded"        // the cluster is a target again, or a parent runs there: its Work stays
	Purged            Reason = "Purged"            // the old Work is gone
	Fenced            Reason = "Fenced"            // the old copy is proven dead, or its cluster answers
	OldCopyGoing      Reason = "OldCopyGoing"      // Directly: Karmada deletes the old copy first; if it lasts, look for a finalizer or a pod that does not stop
	PluginSilent      Reason = "PluginSilent"      // a plug-in gave no usable answer: no proof
	PluginRefuses     Reason = "PluginRefuses"     // a plug-in says: not proven; Lifeboat asks again; read its message
	ProbeFailed       Reason = "ProbeFailed"       // a target did not answer the probe before the release: check it, and health.probe; the old copy stays
	KarmadaStale      Reason = "KarmadaStale"      // karmada-controller-manager does not renew its Lease, or leads for too short
	KarmadaUnseen     Reason = "KarmadaUnseen"     // Lifeboat cannot see whether what Karmada reports is kept up to date
	PurgeNever        Reason = "PurgeNever"        // the old copy stays: purge mode Never
	PendingPurge      Reason = "PendingPurge"      // the old Work stays: its cluster is away, or something there keeps it
	FirstStart        Reason = "FirstStart"        // the pacer's first start, at the configured rate
	StateLost         Reason = "StateLost"         // the pacer cannot know what it had granted
	FleetHealthy      Reason = "FleetHealthy"      // at most pace.unhealthyThreshold of the clusters are faulty
	FleetUnhealthy    Reason = "FleetUnhealthy"    // fault rate above unhealthyThreshold
	Cordoned          Reason = "Cordoned"          // only NoSchedule taints of rules stand; each goes after its removal window. To uncordon at once: cancel
	AllFaulty         Reason = "AllFaulty"         // every cluster looks failed: probably Karmada's or Lifeboat's network
	HaltedByOperator  Reason = "HaltedByOperator"  // an operator halted
	FleetUnknown      Reason = "FleetUnknown"      // the fleet could not be read
	RateSetByOperator Reason = "RateSetByOperator" // an operator set the rate; it stays until an operator sets another
	WouldMove         Reason = "WouldMove"         // observe: in enforce it would have moved; resume --enforce acts
	WindowRunning     Reason = "WindowRunning"     // a rule's window has not elapsed; a mismatch restarts it
	Waiting           Reason = "Waiting"           // it is due; its check comes next, in order of priority
	AwaitingDue       Reason = "AwaitingDue"       // its toleration still runs; snooze keeps it longer
	AwaitingPermit    Reason = "AwaitingPermit"    // it waits for a permit, by priority, then due time; prioritise brings it forward
	MovedByOthers     Reason = "MovedByOthers"     // another actor moved it before Lifeboat's write
	Unverified        Reason = "WriteUnverified"   // the answer of a write was lost, or its migration was ended from outside; Lifeboat reads before it acts
	DependentsNotBack Reason = "DependentsNotBack" // after a restore a dependent is not wanted on the cluster yet; if it lasts, check Karmada's dependencies distributor
	Drained           Reason = "Drained"           // an operator ordered the cluster emptied; end the drain when the work is done
	TaintOrdered      Reason = "TaintOrdered"      // an operator ordered a taint that moves bindings
	Unhealthy         Reason = "Unhealthy"         // a copy is Unhealthy; it moves when that has lasted for as long as it tolerates
	ClockStopped      Reason = "ClockStopped"      // its health is not known, or its cluster fails: the time does not count
	Healed            Reason = "Healed"            // no copy is Unhealthy any more
	TakenOver         Reason = "TakenOver"         // its cluster fails: the failover of the cluster goes on with the move
	SameRevision      Reason = "SameRevisionSick"  // the revision that was moved is Unhealthy on its new cluster, too: repair the workload; a new revision has a time of its own
	ReleaseSuspected  Reason = "ReleaseSuspected"  // too many workloads of one policy, one cluster or the fleet are Unhealthy at once; check the release, or resume fleet to move them all the same
)

// Reasons around the external probe.
const (
	// NoExternalProbe: the rule requires an external probe, and none testifies.
	NoExternalProbe Reason = "NoExternalProbe"
	// ExternalProbeDisagrees: the external probe sees the member alive.
	ExternalProbeDisagrees Reason = "ExternalProbeDisagrees"
)

// AboutOldCopy reports whether OldCopy.Dead says no with the reason.
func (r Reason) AboutOldCopy() bool {
	return r == OldCopyGoing || r == AwaitingFence || r == StateNeedsSource
}
