package status

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/lifeboat-failover/lifeboat/controller/show"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
)

func TestLive_AnyWidth_LinesFitAndWaitsAreCountedDown(t *testing.T) {
	s := evacuating()
	s.ETA = now.Add(4 * time.Minute)
	s.Windows = rules.Windows{rules.WindowKey("a"): {
		Rule: "degraded", Taint: karmada.RuleTaint{Key: "slow", Effect: "NoExecute", AddOnMatch: time.Minute},
		Matching: true, Since: now.Add(-18 * time.Second),
	}}
	s.Items[2].RetryAt = now.Add(7 * time.Second)
	s.Results = nil
	for n := range 7 {
		s.Results = append(s.Results, record.Result{Key: key(strings.Repeat("x", n+1)), Outcome: phase.OutcomeMigrated, At: now.Add(time.Duration(n-9) * time.Second)})
	}
	picture := Live(Overview{Failovers: []Failover{{Cluster: "member1", FailoverStatus: s}, {Cluster: "member2", FailoverStatus: &workflows.FailoverStatus{}}}})
	require.Equal(t, []string{"member1", "member2"}, picture.Names)
	for _, columns := range []int{80, 120, 160} {
		var fleet bytes.Buffer
		picture.All(show.Page{Out: &fleet, Now: now, Columns: columns})
		require.Contains(t, fleet.String(), "ATTENTION", columns)
		var out bytes.Buffer
		picture.One(show.Page{Out: &out, Now: now, Columns: columns}, 0)
		for _, line := range strings.Split(out.String(), "\n") {
			require.LessOrEqual(t, text.StringWidthWithoutEscSequences(line), columns, line)
		}
		require.Contains(t, out.String(), "Last begins  12:04:00 UTC (in 4m)")
		require.Regexp(t, `degraded +slow:NoExecute +match +11:59:42 UTC \(18s ago\) +taint at`, out.String())
		require.Regexp(t, `shop/stuck +12:00:07 UTC \(in 7s\) +NoTarget`, out.String())
		require.Regexp(t, `Last finished\n.*\nshop/xxxxxxx +Migrated +11:59:57 UTC \(3s ago\)`, out.String())
		require.NotContains(t, out.String(), "shop/xx ", "five of them")
	}
}
