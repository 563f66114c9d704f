package sim

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var hunt = flag.Int("hunt", 0, "play so many seeds, from -from on, to the first violation, and say which it was")

// tell writes at once: what t.Log holds back is lost with a seed that never ends.
func tell(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, "hunt: "+format+"\n", args...) }

// TestHunt looks for the first schedule of a theme that breaks an invariant: `make mutants`
// runs it in a copy of the code with a guard taken out, and reads what it prints. Each
// seed is named before it is played, so that one that never ends is known too.
func TestHunt(t *testing.T) {
	if *hunt == 0 {
		t.Skip("only with -hunt")
	}
	for i := range uint64(*hunt) { //nolint:gosec // a flag
		seed := *from + i
		tell("playing %d", seed)
		if v := inBubble(t, fresh(t, seed), quiet); len(v.Violations) > 0 {
			tell("found %d %s", seed, v.Violations[0])
			t.Fatalf("seed %d: %s", seed, v.Violations[0])
		}
	}
	tell("nothing in %d", *hunt)
}
