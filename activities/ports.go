package activities

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"k8s.io/apimachinery/pkg/types"
)

// All ports return the sentinels of package karmada (ErrConflict, ErrGone, …).

// Page requests one page of bindings. Kind and Continue come back from the last page.
type Page struct {
	Kind     karmada.BindingKind `json:"kind,omitempty"` // empty: start with ResourceBindings
	Continue string              `json:"continue,omitempty"`
	// After is the last binding of a page that came from a [BindingCache].
	After *karmada.BindingKey `json:"after,omitempty"`
}

// BindingPage is one page of bindings of one kind. A malformed object comes back
// as a Binding with Malformed set. Next is nil behind the last page of the last kind.
type BindingPage struct {
	Bindings []karmada.Binding
	Next     *Page
}

// BindingReader reads ResourceBindings and ClusterResourceBindings.
type BindingReader interface {
	BindingLister
	Binding(ctx context.Context, key karmada.BindingKey) (karmada.Binding, error)
}

// OptOutReader reads the opt-out annotation of what surrounds a binding: its
// namespace and its policy. (Its own stands on the binding, the cluster's on the cluster.)
// Namespaces or policies that do not exist opt nothing out.
type OptOutReader interface {
	OptedOut(ctx context.Context, b *karmada.Binding) (by string, err error)
	// PolicyAnnotation is one annotation of the binding's policy, empty when absent.
	PolicyAnnotation(ctx context.Context, b *karmada.Binding, name string) (string, error)
}

// Reader is everything that is read from Karmada.
type Reader interface {
	FleetReader
	BindingReader
	OptOutReader
	Cluster(ctx context.Context, name string) (karmada.Cluster, error)
	// WorkOf finds the Work of a binding on a cluster (by the binding's permanent id label, in
	// karmada-es-<cluster>), Work one by its own name. ErrGone when there is none.
	WorkOf(ctx context.Context, b *karmada.Binding, cluster string) (karmada.Work, error)
	Work(ctx context.Context, namespace, name string) (karmada.Work, error)
	// Revision is a hash of the workload as its Work on a cluster has it, the same before and after
	// scaling; empty where it cannot be known.
	Revision(ctx context.Context, b *karmada.Binding, cluster string) (string, error)
	// WorkloadLabels are the labels of the workloads of these bindings, as the manifests in
	// their Works on a cluster have them. A binding without a Work there is left out.
	WorkloadLabels(ctx context.Context, bindings []*karmada.Binding, cluster string) (map[karmada.BindingKey]map[string]string, error)
	// State evaluates state rules over a copy's raw status: labels by name, or an ErrInvalid that
	// says which rule cannot be read.
	State(status json.RawMessage, rules []karmada.StateRule) (map[string]string, error)
}

// TaintWrite adds or removes Lifeboat taints, the evacuation taint included, and Lifeboat's
// annotations about them, in one patch that carries the resourceVersion of
// Cluster. Every other taint keeps its timeAdded and its place.
type TaintWrite struct {
	Cluster karmada.Cluster // as read
	// Add are put unless one with the same key and effect stands.
	Add []karmada.RuleTaint
	// AddRules name the rule of each Add, by index ("" for the evacuation taint).
	AddRules []string
	// Remove are taken away by key and effect, only if Added lists them.
	Remove []karmada.AddedTaint
	// Failover goes into AnnotationAddedTaints with each Add.
	FailoverID string
	// StoppedBy sets AnnotationStoppedBy when not nil; ClearStopped removes it.
	StoppedBy    *karmada.StoppedBy
	ClearStopped bool
	// Drain sets AnnotationDrain when not nil; ClearDrain removes it.
	Drain      *karmada.Drain
	ClearDrain bool
	// Order is added to AnnotationOrderedTaints when not nil; EndOrders, by key and
	// effect, are taken out of it.
	Order     *karmada.OrderedTaint
	EndOrders []karmada.OrderedTaint
}

