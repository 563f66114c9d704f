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

// Config is the whole configuration. What each key means and may be stands in
// one place, the table in keys.go; `lifeboat config print` shows it.
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
	State      State
	Health     Health
	// EvictPlugins prove new copies healthy, by EvictPluginsMode; FencePlugins prove the
	// old copies of a silent cluster dead.
	EvictPlugins     []proof.Plugin
	EvictPluginsMode proof.PluginsMode
	FencePlugins     []proof.Plugin
	Recovery         Recovery
	Capacity         Capacity
	Karmada          Karmada
	Approval         Approval
	Kinds            rules.KindRules
	Drain            Drain
	Rules            Rules
	ExternalProbe    ExternalProbe
	Selectors        Selectors
	Workflow         Workflow
	Controller       Controller
	Worker           Worker
	Listen           Listen
	Log              Log
	Audit            Audit
	Temporal         Temporal
	Encryption       Encryption
	Codec            Codec
}

// Acts is enforce when any cluster may be handled so, else observe: what a process
// must be able to do.
func (c Config) Acts() rules.Mode {
	if c.Modes.MayEnforce(c.Mode) {
		return rules.ModeEnforce
	}
	return rules.ModeObserve
}

// Kubernetes says how to reach the Karmada API server. Empty strings follow kubectl's own order:
// $KUBECONFIG, ~/.kube/config, the service account of the pod.
type Kubernetes struct {
	Kubeconfig string
	Context    string
	QPS        float64
	Burst      int
}

// Windows bound how many migrations of one cluster are open at once.
type Windows struct {
	InFlight int
	Waiting  int
}

// Defaults apply to bindings that say nothing themselves.
type Defaults struct {
	Tolerations []corev1.Toleration
	PurgeMode   karmada.PurgeMode
}

// State says what becomes of state that a binding wants preserved.
type State struct {
	WhenMissing StateMissing
}

// StateMissing is what a binding does whose state cannot go along with it.
type StateMissing string

// It stays, or moves without.
const (
	StateBlock   StateMissing = "block"
	StateProceed StateMissing = "proceed"
)

// Health says what proves a new copy, and how long one waits for it.
type Health struct {
	MinHealthy      time.Duration
	Detection       time.Duration
	PollInterval    time.Duration
	GracefulTimeout time.Duration
	// ReleaseUnproven drops a hold after GracefulTimeout, proven or not.
	ReleaseUnproven bool
	Probe           Probe
}

// Probe is how a target cluster is asked whether it is alive before the old copy goes.
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

// Plugins are the evict plug-ins with their mode.
func (c Config) Plugins() proof.Plugins {
	return proof.Plugins{List: c.EvictPlugins, Mode: c.EvictPluginsMode}
}

// Recovery says what happens around the end of a failure.
type Recovery struct {
	RestoreWait             time.Duration
	FreezeTolerationsHalted bool
}

// Capacity says how room on a target is judged.
type Capacity struct {
	UnknownIsRoom bool
	StaticWeights StaticWeights
	Margin        int
}

// StaticWeights says what becomes of replicas that static weights give to a cluster
// without room for them.
type StaticWeights string

// What becomes of them.
const (
	StaticWeightsMove  StaticWeights = "move"
	StaticWeightsBlock StaticWeights = "block"
)

// Karmada says what is there of Karmada.
type Karmada struct {
	// Version is its release, major and minor.
	Version string
	// HostKubeconfig reaches the cluster that runs Karmada's own controllers; empty where it cannot be seen.
	HostKubeconfig string
	// ManagerLease is the leader Lease of karmada-controller-manager; without a name it is not read.
	ManagerLease ManagerLease
}

// Approval says before which evictions an operator is asked; what nothing asks for is automatic.
type Approval struct {
	queue.ApprovalRules
	// ExpireAfter is how long a question stands open; 0 is for ever.
	ExpireAfter time.Duration
}

// Drain says when a cluster is emptied without an order.
type Drain struct {
	OnDeletion rules.DeletionPolicy
}

// Rules says which sources of taints are honoured beside ClusterTaintRules.
type Rules struct {
	KarmadaPolicies bool
	// AddOnMatch and RemoveOnMismatch are the windows of ClusterTaintPolicies that name none.
	AddOnMatch       time.Duration
	RemoveOnMismatch time.Duration
}

// ExternalProbe is the external probe of the members. A rule may require it.
type ExternalProbe struct {
	Enabled          bool
	Interval         time.Duration
	Timeout          time.Duration
	FailureThreshold int
	SuccessThreshold int
}

// Selectors opt out what needs no annotation of its own.
type Selectors struct {
	ExcludeNamespaces []string
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

// LeaderElection is the Lease that lets one controller of several watch.
type LeaderElection struct {
	Enabled       bool
	Namespace     string
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
}

// Worker tunes lifeboat-worker.
type Worker struct {
	StopTimeout time.Duration
}

// Listen says where /metrics, /healthz and /readyz are served.
type Listen struct {
	Address string
	TLS     TLS
}

// Log says how logs are written, always to standard error.
type Log struct {
	Level  string
	Format string
}

// Default is the configuration where nothing is configured.
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
			MovesPerHour:       3,
			UnlimitedChunk:     50,
		},
		Windows:  Windows{InFlight: 300, Waiting: 1500},
		Defaults: Defaults{PurgeMode: karmada.PurgeGracefully},
		State:    State{WhenMissing: StateBlock},
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
		ExternalProbe:    ExternalProbe{Enabled: true, Interval: 10 * time.Second, Timeout: 5 * time.Second, FailureThreshold: 3, SuccessThreshold: 2},
		EvictPlugins:     []proof.Plugin{{Name: proof.PluginResourceHealth}},
		EvictPluginsMode: proof.PluginsAny,
		Recovery:         Recovery{RestoreWait: 30 * time.Second, FreezeTolerationsHalted: true},
		Approval:         Approval{ExpireAfter: time.Hour},
		Drain:            Drain{OnDeletion: rules.DeletionIgnore},
		Capacity:         Capacity{StaticWeights: StaticWeightsMove},
		Karmada:          Karmada{Version: karmada.NewestRelease.String(), ManagerLease: ManagerLease{"karmada-system", "karmada-controller-manager"}},
		Workflow: Workflow{
			PollInterval:     30 * time.Second,
			AskAgain:         20 * time.Second,
			Recheck:          15 * time.Second,
			Relist:           time.Minute,
			PendingPurgeWait: 20 * time.Minute,
			HistoryEvents:    3500,
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
		Worker: Worker{StopTimeout: 20 * time.Second},
		Listen: Listen{Address: "127.0.0.1:0"},
		Log:    Log{Level: "info", Format: "text"},
		Audit:  Audit{Sink: AuditStdout, MaxSizeMB: 100, MaxBackups: 20},
		Codec:  Codec{Address: "127.0.0.1:8234", Origins: []string{"http://127.0.0.1:8233", "http://localhost:8233"}},
	}
}
