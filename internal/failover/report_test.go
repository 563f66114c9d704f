package failover_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

func TestCountsReadInAFixedOrderAndWithoutZeroes(t *testing.T) {
	require.Equal(t, "12 Migrated, 3 Restored, 1 WouldBlock", failover.CountsLine(map[failover.Outcome]int{
		failover.OutcomeWouldBlock: 1, failover.OutcomeRestored: 3, failover.OutcomeMigrated: 12, failover.OutcomeGone: 0,
	}))
	require.Equal(t, "nothing settled", failover.CountsLine(nil))
}
