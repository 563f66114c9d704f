package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// hunt lets the simulator look for mutants. The zero value does not look.
type hunt struct {
	seeds int
	// known are seeds that break something without any patch: they find nothing.
	known []string
}

// firstSeed is where every hunt begins, so that it finds the same again.
const firstSeed = 1

// perSeed is how long one seed may take, on a busy machine.
const perSeed = 10 // seconds

var (
	playing = regexp.MustCompile(`(?m)^hunt: playing ([0-9]+)$`)
	found   = regexp.MustCompile(`(?m)^hunt: found ([0-9]+) (.*)$`)
)

// newHunt plays the seeds without a patch, to know those that find something anyway.
func newHunt(ctx context.Context, w io.Writer, tree string, seeds int) (hunt, error) {
	h := hunt{seeds: seeds}
	for seeds > 0 {
		out, err := h.play(ctx, tree)
		if err == nil {
			say(w, "the simulator, without a patch: %d seeds, of which it breaks something on %d\n", seeds, len(h.known))
			return h, nil
		}
		m := found.FindStringSubmatch(out)
		if m == nil || ctx.Err() != nil {
			return h, fmt.Errorf("the simulator does not play without a patch: %w\n%s", err, tail(out))
		}
		say(w, "the simulator, without a patch: seed %s: %s\n", m[1], m[2])
		h.known = append(h.known, m[1])
	}
	return h, nil
}

func (h hunt) play(ctx context.Context, tree string) (string, error) {
	return command(ctx, tree, "go", "test", "./tests/sim", "-count=1", "-vet=off", "-v", "-run", "^TestHunt$",
		"-timeout", strconv.Itoa(120+perSeed*h.seeds)+"s", "-hunt", strconv.Itoa(h.seeds), "-from", strconv.Itoa(firstSeed),
		"-known", strings.Join(h.known, ","))
}

// look is what the table says of one mutant, which is applied to the tree.
func (h hunt) look(ctx context.Context, tree string, m Mutant) string {
	switch {
	case m.Sim != "":
		return "cannot: " + m.Sim
	case h.seeds == 0:
		return "not asked"
	}
	out, err := h.play(ctx, tree)
	return h.told(out, err == nil)
}

// told is what the output of one hunt comes to; well is that it went to its end.
func (h hunt) told(out string, well bool) string {
	plays := playing.FindAllStringSubmatch(out, -1)
	switch at := found.FindStringSubmatch(out); {
	case well:
		return fmt.Sprintf("not within %d", h.seeds)
	case at != nil:
		return fmt.Sprintf("after %d: %s", len(plays), law(at[2]))
	case len(plays) == 0:
		return "does not build"
	case strings.Contains(out, "panic: test timed out"):
		return fmt.Sprintf("after %d: it never ends", len(plays))
	default:
		return fmt.Sprintf("after %d: it breaks off", len(plays))
	}
}

// law is which rule a violation is of: of "at 3m: 5: …" it is "invariant 5".
func law(violation string) string {
	parts := strings.SplitN(violation, ": ", 3)
	if len(parts) < 3 {
		return strings.ReplaceAll(violation, "|", "/")
	}
	if _, err := strconv.Atoi(parts[1]); err == nil {
		return "invariant " + parts[1]
	}
	return parts[1]
}
