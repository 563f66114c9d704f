package e2e

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// oldCopiesEnd fails a cluster for so long that Karmada has failed to delete its old copies many times over, with
// Karmada's own backoff of up to 1000 s, and brings the cluster back.
//
// It guards that the old copies end within seconds of the cluster being Ready. Karmada alone would try the deletion
// again after minutes, and two copies of each workload would serve meanwhile.
//
// Rules: R4.8-17, R4.8-18.
func oldCopiesEnd(s *scene) {
	s.Cleanup(func() { s.knobs(context.Background(), object{"executionRetry": "1s"}) })
	s.knobs(s.ctx, object{"executionRetry": "1000s"})
	s.rule(time.Second, 5*time.Second)
	from, to := s.c(1), s.c(2)
	// The bound leaves room for a machine that all servers share.
	copies, outage, bound := 6, 5*time.Second, 20*time.Second
	if *karmadaAt != "" {
		copies, outage = 50, 5*time.Minute
	}
	var apps []string
	var bindings []*unstructured.Unstructured
	for n := range copies {
		u := deployment(s.namespace(), fmt.Sprintf("app%d", n), from, 1, oneOf(from, to))
		bindings, apps = append(bindings, u), append(apps, keyOf(u))
	}
	s.run(bindings...)
	s.kill(from)
	s.phase(from, "Evacuated")
	s.remains(outage, "the old copies are owed", func() bool { return s.work(apps[0], from) != nil })
	s.revive(from)
	back := time.Now()
	for _, app := range apps {
		s.awaitQuietly("the old copy has ended: "+app, func() (bool, string) { return s.work(app, from) == nil, "" })
	}
	took := time.Since(back)
	s.Logf("%d old copies ended %s after the cluster was Ready", len(apps), took.Round(100*time.Millisecond))
	require.Less(s, took, bound)
	s.ends(from, "Recovered")
	for _, app := range apps {
		require.Equal(s, []string{to}, s.find(app).targets())
	}
}
