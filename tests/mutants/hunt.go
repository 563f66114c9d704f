package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// hunt lets the simulator look for the mutants of a tree. Without a plain one it does not look.
type hunt struct {
	// plain is the simulator without any patch: what it breaks too finds nothing.
	plain string
	tree  string
}

// firstSeed is where every hunt begins, so that it finds the same again.
const firstSeed = 1

// perSeed is how long one seed may take, on a busy machine.
const perSeed = 10 // seconds

// mostKnown is how many seeds of a theme may break something without a patch until the
// theme is no use.
const mostKnown = 3

var (
	playing = regexp.MustCompile(`(?m)^hunt: playing ([0-9]+)$`)
	found   = regexp.MustCompile(`(?m)^hunt: found ([0-9]+) (.*)$`)
)

// newHunt builds the simulator of a tree without a patch.
func newHunt(ctx context.Context, tree string) (hunt, error) {
	h := hunt{plain: filepath.Join(tree, "plain.test"), tree: tree}
	if out, err := build(ctx, tree, h.plain); err != nil {
		return h, fmt.Errorf("the simulator does not build without a patch: %w\n%s", err, tail(out))
	}
	return h, nil
}

func build(ctx context.Context, tree, to string) (string, error) {
	return command(ctx, tree, "go", "test", "-c", "-trimpath", "-vet=off", "-o", to, "./tests/sim")
}

// play has a program play so many seeds of a theme, to the first violation.
func (h hunt) play(ctx context.Context, program, theme string, from, seeds int) (string, error) {
	return command(ctx, filepath.Join(h.tree, "tests/sim"), program, "-test.run", "^TestHunt$", "-test.timeout", strconv.Itoa(120+perSeed*seeds)+"s",
		"-theme", theme, "-hunt", strconv.Itoa(seeds), "-from", strconv.Itoa(from))
}

// look is what the table says of one mutant, which is applied to the tree, and whether
// that is as good as its header says.
func (h hunt) look(ctx context.Context, m Mutant) (seen string, good bool) {
	switch {
	case h.plain == "":
		return "not asked", true
	case m.Sim != "":
		return "cannot: " + m.Sim, true
	case m.Theme == "":
		return "no theme is named", false
	}
	program := filepath.Join(h.tree, "mutant.test")
	if out, err := build(ctx, h.tree, program); err != nil {
		return "does not build: " + lastLine(out), false
	}
	from := firstSeed
	for range mostKnown {
		out, err := h.play(ctx, program, m.Theme, from, firstSeed+m.Seeds-from)
		t := read(out, err == nil)
		if t.what == "" {
			break
		}
		if seed := from + t.played - 1; t.played > 0 {
			if _, err := h.play(ctx, h.plain, m.Theme, seed, 1); err == nil {
				return fmt.Sprintf("%s: %d of %d: %s", m.Theme, seed-firstSeed+1, m.Seeds, t.what), true
			}
			from = seed + 1 // it breaks something anyway
			continue
		}
		return t.what, false
	}
	return fmt.Sprintf("%s: NOT WITHIN %d", m.Theme, m.Seeds), false
}

// told is what the output of one hunt comes to.
type told struct {
	// what was found, empty for nothing; played is after how many seeds.
	what   string
	played int
}

// read understands the output of one hunt; well is that it went to its end.
func read(out string, well bool) told {
	plays := len(playing.FindAllStringSubmatch(out, -1))
	switch at := found.FindStringSubmatch(out); {
	case well:
		return told{played: plays}
	case at != nil:
		return told{law(at[2]), plays}
	case strings.Contains(out, "panic: test timed out"):
		return told{"it never ends", plays}
	case plays == 0:
		return told{"it does not play: " + lastLine(out), 0}
	default:
		return told{"it breaks off", plays}
	}
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.ReplaceAll(lines[len(lines)-1], "|", "/")
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
