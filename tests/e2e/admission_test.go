package e2e

import (
	"sync"
	"time"

	"github.com/prometheus/procfs"
)

const (
	// mostPressure is up to how many per cent of the last ten seconds something may have waited for a core, for one
	// more story to begin: permits and windows last seconds, and a machine that is late by more cannot show them.
	mostPressure = 60
	// admitAfter is when a story begins all the same.
	admitAfter = 90 * time.Second
	// admitEvery is how long the machine is given to show what the last one that began costs.
	admitEvery = 2 * time.Second
)

var admission sync.Mutex

// admit waits until the machine has room for one more story, or lab. They begin one by one.
func admit() {
	admission.Lock()
	defer admission.Unlock()
	tick := time.NewTicker(admitEvery)
	defer tick.Stop()
	for begun := time.Now(); time.Since(begun) < admitAfter; {
		<-tick.C
		if pressure() <= mostPressure {
			return
		}
	}
}

// pressure is the share of the last ten seconds in which something waited for a core, in per cent; 0 where the kernel
// does not say.
func pressure() float64 {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	stall, err := fs.PSIStatsForResource("cpu")
	if err != nil || stall.Some == nil {
		return 0
	}
	return stall.Some.Avg10
}
