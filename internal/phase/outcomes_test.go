package phase_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/stretchr/testify/require"
)

func TestCountsReadInAFixedOrderAndWithoutZeroes(t *testing.T) {
	require.Equal(t, "12 Migrated, 3 Restored, 1 WouldBlock", phase.CountsLine(map[phase.Outcome]int{
		phase.OutcomeWouldBlock: 1, phase.OutcomeRestored: 3, phase.OutcomeMigrated: 12, phase.OutcomeGone: 0,
	}))
	require.Equal(t, "nothing settled", phase.CountsLine(nil))
}
