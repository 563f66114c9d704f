package view_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/stretchr/testify/require"
)

func TestPlain_TakesTheMarksAwayAndNothingElse(t *testing.T) {
	for marked, plain := range map[string]string{
		"**⏸ Paused** by kim, see *Moving*":                       "⏸ Paused by kim, see Moving",
		"**[NoTarget](https://example.org/a#b)**: bring one back": "NoTarget: bring one back",
		"`lifeboat pause m1 --reason \"…\"`: `a*b_c`":             "lifeboat pause m1 --reason \"…\": a*b_c",
		`1 \* 2 \\ 3 &lt; 4 \[x\](y)`:                             `1 * 2 \ 3 < 4 [x](y)`,
		"":                                                        "",
		`\`:                                                       `\`,
	} {
		require.Equal(t, plain, view.Plain(marked))
	}
}

// What an object says looks on a terminal as it was written.
func TestPlain_OfForeignText_IsThatText(t *testing.T) {
	const said = `a\*b_c[d](e) <f> #g *h* 1|2`
	v := evacuating()
	v.Blocked = []view.Line{{Binding: "shop/cart", Reason: reason.NoTarget, Message: said}}
	for _, s := range v.Doc(10).Sections {
		if s.Heading == "Blocked: 2" {
			require.Equal(t, "NoTarget: "+said, view.Plain(s.Rows[0][2]))
			return
		}
	}
	require.Fail(t, "no table of what is blocked")
}
