package e2e

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
)

// oldCopiesEnd fails a cluster for so long that Karmada has failed to delete its old copies many times over,
// and brings it back.
//
// It guards that the old copies end within seconds of the cluster being Ready: Karmada's execution controller
// backs off for up to 1000 s, and two copies of each workload would serve meanwhile.
//
// Rules: R4.8-17, R4.8-18.
func oldCopiesEnd(s *scene) {
	s.rule(time.Second, 5*time.Second)
	from, to := s.c(1), s.c(2)
	outage, bound := 5*time.Second, 20*time.Second
	if *karmadaAt != "" {
		outage = 2 * time.Minute
	}
	var apps []string
	for n := range 6 {
		apps = append(apps, s.deploy(fmt.Sprintf("app%d", n), from, 1, oneOf(from, to)))
	}
	s.kill(from)
	s.phase(from, "Evacuated")
	s.remains(outage, "the old copies are owed", func() bool { return s.work(apps[0], from) != nil })
	s.revive(from)
	back := time.Now()
	for _, app := range apps {
		s.await("the old copy has ended: "+app, func() (bool, string) { return s.work(app, from) == nil, "" })
	}
	took := time.Since(back)
	s.Logf("%d old copies ended %s after the cluster was Ready", len(apps), took.Round(100*time.Millisecond))
	require.Less(s, took, bound)
	s.ends(from, "Recovered")
	for _, app := range apps {
		require.Equal(s, []string{to}, s.find(app).targets())
	}
}
