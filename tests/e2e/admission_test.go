package e2e

import (
	"sync"
	"time"

	"github.com/prometheus/procfs"
)

const (
	// mostPressure is in how many per cent of a moment something may have waited for a core, for one more story to begin:
	// permits and windows last seconds, and a machine that is late by more cannot show them.
	mostPressure = 60
	// admitAfter is when a story begins all the same.
	admitAfter = 90 * time.Second
	// admitEvery is that moment: the machine is given it to show what the last one that began costs.
	admitEvery = 2 * time.Second
)

var admission sync.Mutex

// admit waits until the machine has room for one more story, or lab. They begin one by one.
func admit() {
	admission.Lock()
	defer admission.Unlock()
	for begun := time.Now(); time.Since(begun) < admitAfter; {
		before := stalled()
		time.Sleep(admitEvery) //nolint:forbidigo // the time that is measured
		if stalled()-before <= admitEvery*mostPressure/100 {
			return
		}
	}
}

// stalled is how long something has waited for a core since the machine began; 0 where the kernel does not say.
func stalled() time.Duration {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	stall, err := fs.PSIStatsForResource("cpu")
	if err != nil || stall.Some == nil {
		return 0
	}
	return time.Duration(stall.Some.Total) * time.Microsecond //nolint:gosec // a machine is no 292,000 years old
}
