package queue_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

// FuzzWords: whatever an operator writes for a taint, a time or a binding, it is understood as
// it would be written back, or refused with a word of why.
func FuzzWords(f *testing.F) {
	for _, text := range []string{
		"maintenance:NoExecute", "a/b=c:PreferNoExecute", "a:NoSchedule", "=:NoExecute", "a=b=c:NoExecute", "a:b:NoExecute", "cluster.karmada.io/x:NoExecute",
		"30m", "1ns", "720h", "721h", "-5m", "1h1h", "shop/cart", "-/role", "/x", "a/b/c", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if taint, wrong := karmada.ParseTaint(text); wrong == "" {
			again, wrong := karmada.ParseTaint(taint.String())
			require.Empty(t, wrong)
			require.Equal(t, taint, again)
			taint.Who, taint.Why = "jane", "x"
			require.Empty(t, taint.Validate(), "what was understood can be ordered")
		}
		if d, wrong := queue.SnoozeFor(text); wrong == "" {
			require.True(t, d >= time.Second && d <= queue.MaxSnooze, d)
		} else {
			require.Zero(t, d)
		}
		if key, whole := karmada.ParseBindingKey(text); whole {
			again, whole := karmada.ParseBindingKey(key.String())
			require.True(t, whole)
			require.Equal(t, key, again)
			if scope := queue.ScopeOf(key); scope.Check() == "" {
				require.True(t, scope.One() && scope.Covers(key))
			}
		}
	})
}

// FuzzPacked: what is carried from run to run in packed form reads back as it was, and
// anything else in its place is an error.
func FuzzPacked(f *testing.F) {
	for _, packed := range []string{`""`, `"AQID"`, `"gICAgICAgICAgIAB"`, `"AAAAAAAAAAEAAAAC"`, `"AAAA"`, `null`, `"="`, `[1]`} {
		f.Add([]byte(packed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var set, again queue.BindingSet
		if json.Unmarshal(raw, &set) == nil {
			require.NoError(t, json.Unmarshal(fixtures.Must(json.Marshal(&set))(t), &again))
			require.Equal(t, set.Len(), again.Len())
			key := karmada.BindingKey{Namespace: "shop", Name: "cart"}
			set.Add(key, "u")
			require.True(t, set.Has(key, "u"))
		}
		var log, reread pace.MigrationLog
		if json.Unmarshal(raw, &log) == nil {
			now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
			log.Add("shop/cart", now)
			require.NoError(t, json.Unmarshal(fixtures.Must(json.Marshal(log))(t), &reread))
			moved, _ := reread.Since("shop/cart", now)
			require.Positive(t, moved)
		}
	})
}