// EvictWrite takes the cluster out of spec.clusters and puts (or keeps, refreshing its
// replicas) Lifeboat's hold task, in one merge patch that carries the resourceVersion of Binding.
type EvictWrite struct {
	Binding *karmada.Binding // as read
	Cluster string
	// Owner is the owning workflow's id, written to message.
	Owner string
	// Now becomes creationTimestamp of a new task (needed where Karmada's own
	// gracefulEviction controller is off) and, when Reschedule, rescheduleTriggeredAt.
	Now        time.Time
	Reschedule bool
	// Back is a former cluster that takes over in the same write: it becomes a target
	// and its Lifeboat task is dropped. Nil for an ordinary eviction.
	Back *karmada.TargetCluster
	// Purge is the purgeMode of a new task, and of one that stood for parents or as a
	// ban, Gracefully when empty; one of the binding's own migration keeps its own.
	Purge karmada.PurgeMode
	// State becomes preservedLabelState, and Lifeboat's task the last one; none leaves what stands.
	State map[string]string
}

// RestoreWrite puts the cluster back with its replicas and drops Lifeboat's task, in one patch.
type RestoreWrite struct {
	Binding *karmada.Binding // as read
	Cluster string
	// Others are survivors that the scheduler's no-fit answer emptied and that come
	// back too; those with a task of their own are never among them.
	Others []karmada.TargetCluster
	// Away are targets that go, Shrunk those that get fewer replicas: what came since
	// the eviction, where an operator had the former clusters put back.
	Away       []string
	Shrunk     []karmada.TargetCluster
	Replicas   int32
	Now        time.Time
	Reschedule bool
}

// HoldWrite puts Lifeboat's task back without touching spec.clusters.
type HoldWrite struct {
	Binding  *karmada.Binding
	Cluster  string
	Owner    string
	Replicas int32
	Now      time.Time
	Purge    karmada.PurgeMode // as in EvictWrite
	// Before are the clusters that it used before the eviction; empty takes those of now.
	Before []string
	State  map[string]string // as in EvictWrite
}

// ReleaseWrite drops Lifeboat's task for the cluster, in one patch.
type ReleaseWrite struct {
	Binding *karmada.Binding
	Cluster string
}

// MarkWrite changes reason and owner of Lifeboat's task, in one patch.
type MarkWrite struct {
	Binding *karmada.Binding
	Cluster string
	Reason  string
	Owner   string
	// Purge is the task's new purge mode; empty leaves it.
	Purge karmada.PurgeMode
}

// Writer is everything that is written to Karmada. Each method is one merge patch
// that carries the resourceVersion of what was read and touches only Lifeboat's fields.
// Each returns the object as it stands after the write.
type Writer interface {
	Taint(ctx context.Context, w TaintWrite) (karmada.Cluster, error)
	Evict(ctx context.Context, w EvictWrite) (karmada.Binding, error)
	Restore(ctx context.Context, w RestoreWrite) (karmada.Binding, error)
	Hold(ctx context.Context, w HoldWrite) (karmada.Binding, error)
	Release(ctx context.Context, w ReleaseWrite) (karmada.Binding, error)
	Mark(ctx context.Context, w MarkWrite) (karmada.Binding, error)
	// EndWork has Karmada try the deletion of a Work again that is being deleted, by a patch
	// that means nothing else; any other Work is an ErrConflict.
	EndWork(ctx context.Context, w karmada.Work) error
	// Holders sets who holds a dependent's task.
	Holders(ctx context.Context, w HoldersWrite) (karmada.Binding, error)
}

// Event is one Kubernetes Event on a binding or a cluster.
type Event struct {
	Cluster string              // set for an Event on a Cluster
	Binding *karmada.BindingKey // set for an Event on a binding
	UID     types.UID           // of the object
	// Workload is the resource template of the binding, on which the same Event is put.
	Workload *karmada.Resource
	Warning  bool
	Reason   string // as Karmada's: EvictWorkloadFromClusterSucceed, TaintClusterSucceed, …
	Message  string // names the workflow
}

