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
