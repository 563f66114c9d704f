package sim

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var (
	hunt  = flag.Int("hunt", 0, "play so many seeds, from -from on, to the first violation, and say which it was")
	known = flag.String("known", "", "seeds that a hunt passes over, with commas between")
)

// tell writes at once: what t.Log holds back is lost with a seed that never ends.
func tell(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, "hunt: "+format+"\n", args...) }

// TestHunt looks for the first schedule that breaks an invariant: `make mutants SIM=…`
// runs it in a copy of the code with a guard taken out, and reads what it prints. Each
// seed is named before it is played, so that one that never ends is known too.
func TestHunt(t *testing.T) {
	if *hunt == 0 {
		t.Skip("only with -hunt")
	}
	passed := strings.Split(*known, ",")
	for i := range uint64(*hunt) { //nolint:gosec // a flag
		seed := *from + i
		if slices.Contains(passed, fmt.Sprint(seed)) {
			continue
		}
		tell("playing %d", seed)
		if v := inBubble(t, Generate(seed, Settled), quiet); len(v.Violations) > 0 {
			tell("found %d %s", seed, v.Violations[0])
			t.Fatalf("seed %d: %s", seed, v.Violations[0])
		}
	}
	tell("nothing in %d", *hunt)
}
