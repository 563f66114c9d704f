package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// labs is how many labs play the stories. A story waits most of the time, so a lab takes a quarter of a core.
var labs = flag.Int("labs", 4, "so many labs play the stories side by side")

// atOnce is how many stories the shared lab plays side by side. All at once would starve their own worker.
var atOnce = flag.Int("at-once", 8, "so many stories at a time are played side by side on the shared lab")

// inTurn sorts the stories that the run's filter leaves into those that are played side by side, those that have a lab
// for themselves, and those that come after all others.
func inTurn(t *testing.T) (together, alone, last []story) {
	_, pattern, _ := strings.Cut(flag.Lookup("test.run").Value.String(), "/")
	asked, err := regexp.Compile(pattern)
	require.NoError(t, err)
	for _, s := range stories {
		switch {
		case !asked.MatchString(s.name):
		case s.last:
			last = append(last, s)
		case s.alone:
			alone = append(alone, s)
		default:
			together = append(together, s)
		}
	}
	return together, alone, last
}

// moreLabs is how many labs are worth starting beside the shared one for so many stories. A real Karmada is too large
// for a second one, and histories are recorded from one Temporal.
func moreLabs(sharedIsBusy bool, alone int) int {
	if *karmadaAt != "" || *recordTo != "" {
		return 0
	}
	if !sharedIsBusy {
		alone--
	}
	return max(0, min(*labs-1, alone))
}

// drain plays stories one by one on a lab until none is left.
func (l *ledger) drain(t *testing.T, queue <-chan story, on *world) {
	for s := range queue {
		l.run(t, s, on)
	}
}

// lane starts a lab and plays stories on it until none is left. Its audit log stays, for the last story.
func (l *ledger) lane(t *testing.T, queue <-chan story, number int) {
	folder := filepath.Join(shared.folder, fmt.Sprintf("lab%d", number))
	if err := os.Mkdir(folder, 0o750); err != nil {
		t.Error(err)
		return
	}
	w, err := startWorld(context.WithoutCancel(t.Context()), folder, bystanders())
	if err != nil {
		t.Errorf("start lab %d, logs are in %s: %v", number, folder, err)
		return
	}
	l.drain(t, queue, w)
	if _, err := w.audit.read(); err != nil {
		t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	shared.beside = append(shared.beside, w.audit)
	if err := w.stop(); err != nil {
		t.Errorf("stop lab %d: %v", number, err)
	}
}
