package pace_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

func TestMovesAreCountedForAnHour(t *testing.T) {
	var log pace.MigrationLog
	log.Add("shop/cart", fixtures.T0)
	log.Add("shop/other", fixtures.At(1))
	log.Add("shop/cart", fixtures.At(60))
	n, until := log.Since("shop/cart", fixtures.At(120))
	require.Equal(t, 2, n)
	require.True(t, until.Equal(fixtures.T0.Add(time.Hour)), "%s: when the older of the two is an hour old", until)
	n, until = log.Since("shop/cart", fixtures.T0.Add(time.Hour))
	require.Equal(t, 1, n)
	require.True(t, until.Equal(fixtures.At(60).Add(time.Hour)))
	n, _ = log.Since("shop/never", fixtures.At(120))
	require.Zero(t, n)
}

func TestTheMemoryOfMovesIsCarriedAndBounded(t *testing.T) {
	var log pace.MigrationLog
	log.Add("shop/cart", fixtures.T0)
	for i := range 30000 {
		log.Add(fmt.Sprintf("shop/app%d", i), fixtures.At(1))
	}
	n, _ := log.Since("shop/cart", fixtures.At(2))
	require.Zero(t, n, "the oldest is forgotten first")
	raw := fixtures.Must(json.Marshal(log))(t)
	require.Less(t, len(raw), 400_000)
	var carried pace.MigrationLog
	require.NoError(t, json.Unmarshal(raw, &carried))
	require.Equal(t, log, carried)
	n, _ = carried.Since("shop/app29999", fixtures.At(2))
	require.Equal(t, 1, n)
	log.Add("shop/late", fixtures.T0.Add(2*time.Hour))
	raw = fixtures.Must(json.Marshal(log))(t)
	require.Less(t, len(raw), 50, "an hour later nothing of it is left")
	for _, bad := range []string{`1`, `"?"`, `"AAAA"`} {
		require.Error(t, json.Unmarshal([]byte(bad), &carried), bad)
	}
	require.NoError(t, json.Unmarshal([]byte(`""`), &carried))
}
