package config

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
)

// Config is the whole configuration. The tables in keys.go have the meaning and the allowed
// values of each key; `lifeboat config print` shows them.
type Config struct {
	Instance   string
	Mode       rules.Mode
	Modes      rules.ModeExceptions
	TaskQueue  string
	UIURL      string
	RunbookURL string
	Kubernetes Kubernetes
	Pace       pace.Config
	Windows    Windows
	Defaults   Defaults
	// WhenStateMissing is what happens to a binding whose state cannot be preserved.
	WhenStateMissing StateMissing
	Health           Health
	// EvictPlugins prove new copies healthy; FencePlugins prove the old copies of a silent
	// cluster dead.
	EvictPlugins proof.Plugins
	FencePlugins []proof.Plugin
	Recovery     Recovery
	Capacity     Capacity
	Karmada      Karmada
	Approval     Approval
	Kinds        rules.KindRules
	// OnDeletion drains clusters without an order.
	OnDeletion rules.DeletionPolicy
	// ApplicationFailover: single applications fail over (spec.failover.application), only where
	// Karmada's own controller applicationFailover is off. Their rate and breaker are in [pace.Config].
	ApplicationFailover bool
	Rules               Rules
	ExternalProbe       ExternalProbe
	// ExcludeNamespaces opt out bindings without an annotation.
	ExcludeNamespaces []string
	Workflow          Workflow
	Controller        Controller
	// StopTimeout is how long running activities of a worker may finish.
	StopTimeout time.Duration
	Listen      Listen
	Log         Log
	Audit       Audit
	Temporal    Temporal
	Encryption  Encryption
	Codec       Codec
}

// Acts is enforce when any cluster may be in enforce, else observe. It determines the
// permissions that a process needs.
func (c Config) Acts() rules.Mode {
	if c.Modes.MayEnforce(c.Mode) {
		return rules.ModeEnforce
	}
	return rules.ModeObserve
}

// Kubernetes configures the connection to the Karmada API server. Empty strings follow kubectl:
// $KUBECONFIG, ~/.kube/config, the service account of the pod.
type Kubernetes struct {
	Kubeconfig string
	Context    string
	QPS        float64
	Burst      int
}

// Windows are the concurrency limits of the migrations of one cluster.
type Windows struct {
	InFlight int
	Waiting  int
}

// Defaults apply to bindings without own values.
type Defaults struct {
	Tolerations []corev1.Toleration
	PurgeMode   karmada.PurgeMode
}

// StateMissing is what happens to a binding whose state cannot be preserved.
type StateMissing string

// It stays, or migrates without its state.
const (
	StateBlock   StateMissing = "block"
	StateProceed StateMissing = "proceed"
)

// Health configures the proof of a new copy, and the wait for it.
type Health struct {
	MinHealthy      time.Duration
	Detection       time.Duration
	PollInterval    time.Duration
	GracefulTimeout time.Duration
	// ReleaseUnproven releases a hold after GracefulTimeout, also without proof.
	ReleaseUnproven bool
	Probe           Probe
}

// Probe is how a target cluster is probed before the release of the old copy.
type Probe string

// The ways to probe: not at all, through the Karmada API server's clusters/proxy, or
// at the address in the Cluster's spec.apiEndpoint.
const (
	ProbeNone     Probe = "none"
	ProbeProxy    Probe = "proxy"
	ProbeEndpoint Probe = "endpoint"
)

// ManagerLease names the leader Lease of karmada-controller-manager.
type ManagerLease struct {
	Namespace string
	Name      string
}

// Recovery configures the end of a failure.
type Recovery struct {
	RestoreWait             time.Duration
	FreezeTolerationsHalted bool
}

// Capacity configures the check for room on a target.
type Capacity struct {
	UnknownIsRoom bool
	StaticWeights StaticWeights
	Margin        int
}

// StaticWeights is what happens to replicas that static weights give to a cluster without
// room for them.
type StaticWeights string

// They migrate, or the binding is blocked.
const (
	StaticWeightsMove  StaticWeights = "move"
	StaticWeightsBlock StaticWeights = "block"
)

// Karmada describes the installation of Karmada.
type Karmada struct {
	// Version is its release, major and minor.
	Version string
	// HostKubeconfig reaches the cluster that runs Karmada's own controllers; empty for no access.
	HostKubeconfig string
	// ManagerLease is the leader Lease of karmada-controller-manager; without a name it is not read.
	ManagerLease ManagerLease
}

// Approval configures which evictions need an operator's approval; all others are automatic.
type Approval struct {
	queue.ApprovalRules
	// ExpireAfter is how long a request for approval stays open; 0 is for ever.
	ExpireAfter time.Duration
}

