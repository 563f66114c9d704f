package karmada

import (
	corev1 "k8s.io/api/core/v1"
)

// Wire names of what Lifeboat writes to Karmada. They are read back by later
// versions, by operators and by dashboards: never rename one.
const (
	// Producer is gracefulEvictionTasks[].producer of every Lifeboat hold task.
	Producer = "Lifeboat"
	// TaskReason is gracefulEvictionTasks[].reason while a migration owns the task.
	TaskReason = "ClusterFailover"
	// TaskReasonKept marks a task that a migration with purge mode Never left for good.
	TaskReasonKept = "LifeboatKept"
	// TaskReasonNeedsOperator marks a task that a cancelled migration left to an operator.
	TaskReasonNeedsOperator = "LifeboatNeedsOperator"

	// TaskReasonBanned marks a task that keeps a drained cluster from the scheduler, which
	// would put the binding back; its old copy has gone.
	TaskReasonBanned = "LifeboatDrained"
	// TaskReasonDependent marks a task that keeps a dependent's Work for its parents' sake.
	TaskReasonDependent = "LifeboatDependent"

	// AnnotationAddedTaints on a Cluster lists the taints that are Lifeboat's (JSON [AddedTaint]).
	AnnotationAddedTaints = "failover.lifeboat.dev/added-taints"
	// AnnotationSoftTaints on a Cluster lists its PreferNoExecute taints, which the API refuses.
	AnnotationSoftTaints = "failover.lifeboat.dev/soft-taints"
	// AnnotationStoppedBy on a Cluster records who cancelled its failover, and why.
	AnnotationStoppedBy = "failover.lifeboat.dev/stopped-by"
	// AnnotationDrain on a Cluster records who ordered its drain, why and how (JSON [Drain]).
	AnnotationDrain = "failover.lifeboat.dev/drained-by"
	// AnnotationOrderedTaints on a Cluster lists the taints that operators ordered with
	// lifeboat taint, who and why (JSON [OrderedTaint]).
	AnnotationOrderedTaints = "failover.lifeboat.dev/ordered-taints"
	// AnnotationEnabled set to "false" on a cluster, namespace, policy or binding opts it out.
	AnnotationEnabled = "failover.lifeboat.dev/enabled"
	// AnnotationPurgeMode on a binding or policy overrides the purge mode.
	AnnotationPurgeMode = "failover.lifeboat.dev/purge-mode"
	// AnnotationTolerationSeconds on a binding or policy says how long it stays under a
	// soft taint, in whole seconds, where the API has no field for that.
	AnnotationTolerationSeconds = "failover.lifeboat.dev/toleration-seconds"
	// AnnotationDependencies is Karmada's list of a parent's dependents, on its binding.
	AnnotationDependencies = "resourcebinding.karmada.io/dependencies"

	// AnnotationAddSeconds and AnnotationRemoveSeconds on a ClusterTaintPolicy are its windows,
	// AnnotationRequireExternalProbe set to "true" has it wait for the external probe.
	AnnotationAddSeconds           = "failover.lifeboat.dev/add-on-match-seconds"
	AnnotationRemoveSeconds        = "failover.lifeboat.dev/remove-on-mismatch-seconds"
	AnnotationRequireExternalProbe = "failover.lifeboat.dev/require-external-probe"

	// AnnotationPolicyName, with AnnotationPolicyNamespace, is how Karmada names a binding's
	// PropagationPolicy; AnnotationClusterPolicyName names its ClusterPropagationPolicy.
	AnnotationPolicyName        = "propagationpolicy.karmada.io/name"
	AnnotationPolicyNamespace   = "propagationpolicy.karmada.io/namespace"
	AnnotationClusterPolicyName = "clusterpropagationpolicy.karmada.io/name"

	// EvacuatingTaintKey is the evacuation NoSchedule taint that keeps the scheduler away
	// while a triggering taint stands.
	EvacuatingTaintKey = "failover.lifeboat.dev/evacuating"

	// DrainTaintKey is the NoExecute taint of a drain.
	DrainTaintKey = "failover.lifeboat.dev/drain"

	// EffectPreferNoExecute is the soft effect; it never stands in spec.taints.
	EffectPreferNoExecute corev1.TaintEffect = "PreferNoExecute"
)

// LabelRetainReplicas set to "true" on a Deployment has Karmada keep the replicas that the member says,
// for an autoscaler there: those of spec.clusters are not what runs.
const LabelRetainReplicas = "resourcetemplate.karmada.io/retain-replicas"

// AppliedOverrides are the annotations of a Work that list the overriders of OverridePolicies and of ClusterOverridePolicies.
var AppliedOverrides = []string{"policy.karmada.io/applied-overrides", "policy.karmada.io/applied-cluster-overrides"}

// DefaultSchedulerName is Karmada's own scheduler; any other is foreign.
const DefaultSchedulerName = "default-scheduler"

// TaintManager is the producer of the tasks of Karmada's own taint manager.
const TaintManager = "TaintManager"

// The kinds with rules of their own.
const (
	KindCRD = "CustomResourceDefinition.apiextensions.k8s.io"
	KindJob = "Job.batch"
	// KindDeployment is the only kind of which Karmada itself retains the replicas of a member.
	KindDeployment = "Deployment.apps"
	// KindDaemonSet and KindCronJob run pods although a binding of them has no replicas.
	KindDaemonSet = "DaemonSet.apps"
	KindCronJob   = "CronJob.batch"
)

// The groups that a spread constraint may name.
const (
	SpreadByCluster  = "cluster"
	SpreadByRegion   = "region"
	SpreadByZone     = "zone"
	SpreadByProvider = "provider"
)
