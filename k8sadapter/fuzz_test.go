package k8sadapter

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"github.com/stretchr/testify/require"
)

// seeds adds the objects of the recordings and of the tests to what a fuzz target begins with.
func seeds(f *testing.F, more ...string) {
	for _, raw := range append(more, shared, held, wholeBinding, "", "null", "{}", `[]`, `{"metadata":[],"spec":1,"status":"x"}`) {
		f.Add([]byte(raw))
	}
}

// FuzzDecodeBinding: whatever a binding is, it is read without harm; what a write accepts
// leaves the parts of others as they are.
func FuzzDecodeBinding(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		b := DecodeBinding(raw)
		for _, write := range bindingWrites {
			patch, err := write(&b)
			if err != nil {
				require.ErrorIs(t, err, failover.ErrInvalid)
				continue
			}
			if !stored(raw) {
				require.True(t, json.Valid(patch))
				continue
			}
			after, err := json.Marshal(applied(t, raw, patch))
			require.NoError(t, err)
			require.Equal(t, foreignBinding(t, raw), foreignBinding(t, after))
		}
	})
}

// stored tells whether raw is an object such as an API server gives back: its parts are
// objects and its lists hold objects, each field once.
func stored(raw []byte) bool {
	var o struct {
		Metadata map[string]json.RawMessage
		Spec     struct {
			Clusters              []map[string]any
			GracefulEvictionTasks []map[string]any
			Taints                []map[string]any
		}
	}
	return json.Unmarshal(raw, &o) == nil
}

// FuzzDecodeCluster: whatever a cluster and its annotations are, they are read without
// harm, and a taint is put or refused.
func FuzzDecodeCluster(f *testing.F) {
	seeds(f, `{"metadata":{"name":"m1","uid":"u","resourceVersion":"41","annotations":{"`+failover.AnnotationSoftTaints+
		`":"[{\"key\":\"a/b\"}]","`+failover.AnnotationAddedTaints+`":"[{\"key\":\"a\",\"effect\":\"NoExecute\",\"rule\":\"r\",\"episode\":\"e\"}]"}},
		"spec":{"taints":[{"key":"a","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}],"zone":"z","zones":["a"]},
		"status":{"conditions":[{"type":"Ready","status":"True"}],"resourceSummary":{"allocatable":{"cpu":"4"}}}}`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := DecodeCluster(raw)
		patch, err := taintPatch(activities.TaintWrite{
			Cluster: c, Episode: "e2", Add: []failover.RuleTaint{{Key: "a", Effect: "NoExecute"}}, AddRules: []string{"r"},
			Remove: []failover.AddedTaint{{Key: "b", Effect: "NoSchedule"}},
		}, at)
		if err != nil {
			require.ErrorIs(t, err, failover.ErrInvalid)
			return
		}
		require.True(t, json.Valid(patch))
	})
}

// FuzzDecodeRules: a rule or a policy is understood whole, or says why not and does nothing.
func FuzzDecodeRules(f *testing.F) {
	seeds(f, `{"metadata":{"name":"r"},"spec":{"matchConditions":[{"conditionType":"Ready","operator":"In","statusValues":["False"]}],
		"taints":[{"key":"a","effect":"NoExecute","addOnMatchSeconds":9223372036854775807}],"targetClusters":{"clusterNames":["m1"]}}}`,
		`{"metadata":{"name":"p"},"spec":{"addOnConditions":[{"conditionType":"Ready","operator":"NotIn","statusValues":["True"]}],
		"taints":[{"key":"a","effect":"NoExecute"}]}}`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, rule := range []failover.Rule{DecodeRule(raw), DecodePolicy(raw, PolicyWindows{AddOnMatch: time.Minute, RemoveOnMismatch: time.Minute})} {
			if rule.Malformed != "" {
				continue
			}
			require.NotEmpty(t, rule.Taints)
			for _, taint := range rule.Taints {
				require.False(t, karmadasOwn(taint.Key, taint.Effect))
				require.GreaterOrEqual(t, taint.AddOnMatch, time.Duration(0))
				require.GreaterOrEqual(t, taint.RemoveOnMismatch, time.Duration(0))
			}
		}
		DecodeWork(raw)
	})
}
