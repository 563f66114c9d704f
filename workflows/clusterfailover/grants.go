package clusterfailover

import (
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// grants are the permits in hand, as the pacer granted them.
type grants struct{ *run }

// accept keeps a grant; false for one that no pacer sends, or that is known.
func (g *grants) accept(m workflows.Grant) bool {
	if !m.Valid() || len(m.FailoverID) > workflows.MaxText {
		g.log.Warn("ignored a malformed signal", "signal", workflows.SignalGrant, "number", m.Number)
		return false
	}
	if slices.ContainsFunc(g.st.Grants, func(x workflows.Grant) bool { return x.Number == m.Number }) {
		return false
	}
	g.st.Grants = append(g.st.Grants, m)
	g.st.Newest = m.Number + int64(m.Size) - 1
	return true
}

// drop drops what is in hand: nothing is evicted any more.
func (g *grants) drop() { g.st.Grants = nil }

// takePermit takes the next permit in hand.
func (g *grants) takePermit() pace.Permit {
	permit, rest := g.st.Grants[0].Take()
	g.st.Grants[0].Permits = rest
	if rest.Size <= 0 {
		g.st.Grants = g.st.Grants[1:]
	}
	return permit
}

// dropPassed drops the permits in hand that have passed, and a grant of moments that no pacer
// gives so far ahead.
func (g *grants) dropPassed() {
	for len(g.st.Grants) > 0 {
		switch first, _ := g.st.Grants[0].Take(); {
		case first.Earliest.After(g.now().Add(2 * pace.PermitsEnd)):
			g.st.Grants = g.st.Grants[1:]
		case g.now().Before(first.Latest):
			return
		default:
			g.takePermit()
		}
	}
}

// inHand counts those in hand that have not passed.
func (g *grants) inHand() (n int) {
	g.dropPassed()
	for _, x := range g.st.Grants {
		n += x.Size
	}
	return n
}
