package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// page has the verdict on every patch.
const page = "../../docs/results/mutants.md"

// TestEveryPatchStillApplies keeps the patches from rotting: `make mutants` itself
// takes too long for every run of the tests.
func TestEveryPatchStillApplies(t *testing.T) {
	all, err := load("patches")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 20, "a folder that was emptied proves nothing")
	table, err := os.ReadFile(page)
	require.NoError(t, err)
	themes, err := os.ReadFile("../sim/themes.go")
	require.NoError(t, err)
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			out, err := command(t.Context(), "../..", "git", "apply", "--check", m.File)
			require.NoError(t, err, out)
			require.Regexp(t, `^\./[a-z0-9/]+$`, m.Package)
			require.True(t, hasTest(t, filepath.Join("../..", m.Package), m.Test), "%s has no %s", m.Package, m.Test)
			require.NotEqual(t, m.Theme == "", m.Sim == "", "the header says how the simulator finds it, or why it cannot")
			require.True(t, m.Theme == "" || strings.Contains(string(themes), "\t\""+m.Theme+"\":"), "the simulator has no theme %q", m.Theme)
			require.Contains(t, string(table), fmt.Sprintf("\n| %s | %s | %s | %s | ", m.Name, m.Invariant, m.Guard, m.Test), page)
		})
	}
}

// The page says of the patches that are there what a run says in which nothing is amiss: whom
// the simulator cannot see it has not found.
func TestTheTallyOnThePageIsThatOfThePatches(t *testing.T) {
	all, err := load("patches")
	require.NoError(t, err)
	sum := tally{asked: true}
	for _, m := range all {
		sum.add(m, judgement{verdict: killed, found: m.Sim == ""})
	}
	require.Positive(t, sum.cannot)
	require.Equal(t, len(all), sum.found+sum.cannot)
	require.Zero(t, sum.bad)
	table, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(table), "\n\n"+sum.String()+"\n")
	require.Equal(t, len(all), strings.Count(string(table), "\n| ")-1, "a row for each patch, and the head")
}

func TestATallyCountsWhatWasFound(t *testing.T) {
	blind := Mutant{Sim: "nobody there does that"}
	seen := Mutant{Theme: "any"}
	for want, c := range map[string]struct {
		asked bool
		bad   int
		of    map[*Mutant]judgement
	}{
		"2 mutants: 2 killed; the simulator found 1, and cannot see 1": {asked: true, bad: 0, of: map[*Mutant]judgement{
			&seen: {verdict: killed, found: true}, &blind: {verdict: killed},
		}},
		"2 mutants: 2 killed; the simulator found 0, and cannot see 1": {asked: true, bad: 1, of: map[*Mutant]judgement{
			&seen: {verdict: unseen}, &blind: {verdict: killed},
		}},
		"2 mutants: 0 killed; the simulator found 1, and cannot see 1": {asked: true, bad: 2, of: map[*Mutant]judgement{
			&seen: {verdict: survived, found: true}, &blind: {verdict: doesNotApply},
		}},
		"1 mutants: 1 killed; the simulator was not asked": {asked: false, bad: 0, of: map[*Mutant]judgement{&seen: {verdict: killed}}},
	} {
		t.Run(want, func(t *testing.T) {
			sum := tally{asked: c.asked}
			for m, j := range c.of {
				sum.add(*m, j)
			}
			require.Equal(t, want, sum.String())
			require.Equal(t, c.bad, sum.bad)
		})
	}
}

// A hunt is read by its output alone: the copy is another program.
func TestWhatAHuntSaysIsUnderstood(t *testing.T) {
	const two = "hunt: playing 1\nhunt: playing 2\n"
	for name, c := range map[string]struct {
		out  string
		well bool
		want told
	}{
		"nothing found":  {out: two + "hunt: nothing in 2\n", well: true, want: told{"", 2}},
		"an invariant":   {out: two + "hunt: found 2 at 3m1s: 5: two tasks for m1\n--- FAIL: TestHunt\n", well: false, want: told{"invariant 5", 2}},
		"liveness":       {out: two + "hunt: found 2 at 45m: liveness: m1 is still open\n", well: false, want: told{"liveness", 2}},
		"an odd message": {out: two + "hunt: found 2 panic | here\n", well: false, want: told{"panic / here", 2}},
		"a hang":         {out: two + "panic: test timed out after 2m0s\n", well: false, want: told{"it never ends", 2}},
		"a crash":        {out: two + "panic: nil map\n", well: false, want: told{"it breaks off", 2}},
		"no theme":       {out: "--- FAIL: TestHunt\nno such | theme\n", well: false, want: told{"it does not play: no such / theme", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, read(c.out, c.well))
		})
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T) {") {
			return true
		}
	}
	return false
}

// TestAPatchWithoutACompleteHeaderIsRefused: a mutant without a test would count as killed by nothing.
func TestAPatchWithoutACompleteHeaderIsRefused(t *testing.T) {
	whole := "Invariant: 1\nGuard: g\nPackage: ./p\nTest: TestX\n\n--- a/f\n+++ b/f\n"
	m, err := parse(whole)
	require.NoError(t, err)
	require.Equal(t, Mutant{Invariant: "1", Guard: "g", Package: "./p", Test: "TestX"}, m)
	m, err = parse("Theme: drains\nSeeds: 60\n" + whole)
	require.NoError(t, err)
	require.Equal(t, Mutant{Invariant: "1", Guard: "g", Package: "./p", Test: "TestX", Theme: "drains", Seeds: 60}, m)
	_, err = parse("Theme: drains\n" + whole)
	require.ErrorContains(t, err, "not within how many seeds")
	for _, line := range []string{"Invariant: 1\n", "Guard: g\n", "Package: ./p\n", "Test: TestX\n", "--- a/f\n"} {
		_, err := parse(strings.Replace(whole, line, "", 1))
		require.Error(t, err, line)
	}
}
