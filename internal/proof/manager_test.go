package proof_test

import (
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/fixtures"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/stretchr/testify/require"
)

// Rules: R4.7-47.
func TestManagerFresh(t *testing.T) {
	lease := func(holder string, acquired, renewed int) proof.ManagerLease {
		return proof.ManagerLease{Holder: holder, Acquired: fixtures.At(acquired), Renewed: fixtures.At(renewed)}
	}
	cases := []struct {
		name        string
		before, now proof.ManagerLease
		ok          bool
		message     string
	}{
		{name: "the same holder renews", before: lease("a", 0, 100), now: lease("a", 0, 102), ok: true},
		{name: "leads for exactly detection", before: lease("a", 0, 88), now: lease("a", 0, 90), ok: true},
		{name: "does not renew", before: lease("a", 0, 100), now: lease("a", 0, 100), message: "does not renew"},
		{name: "has just started", before: lease("a", 0, 10), now: lease("a", 0, 12), message: "leads for 12s of 1m30s"},
		{name: "another holder", before: lease("a", 0, 100), now: lease("b", 0, 102), message: "changed hands"},
		{name: "the same holder acquired it again", before: lease("a", 0, 100), now: lease("a", 101, 300), message: "changed hands"},
		{name: "released", before: lease("a", 0, 100), now: lease("", 0, 102), message: "no process holds"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			v := proof.ManagerFresh(tc.before, tc.now, 90*time.Second)
			require.Equal(t, tc.ok, v.OK)
			require.Contains(t, v.Message, tc.message)
			require.Equal(t, !tc.ok, v.Reason == reason.KarmadaStale)
		})
	}
}
