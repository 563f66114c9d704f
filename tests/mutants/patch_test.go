package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryPatchStillApplies keeps the patches from rotting: `make mutants` itself
// takes too long for every run of the tests.
func TestEveryPatchStillApplies(t *testing.T) {
	all, err := load("patches")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 20, "a folder that was emptied proves nothing")
	invariants, err := os.ReadFile("../../docs/invariants.md")
	require.NoError(t, err)
	named := map[string]bool{}
	for i, word := range strings.Split(string(invariants), "`") {
		named[word] = named[word] || i%2 == 1
	}
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			out, err := command(t.Context(), "../..", "git", "apply", "--check", m.File)
			require.NoError(t, err, out)
			require.Regexp(t, `^\./[a-z0-9/]+$`, m.Package)
			require.True(t, hasTest(t, filepath.Join("../..", m.Package), m.Test), "%s has no %s", m.Package, m.Test)
			require.True(t, named[m.Name], "docs/invariants.md does not name it")
		})
	}
}

// A hunt is read by its output alone: the copy is another program.
func TestWhatAHuntSaysIsUnderstood(t *testing.T) {
	const two = "hunt: playing 1\nhunt: playing 2\n"
	for name, c := range map[string]struct {
		out  string
		well bool
		want string
	}{
		"nothing found":  {two + "hunt: nothing in 2\n", true, "not within 2"},
		"an invariant":   {two + "hunt: found 2 at 3m1s: 5: two tasks for m1\n--- FAIL: TestHunt\n", false, "after 2: invariant 5"},
		"liveness":       {two + "hunt: found 2 at 45m: liveness: m1 is still open\n", false, "after 2: liveness"},
		"an odd message": {two + "hunt: found 2 panic | here\n", false, "after 2: panic / here"},
		"a hang":         {two + "panic: test timed out after 2m0s\n", false, "after 2: it never ends"},
		"a crash":        {two + "panic: nil map\n", false, "after 2: it breaks off"},
		"no program":     {"[build failed]\n", false, "does not build"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, hunt{seeds: 2}.told(c.out, c.well))
		})
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
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
	for _, line := range []string{"Invariant: 1\n", "Guard: g\n", "Package: ./p\n", "Test: TestX\n", "--- a/f\n"} {
		_, err := parse(strings.Replace(whole, line, "", 1))
		require.Error(t, err, line)
	}
}