// EventRecorder records Events. Best effort: a lost Event changes nothing.
type EventRecorder interface {
	Record(ctx context.Context, e Event)
}

// Owners reports which workflows are running, by Describe, never by visibility, which lags.
type Owners interface {
	Running(ctx context.Context, workflowID string) (bool, error)
}

// Migrations reports what a BindingMigration that runs knows of the copy it holds.
type Migrations interface {
	// OldWork is the Work that its eviction held, nil where it does not know that by uid.
	OldWork(ctx context.Context, workflowID string) (*karmada.Work, error)
}

// Launcher starts BindingMigrations.
type Launcher interface {
	// Start starts one. [ErrRuns] where one of its id runs, [ErrStartRefused] where the server will never take it.
	Start(ctx context.Context, s MigrationStart[json.RawMessage]) error
}

// Applications reports what earlier application failovers did.
type Applications interface {
	// Arrivals are those of the closed run of an application failover before the one given, and the move that another
	// failover took over from it, nil for none.
	Arrivals(ctx context.Context, workflowID, currentRunID string) (rules.Arrivals, *rules.Departure, error)
}

// Failovers takes what migrations report.
type Failovers interface {
	// Report hands a report to the failover of a workflow id; [ErrNotRunning] where it does not run.
	Report(ctx context.Context, failover string, r MigrationReport) error
}

// ErrNotRunning says that a workflow does not run.
var ErrNotRunning = errors.New("it does not run")

// PacerMemory is what the pacer's previous runs left behind.
type PacerMemory struct {
	// Known is false when there is no previous run, Lost when the last one was terminated or cannot be read.
	Known bool   `json:"known"`
	Lost  bool   `json:"lost"`
	Memo  []byte `json:"memo,omitempty"` // the memo field that the pacer mirrors its orders in, also where the rest is lost
}

// Pacer speaks to the fleet's pacer workflow.
type Pacer interface {
	// MayRemove reports whether a cluster that came back into a binding may be removed again; nil is yes.
	// Application: by an application failover.
	MayRemove(ctx context.Context, cluster, binding string, application bool) error
	// Request has a failover wait for permits.
	Request(ctx context.Context, r PermitRequest) error
	// Used reports that the eviction that was sent under a permit stands.
	Used(ctx context.Context, permit int64, binding string) error
	// MigratedTooOften names those of some bindings that were moved as often as may be within an
	// hour, and when each may move again.
	MigratedTooOften(ctx context.Context, bindings []string) (map[string]time.Time, error)
	// Remember reads what the pacer's runs before the one given left.
	Remember(ctx context.Context, currentRunID string) (PacerMemory, error)
}

// Monotonic measures how long something took on this worker, immune to changes of
// the wall clock, frozen processes included.
type Monotonic interface {
	// ServerNow is what the Temporal server's clock shows, as far as an attempt of an activity can
	// tell, and by how much this machine's clock is ahead of it.
	ServerNow(ctx context.Context) (now time.Time, skew time.Duration)
	// Start begins a measurement; the returned function gives the time since.
	Start() (since func() time.Duration)
	// Wait lets time pass on the monotonic clock, never less than d, unless ctx ends first.
	Wait(ctx context.Context, d time.Duration) error
	// Now is the wall clock, for timestamps that are written, never for decisions.
	Now() time.Time
}

// Meter counts what happened, after it happened.
type Meter interface {
	// Evicted counts one evict activity by its end.
	Evicted(cluster, result string)
	// LeftQueue measures an eviction that was processed and left the queue, from when its
	// binding entered the queue and from when it was due; negative: not known.
	LeftQueue(cluster string, sinceQueued, sinceDue time.Duration)
	// Conflict counts a write that lost a race.
	Conflict(kind string)
	// Malformed counts an object that could not be understood.
	Malformed(kind string)
	// Blocked counts a pre-check or write that said no.
	Blocked(reason reason.Reason)
}
