package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// playedBy names the story that plays what docs/failure-modes.md has a row for and `outages` has
// not; of a table without rows of that kind, the story that plays the section.
var playedBy = map[string]string{
	"one of three etcd members lost":                          "etcd_loses_one_of_three_members",
	"search attributes missing":                               "temporal_without_its_search_attributes",
	"the leader is killed":                                    "leaders_change_hands",
	"the leader freezes, and goes on after another took over": "leaders_change_hands",
	"two lead, as with leader election switched off, or under two names of the Lease": "deaf_leader_beside_a_fresh_one",
	"one that leads hears nothing new":                                                "deaf_leader_beside_a_fresh_one",
	"## More signals than one run takes":                                              loadStory.name, // TestSignalsBeyondTheCap
	"## Temporal lost its database":                                                   "temporal_loses_its_database",
	"## Karmada restored from a backup":                                               "karmada_restored_from_a_backup",
}

// TestEveryFailureModeIsPlayed compares docs/failure-modes.md with what plays it, both ways: what
// is played says there what an operator sees, and what an operator is told there is played.
func TestEveryFailureModeIsPlayed(t *testing.T) {
	content, err := os.ReadFile("../../docs/failure-modes.md")
	require.NoError(t, err)
	documented := failureModes(string(content))

	var played []string
	for _, o := range outages {
		played = append(played, o.name)
	}
	for what, by := range playedBy {
		played = append(played, what)
		require.True(t, slices.ContainsFunc(append(slices.Concat(stories, outagesApart), loadStory), func(s story) bool {
			return s.name == by
		}), "there is no story %s, which is said to play %q", by, what)
	}
	slices.Sort(played)
	require.Equal(t, documented, slices.Compact(played))
}

// failureModes are the first cells of the tables whose head begins with "row", and the headings
// over the other tables, sorted.
func failureModes(page string) []string {
	var modes []string
	var heading, head string
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		cells := strings.Split(line, "|")
		switch {
		case strings.HasPrefix(line, "#"):
			heading = line
		case len(cells) < 3: // no table
			head = ""
		case head == "":
			if head = strings.TrimSpace(cells[1]); head != "row" {
				modes = append(modes, heading)
			}
		case head == "row" && !strings.HasPrefix(cells[1], "---"):
			modes = append(modes, strings.TrimSpace(cells[1]))
		}
	}
	slices.Sort(modes)
	return modes
}
