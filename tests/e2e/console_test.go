package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
)

// told is what a verb answers an operator in JSON.
func told[T any](s *scene, verb string, args ...string) (T, error) {
	var answer T
	cmd := s.lifeboat(verb, s.lab.At.Kubeconfigs["operator"], append(args, "-o", "json")...)
	cmd.Stdout = nil
	out, err := cmd.Output()
	if err != nil {
		return answer, fmt.Errorf("lifeboat %s: %w: %s", verb, err, tail(s.logFile(verb), 20))
	}
	require.NoError(s, json.Unmarshal(out, &answer), "lifeboat %s -o json said: %s", verb, out)
	return answer, nil
}

// planned is what lifeboat plan says of a cluster.
type planned struct {
	At        time.Time `json:"at"`
	Confirmed time.Time `json:"confirmed"`
	Bindings  []struct {
		Binding    string    `json:"binding"`
		Verdict    string    `json:"verdict"`
		Reason     string    `json:"reason"`
		Message    string    `json:"message"`
		Due        time.Time `json:"due"`
		Candidates []string  `json:"candidates"`
	} `json:"bindings"`
}

// plan asks what would happen if a healthy cluster failed.
func (s *scene) plan(cluster string) planned {
	p, err := told[planned](s, "plan", cluster)
	require.NoError(s, err)
	require.NotEmpty(s, p.Bindings, "nothing was planned for %s", cluster)
	return p
}

// planHeld: every binding that moved was planned to, was due as long after the failure
// as planned, and went where the plan said that it could.
func (s *scene) planHeld(p planned, from string, moved map[string]string) {
	require.Len(s, p.Bindings, len(moved))
	stands := s.cluster(from).taint(failedTaint, "NoExecute").TimeAdded.Time
	for _, b := range p.Bindings {
		require.Contains(s, moved, b.Binding)
		require.Equal(s, "Moves", b.Verdict, "%s: %s %s", b.Binding, b.Reason, b.Message)
		due := stands.Add(b.Due.Sub(p.Confirmed))
		require.False(s, s.evicted(b.Binding, from).Seen.Before(due.Add(-time.Second)), "%s went before it was due by the plan", b.Binding)
		for _, t := range s.find(b.Binding).Spec.Clusters {
			require.True(s, slices.Contains(b.Candidates, t.Name), "%s went to %s, and the plan said %v", b.Binding, t.Name, b.Candidates)
		}
	}
}

// explainedMigrated: whoever asks about a workload is told how its move off a cluster ended.
func (s *scene) explainedMigrated(workload, from string) {
	x, err := told[struct {
		Clusters []struct {
			Cluster  string `json:"cluster"`
			Failover *struct {
				Phase   string `json:"phase"`
				Results []struct {
					Outcome string `json:"outcome"`
				} `json:"results"`
			} `json:"failover"`
		} `json:"clusters"`
	}](s, "explain", workload, "-n", s.namespace(), "--cluster", from)
	require.NoError(s, err)
	require.Len(s, x.Clusters, 1)
	require.NotNil(s, x.Clusters[0].Failover, "%+v", x)
	require.Equal(s, "Evacuated", x.Clusters[0].Failover.Phase)
	require.Len(s, x.Clusters[0].Failover.Results, 1)
	require.Equal(s, "Migrated", x.Clusters[0].Failover.Results[0].Outcome)
}

// recounted: the history has the failover of a cluster that is over, once Temporal lists it.
func (s *scene) recounted(cluster string, migrated int) {
	s.await("the history of "+cluster, func() (bool, string) {
		failovers, err := told[[]report](s, "history", cluster)
		require.NoError(s, err)
		if len(failovers) == 0 {
			return false, "nothing yet"
		}
		attempts := failovers[0].Attempts
		return failovers[0].Ended == "Recovered" && len(attempts[len(attempts)-1].Results) == migrated, fmt.Sprintf("%+v", failovers)
	})
}