// Rules configures the sources of taints beside ClusterTaintRules.
type Rules struct {
	KarmadaPolicies bool
	// AddOnMatch and RemoveOnMismatch are the windows of ClusterTaintPolicies that name none.
	AddOnMatch       time.Duration
	RemoveOnMismatch time.Duration
}

// ExternalProbe is the external probe of the members. A rule may require it.
type ExternalProbe struct {
	Enabled bool
	// Interval is the pause between two attempts of probes, Timeout bounds one request.
	Interval time.Duration
	Timeout  time.Duration
	// FailureThreshold and SuccessThreshold are how many equal probes in a row change a result.
	FailureThreshold int
	SuccessThreshold int
}

// Workflow tunes the workflows themselves.
type Workflow struct {
	PollInterval     time.Duration
	AskAgain         time.Duration
	Recheck          time.Duration
	Relist           time.Duration
	PendingPurgeWait time.Duration
	HistoryEvents    int
}

// Controller tunes `lifeboat controller`.
type Controller struct {
	ResyncInterval time.Duration
	Coalesce       time.Duration
	LeaderElection LeaderElection
}

// LeaderElection is the Lease by which one controller of several watches.
type LeaderElection struct {
	Enabled       bool
	Namespace     string
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
}

// Listen configures the server of /metrics, /healthz and /readyz.
type Listen struct {
	Address string
	TLS     TLS
}

// Log configures the log, which goes to standard error.
type Log struct {
	Level  string
	Format string
}

// Default is the configuration without any source.
func Default() Config {
	return Config{
		Mode:       rules.ModeObserve,
		TaskQueue:  "lifeboat",
		RunbookURL: "https://github.com/lifeboat-failover/lifeboat/blob/main/docs/operations.md",
		Kubernetes: Kubernetes{QPS: 300, Burst: 600},
		Pace: pace.Config{
			EvictionRate:       0.5,
			UnhealthyThreshold: 0.55,
			SecondaryRate:      0.1,
			LargeFleet:         10,
			MigrationsPerHour:  3,
			UnlimitedChunk:     50,
			BreakerShare:       0.2, BreakerWindow: 5 * time.Minute,
		},
		Windows:          Windows{InFlight: 300, Waiting: 1500},
		Defaults:         Defaults{PurgeMode: karmada.PurgeGracefully},
		WhenStateMissing: StateBlock,
		Health: Health{
			MinHealthy:      10 * time.Second,
			Detection:       90 * time.Second,
			PollInterval:    30 * time.Second,
			GracefulTimeout: 15 * time.Minute,
			Probe:           ProbeNone,
		},
		Rules: Rules{
			KarmadaPolicies: true, AddOnMatch: rules.DefaultAddOnMatch, RemoveOnMismatch: rules.DefaultRemoveOnMismatch,
		},
		ExternalProbe: ExternalProbe{Enabled: true, Interval: 10 * time.Second, Timeout: 5 * time.Second, FailureThreshold: 3, SuccessThreshold: 2},
		EvictPlugins:  proof.Plugins{List: []proof.Plugin{{Name: proof.PluginResourceHealth}}, Mode: proof.PluginsAny},
		Recovery:      Recovery{RestoreWait: 30 * time.Second, FreezeTolerationsHalted: true},
		Approval:      Approval{ExpireAfter: time.Hour},
		OnDeletion:    rules.DeletionIgnore,
		Capacity:      Capacity{StaticWeights: StaticWeightsMove},
		Karmada:       Karmada{Version: karmada.NewestRelease.String(), ManagerLease: ManagerLease{"karmada-system", "karmada-controller-manager"}},
		Workflow: Workflow{
			PollInterval:     30 * time.Second,
			AskAgain:         20 * time.Second,
			Recheck:          15 * time.Second,
			Relist:           time.Minute,
			PendingPurgeWait: 20 * time.Minute,
			HistoryEvents:    2000,
		},
		Controller: Controller{
			ResyncInterval: 30 * time.Second,
			Coalesce:       time.Second,
			LeaderElection: LeaderElection{
				Enabled:       true,
				Namespace:     "default",
				LeaseDuration: 15 * time.Second,
				RenewDeadline: 10 * time.Second,
				RetryPeriod:   2 * time.Second,
			},
		},
		StopTimeout: 20 * time.Second,
		Listen:      Listen{Address: "127.0.0.1:0"},
		Log:         Log{Level: "info", Format: "text"},
		Audit:       Audit{Sink: AuditStdout, MaxSizeMB: 100, MaxBackups: 20},
		Codec:       Codec{Address: "127.0.0.1:8234", Origins: []string{"http://127.0.0.1:8233", "http://localhost:8233"}},
	}
}
