package view

import (
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
)

// course is the way of a migration that nothing disturbs.
var course = []phase.Migration{
	phase.MigrationChecking, phase.MigrationEvicting, phase.MigrationPlacing, phase.MigrationAwaitingHealth, phase.MigrationReleasing, phase.MigrationPurging, phase.MigrationDone,
}

// courseDirectly is that of purge mode Directly: the old copy goes first, and the
// task with it.
var courseDirectly = []phase.Migration{
	phase.MigrationChecking, phase.MigrationEvicting, phase.MigrationPlacing, phase.MigrationAwaitingFence, phase.MigrationReleasing, phase.MigrationPurging, phase.MigrationDone,
}

// courseWithState is that of Directly where state goes along: the new copy has to be
// healthy as well.
var courseWithState = slices.Insert(slices.Clone(courseDirectly), 4, phase.MigrationAwaitingHealth)

// courseUnfenced begins with the proof: nothing is written before it, and nothing has to
// be waited for after it.
var courseUnfenced = slices.Concat([]phase.Migration{phase.MigrationAwaitingFence}, slices.DeleteFunc(slices.Clone(courseDirectly), func(p phase.Migration) bool {
	return p == phase.MigrationAwaitingFence
}))

// courseQueued is that of a binding whose dependents are held before it gets its permit.
var courseQueued = slices.Insert(slices.Clone(course), 1, phase.MigrationQueued)

// course is the way that this migration goes.
func (v Migration) course() []phase.Migration {
	switch {
	case v.unfenced():
		return courseUnfenced
	case v.Phase == phase.MigrationQueued:
		return courseQueued
	case v.Purge != karmada.PurgeDirectly || v.Written.IsZero():
		return course
	case len(v.State) > 0:
		return courseWithState
	default:
		return courseDirectly
	}
}

// steps draws the way and where it stands.
func (v Migration) steps() string {
	course := v.course()
	at := slices.Index(course, v.Phase)
	if at < 0 || v.Result != nil && v.Result.Outcome != phase.OutcomeMigrated {
		return "**" + string(v.Phase) + "**"
	}
	parts := make([]string, 0, len(course))
	for i, phase := range course {
		switch {
		case i < at:
			parts = append(parts, string(phase)+" ✔")
		case i == at:
			parts = append(parts, "**"+string(phase)+"**")
		default:
			parts = append(parts, string(phase))
		}
	}
	line := strings.Join(parts, " → ")
	if v.Purge == karmada.PurgeDirectly {
		line += " (purge mode Directly: a new copy begins only when the old one is gone or proven dead)"
	}
	return line
}
