package workflows

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"go.temporal.io/sdk/temporal"
)

// Names under which workflows and messages are registered. They live in
// histories and in other people's scripts: never rename one.
const (
	TypeClusterFailover  = "ClusterFailover"
	TypeBindingMigration = "BindingMigration"
	TypeFleetPacer       = "FleetPacer"
	// TypeApplicationFailover takes the updates pause, resume, cancel, snooze, approve, put-back and release
	// with the arguments of a ClusterFailover, and the signals binding-observed, grant, pace-changed and
	// migration-reports.
	TypeApplicationFailover = "ApplicationFailover"

	// Signals of a ClusterFailover.
	SignalClusterObserved  = "cluster-observed"  // ClusterObserved, from the controller
	SignalBindingsChanged  = "bindings-changed"  // BindingsChanged, from the controller, coalesced
	SignalAdopt            = "adopt"             // Adopt, from the controller or a sweep
	SignalGrant            = "grant"             // Grant, from the pacer
	SignalPaceChanged      = "pace-changed"      // PaceChanged, from the pacer
	SignalMigrationReports = "migration-reports" // MigrationReports, from migrations
	SignalPause            = "pause"             // ScopedOrder, for when updates fail
	SignalClusterRecovered = "cluster-recovered" // Order, for when updates fail

	// Signals of a BindingMigration.
	SignalBindingObserved  = "binding-observed"  // proof.BindingFact, from the controller
	SignalRecover          = "recover"           // Recover, from its ClusterFailover
	SignalMigrationAdopted = "migration-adopted" // MigrationAdopted, from a new run of its ClusterFailover
	SignalFenced           = "fenced"            // Fenced, from its ClusterFailover
	SignalMigrationOrder   = "migration-order"   // MigrationOrder, from its ClusterFailover
	SignalPermit           = "permit"            // pace.Permit, from its ClusterFailover, when it is Queued

	// Signals of a FleetPacer.
	SignalFleetObserved = "fleet-observed" // FleetObserved, from the controller
	SignalPermitRequest = "grant-request"  // PermitRequest, from a ClusterFailover
	SignalPermitsUsed   = "permits-used"   // PermitsUsed, from the evict activity or a BindingMigration

	// Updates of a ClusterFailover, a BindingMigration (cancel) or the FleetPacer (halt, resume, set-rate).
	UpdatePause   = "pause"
	UpdateResume  = "resume"
	UpdateCancel  = "cancel"
	UpdatePutBack = "put-back" // of a BindingMigration (Order) or a ClusterFailover (BindingOrder)
	UpdateRelease = "release"  // likewise
	UpdateSkip    = "skip"     // of a ClusterFailover (BindingOrder)
	// UpdateSnooze (SnoozeOrder) and UpdatePrioritise (PriorityOrder) are of a
	// ClusterFailover, as are UpdatePause (ScopedOrder) and UpdateResume (Resume).
	UpdateSnooze     = "snooze"
	UpdatePrioritise = "prioritise"
	UpdateApprove    = "approve" // ScopedOrder
	UpdateHalt       = "halt"
	UpdateSetRate    = "set-rate"
	UpdateDrain      = "drain"   // DrainOrder
	UpdateUndrain    = "undrain" // Order
	UpdateTaint      = "taint"   // TaintOrder
	UpdateUntaint    = "untaint" // TaintOrder
	// UpdateConfirmFenced, of a ClusterFailover or a BindingMigration: an operator confirms
	// that the old copies are dead (FenceOrder).
	UpdateConfirmFenced = "confirm-fenced"
	// UpdateClaim queries the pacer whether a repeated removal may be written.
	UpdateClaim = "claim"

	// OrderAdopt is the verb of a [SignalAdopt] that an operator sent, as the audit trail has it.
	OrderAdopt = "adopt"

	// QueryStatus answers with FailoverStatus, MigrationStatus or PacerStatus.
	QueryStatus = "status"
	// QueryMigratedTooOften, of the FleetPacer, answers a MigratedTooOften with a time by binding.
	QueryMigratedTooOften = "moved-too-often"
	// QueryExplain, of a ClusterFailover, answers an ExplainRequest with an Explanation.
	QueryExplain = "explain"
)

