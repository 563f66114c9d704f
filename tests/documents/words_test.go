package documents

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// retired are words that the project gave up, with the word in their place. One thing has one word.
var retired = map[string]string{
	"companion": "evacuation taint",
	"debt":      "pending purge",
	"episode":   "failover",
	"human":     "operator",
	"parked":    "blocked",
	"rewound":   "stale read",
	"round":     "attempt",
	"scribe":    "trail writer",
	"starter":   "controller",
	"stranger":  "newcomer, or another's",
	"witness":   "external probe",
}

// retiredNames are of several words each.
var retiredNames = map[string]string{"awaitinggrant": "AwaitingPermit", "lefttohuman": "NeedsOperator", "purgedebt": "PendingPurge"}

// kept are texts that hold a retired word in another meaning: Go's own names, and records of the past.
var (
	keptTexts = regexp.MustCompile(`[Rr]ound ?[Tt]rip|\.Round\(|driven round`)
	keptFiles = regexp.MustCompile(`^docs/results/|^tests/documents/words_test\.go$`)
	spoken    = regexp.MustCompile(`\.(go|md|ya?ml|story|patch|sh|mmd|diff)$|^Makefile$`)
	parts     = regexp.MustCompile(`[A-Z]+[a-z]*|[a-z]+`)
)

// retiredIn are the retired words of a line. An identifier has as many words as it has humps.
func retiredIn(line string) (found []string) {
	for _, word := range parts.FindAllString(keptTexts.ReplaceAllString(line, ""), -1) {
		word = strings.ToLower(word)
		for _, form := range []string{word, strings.TrimSuffix(word, "s")} {
			if instead, is := retired[form]; is {
				found = append(found, form+": write "+instead)
				break
			}
		}
	}
	for name, instead := range retiredNames {
		if strings.Contains(strings.ToLower(line), name) {
			found = append(found, name+": write "+instead)
		}
	}
	return found
}

func TestRetiredIn(t *testing.T) {
	require.Len(t, retiredIn("nextEpisode of member1, debts and a Witness"), 3)
	require.Empty(t, retiredIn("a round trip, d.Round(time.Second), background, surround, indebted"))
	require.Equal(t, []string{"human: write operator", "lefttohuman: write NeedsOperator"}, retiredIn("OutcomeLeftToHuman"))
	require.Equal(t, []string{"starter: write controller"}, retiredIn("lifeboat-starter-act"))
}

func TestNoTextUsesARetiredWord(t *testing.T) {
	files, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files").Output()
	require.NoError(t, err, "the words are looked for in what git knows")
	read := 0
	for name := range strings.Lines(string(files)) {
		name = strings.TrimSpace(name)
		if !spoken.MatchString(name) || keptFiles.MatchString(name) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(root, name)) //nolint:gosec // of this repository
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		require.NoError(t, err)
		read++
		for n, line := range strings.Split(name+"\n"+string(raw), "\n") {
			if found := retiredIn(line); len(found) > 0 {
				t.Errorf("%s:%d: %s", name, n, strings.Join(found, ", "))
			}
		}
	}
	require.Greater(t, read, 500)
}
