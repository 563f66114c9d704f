package phase

// Application is where the failover of one application stands. It follows from what is known in
// each turn: no table of transitions is needed.
type Application string

// The phases of an application failover; the last five are terminal.
const (
	ApplicationUnhealthy     Application = "Unhealthy"     // a copy is, and its time runs or stands still
	ApplicationQueued        Application = "Queued"        // the time is over: it waits for its permit
	ApplicationMoving        Application = "Moving"        // a migration runs
	ApplicationBlocked       Application = "Blocked"       // the time is over, and it cannot move for now
	ApplicationNeedsOperator Application = "NeedsOperator" // no move would help
	ApplicationStopped       Application = "Stopped"       // an operator cancelled
	ApplicationHealed        Application = "Healed"        // well again, and nothing was moved
	ApplicationMigrated      Application = "Migrated"
	ApplicationTakenOver     Application = "TakenOver" // by the failover of its cluster
	ApplicationCancelled     Application = "Cancelled"
	ApplicationGone          Application = "Gone" // the binding, or its spec.failover.application
)

// Terminal reports whether an application failover in this phase has closed.
func (p Application) Terminal() bool {
	switch p {
	case ApplicationHealed, ApplicationMigrated, ApplicationTakenOver, ApplicationCancelled, ApplicationGone:
		return true
	case ApplicationUnhealthy, ApplicationQueued, ApplicationMoving, ApplicationBlocked, ApplicationNeedsOperator, ApplicationStopped:
	}
	return false
}
