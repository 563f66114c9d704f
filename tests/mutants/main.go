// Mutants takes the guards of the invariants out, one by one, runs the test that must
// notice, and has the simulator look for it within the seeds that the patch states. It works on a copy of the last commit, never on the working tree.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The verdicts on a mutant. Only killed is good.
const (
	killed       = "killed"
	survived     = "SURVIVED"
	doesNotApply = "DOES NOT APPLY"
	doesNotBuild = "DOES NOT BUILD"
	failsAnyway  = "FAILS UNPATCHED"
	otherTest    = "ANOTHER END"
	unseen       = "killed, but NOT FOUND"
)

func main() {
	nosim := flag.Bool("nosim", false, "do not let the simulator look")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, flag.Args(), !*nosim); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run judges the mutants whose names contain one of the words, or all. The
// simulator looks for each of them, too, unless it shall not.
func run(ctx context.Context, w io.Writer, words []string, simulate bool) error {
	tree, remove, err := checkout(ctx)
	if err != nil {
		return err
	}
	defer remove()
	all, err := load(filepath.Join(tree, "tests/mutants/patches"))
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m Mutant) bool {
		return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(m.Name, word) })
	})
	if len(all) == 0 {
		return errors.New("no patch has such a name")
	}
	say(w, "%s\n", "the named tests, without a patch:")
	red, err := unpatched(ctx, w, tree, all)
	if err != nil {
		return err
	}
	sim := hunt{tree: tree}
	if simulate {
		if sim, err = newHunt(ctx, tree); err != nil {
			return err
		}
	}
	return judgeAll(ctx, w, all, red, sim)
}

// judgeAll judges every mutant whose test passes without it, and says so in a table.
func judgeAll(ctx context.Context, w io.Writer, all []Mutant, red map[string]bool, sim hunt) error {
	sum := tally{asked: sim.plain != ""}
	rows := make([]string, 0, len(all))
	for i, m := range all {
		began := time.Now()
		j := judgement{verdict: failsAnyway}
		if !red[m.Test] {
			j = judge(ctx, m, sim)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		took := time.Since(began).Round(time.Second)
		say(w, "%d of %d: %s: %s, simulator: %s, after %s\n%s", i+1, len(all), m.Name, j.verdict, j.seen, took, j.detail)
		sum.add(m, j)
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", m.Name, m.Invariant, m.Guard, m.Test, j.verdict, j.seen))
	}
	say(w, "%s\n", "\n| patch | invariant | what it removes | test that must fail | verdict | the simulator |\n|---|---|---|---|---|---|")
	say(w, "%s\n", strings.Join(rows, "\n"))
	say(w, "\n%s\n", sum)
	if sum.bad > 0 {
		return fmt.Errorf("%d of %d were not killed, or not found", sum.bad, len(all))
	}
	return nil
}

// judgement is what became of one mutant: the verdict, what the simulator saw of it, and
// what was said where it is not as it should be.
type judgement struct {
	verdict, seen, detail string
	// found: the simulator broke something that it does not break without the patch.
	found bool
}

// tally counts what became of all.
type tally struct {
	mutants, killed, found, cannot, bad int
	// asked: the simulator was.
	asked bool
}

func (s *tally) add(m Mutant, j judgement) {
	s.mutants++
	if j.verdict == killed || j.verdict == unseen {
		s.killed++
	}
	if j.verdict != killed {
		s.bad++
	}
	switch {
	case j.found:
		s.found++
	case m.Sim != "":
		s.cannot++
	}
}

// String says it in one line: whom the simulator cannot see it has not found.
func (s tally) String() string {
	if !s.asked {
		return fmt.Sprintf("%d mutants: %d killed; the simulator was not asked", s.mutants, s.killed)
	}
	return fmt.Sprintf("%d mutants: %d killed; the simulator found %d, and cannot see %d", s.mutants, s.killed, s.found, s.cannot)
}

// checkout copies the last commit to a folder of its own.
func checkout(ctx context.Context) (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "mutants-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	pack := filepath.Join(dir, "tree.tar")
	for _, args := range [][]string{
		{"git", "archive", "--output", pack, "HEAD"},
		{"tar", "-xf", pack, "-C", dir},
		{"git", "init", "-q", dir}, // git apply looks at the nearest repository
	} {
		if out, err := command(ctx, ".", args...); err != nil {
			remove()
			return "", nil, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return dir, remove, nil
}

// unpatched runs every named test once as it is, and names those that do not pass.
func unpatched(ctx context.Context, w io.Writer, tree string, all []Mutant) (map[string]bool, error) {
	tests := map[string][]string{}
	for _, m := range all {
		if !slices.Contains(tests[m.Package], m.Test) {
			tests[m.Package] = append(tests[m.Package], m.Test)
		}
	}
	red := map[string]bool{}
	for pkg, names := range tests {
		out, err := test(ctx, tree, pkg, "^("+strings.Join(names, "|")+")$")
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		for _, name := range names {
			red[name] = !strings.Contains(out, "--- PASS: "+name+" ")
			if red[name] {
				say(w, "%s %s does not pass\n%s", pkg, name, tail(out))
			}
		}
		say(w, "%s: %d tests\n", pkg, len(names))
	}
	return red, nil
}

// judge applies one patch, runs its test, lets the simulator look, and takes the patch back.
func judge(ctx context.Context, m Mutant, sim hunt) judgement {
	tree := sim.tree
	if out, err := command(ctx, tree, "git", "apply", m.File); err != nil {
		return judgement{verdict: doesNotApply, detail: out}
	}
	defer func() {
		// Also after an interrupt: what stays patched would spoil every mutant after it.
		if out, err := command(context.WithoutCancel(ctx), tree, "git", "apply", "-R", m.File); err != nil {
			panic(fmt.Sprintf("cannot take %s back: %v: %s", m.Name, err, out))
		}
	}()
	if out, err := command(ctx, tree, "go", "build", m.Package); err != nil {
		return judgement{verdict: doesNotBuild, detail: tail(out)}
	}
	j := judgement{}
	j.verdict, j.detail = named(ctx, tree, m)
	seen, good := sim.look(ctx, m)
	j.seen, j.found = seen, good && sim.plain != "" && m.Sim == ""
	if j.verdict == killed && !good {
		j.verdict = unseen
	}
	return j
}

// named runs the test that the patch names.
func named(ctx context.Context, tree string, m Mutant) (verdict, detail string) {
	out, err := test(ctx, tree, m.Package, "^"+m.Test+"$")
	switch {
	case err == nil:
		return survived, ""
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return doesNotBuild, tail(out)
	case strings.Contains(out, "--- FAIL: "+m.Test+" "):
		return killed, ""
	case strings.Contains(out, "panic: test timed out") && strings.Contains(out, m.Test):
		return killed, "it never ends\n"
	default:
		return otherTest, tail(out)
	}
}

func test(ctx context.Context, tree, pkg, pattern string) (string, error) {
	return command(ctx, tree, "go", "test", "-count=1", "-vet=off", "-timeout", "100s", "-v", "-run", pattern, pkg)
}

// command runs at low priority and returns all that was said.
func command(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "nice", args...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func tail(out string) string {
	const most = 2000
	if len(out) > most {
		out = "…" + out[len(out)-most:]
	}
	return out
}

// say is for progress; a terminal that is gone stops nothing.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