// The search attributes, all of type Keyword. Few: SQL visibility has ten slots.
var (
	SearchCluster = temporal.NewSearchAttributeKeyKeyword("LifeboatCluster")
	SearchPhase   = temporal.NewSearchAttributeKeyKeyword("LifeboatPhase")
	SearchReason  = temporal.NewSearchAttributeKeyKeyword("LifeboatReason")
	SearchBinding = temporal.NewSearchAttributeKeyKeyword("LifeboatBinding")
	SearchMode    = temporal.NewSearchAttributeKeyKeyword("LifeboatMode")
)

// SearchAttributeNames are the names that `lifeboat setup` registers.
func SearchAttributeNames() []string {
	return []string{
		SearchCluster.GetName(), SearchPhase.GetName(), SearchReason.GetName(),
		SearchBinding.GetName(), SearchMode.GetName(),
	}
}

// MaxID keeps workflow ids and search attributes below the 255 bytes that SQL visibility stores.
const MaxID = 240

// ClusterFailoverID is "cluster-failover/<cluster>", below "<instance>/" when one is configured.
func ClusterFailoverID(instance, cluster string) string {
	return withInstance(instance, "cluster-failover/"+cluster)
}

// BindingMigrationID is "binding-migration/<cluster>/<namespace|->/<name>", its tail hashed when long.
func BindingMigrationID(instance, cluster string, key karmada.BindingKey) string {
	return withInstance(instance, "binding-migration/"+cluster+"/"+key.String())
}

// ApplicationFailoverID is "application-failover/<namespace|->/<name>", its tail hashed when long.
func ApplicationFailoverID(instance string, key karmada.BindingKey) string {
	return Storable(ApplicationFailoverPrefix(instance) + key.String())
}

// ApplicationFailoverPrefix is what every [ApplicationFailoverID] of an instance begins with.
func ApplicationFailoverPrefix(instance string) string {
	return withInstance(instance, applicationFailovers)
}

const applicationFailovers = "application-failover/"

// IsApplicationFailover reports whether an id is that of the failover of an application, of any instance.
func IsApplicationFailover(id string) bool { return strings.Contains(id, applicationFailovers) }

// OfInstance reports whether an id is that of a workflow of an instance.
func OfInstance(instance, id string) bool {
	return id == FleetPacerID(instance) || strings.HasPrefix(id, ClusterFailoverID(instance, "")) ||
		strings.HasPrefix(id, withInstance(instance, "binding-migration/")) || strings.HasPrefix(id, ApplicationFailoverPrefix(instance))
}

// FleetPacerID is "fleet-pacer".
func FleetPacerID(instance string) string {
	return withInstance(instance, "fleet-pacer")
}

func withInstance(instance, id string) string {
	if instance != "" {
		id = instance + "/" + id
	}
	return Storable(id)
}

// Storable is a name with its tail hashed when it is longer than SQL visibility stores.
func Storable(name string) string {
	if len(name) <= MaxID {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := hex.EncodeToString(sum[:8])
	return name[:MaxID-len(tail)-1] + "-" + tail
}

// ErrorClosing is the type of the error that an order gets whose failover ends at
// that moment: repeated, it finds another run.
const ErrorClosing = "Closing"

// MaxWho and maxReason bound an order, in bytes: it is carried from run to run, shown on
// pages and mirrored in a memo, and one too long for the server would end its workflow.
const (
	MaxWho    = 256
	MaxReason = 2048
)

// MaxText bounds, in bytes, any other text of a message that is carried (names, ids), and
// maxMessage a message as a whole: far above what is sent, and far below the 2 MB at which
// the server ends a workflow for what it hands on.
const (
	MaxText    = 1024
	maxMessage = 500_000
)

// Oversized reports whether a message is too large to be carried over.
func Oversized(message any) bool { return SizeOf(message) > maxMessage }

// SizeOf is how many bytes something takes in a history, more than any bound where it cannot be marshalled.
func SizeOf(x any) int {
	raw, err := json.Marshal(x)
	if err != nil {
		return math.MaxInt32
	}
	return len(raw)
}

// MaxRate is the highest rate that set-rate takes, in evictions per second.
const MaxRate = 1000
