package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/stretchr/testify/require"
)

// Two containers on one host's network may have one name and one process id: with one
// identity between them both would take the Lease for theirs.
func TestNoTwoControllersStandForElectionUnderOneName(t *testing.T) {
	one, other := identity(), identity()
	require.NotEqual(t, one, other)
	require.Contains(t, one, fmt.Sprintf("%s_%d_", config.Host(), os.Getpid()), "people read it")
}
