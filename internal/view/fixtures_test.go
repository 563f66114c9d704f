package view_test

import (
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	corev1 "k8s.io/api/core/v1"
)

var (
	failedTaint = karmada.RuleTaint{
		Key: "acme.io/failed", Effect: corev1.TaintEffectNoExecute, AddOnMatch: 300 * time.Second, RemoveOnMismatch: 180 * time.Second,
	}
	windowKey      = rules.RuleObservation{Rule: "unready", Taint: failedTaint}.Key()
	limits         = pace.Config{EvictionRate: 0.5, UnhealthyThreshold: 0.55, SecondaryRate: 0.1, LargeFleet: 10, UnlimitedChunk: 50}
	failoverPhases = []phase.Failover{
		phase.FailoverSuspected, phase.FailoverCordoned, phase.FailoverUncordoned, phase.FailoverConfirmed,
		phase.FailoverEvacuating, phase.FailoverEvacuated, phase.FailoverRecovering, phase.FailoverSettling,
		phase.FailoverStopped, phase.FailoverFalseAlarm, phase.FailoverRecovered, phase.FailoverCancelled, phase.FailoverGone,
	}
)
