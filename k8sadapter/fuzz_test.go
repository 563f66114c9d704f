package k8sadapter

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
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
				require.ErrorIs(t, err, karmada.ErrInvalid)
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
	seeds(f, `{"metadata":{"name":"m1","uid":"u","resourceVersion":"41","annotations":{"`+karmada.AnnotationSoftTaints+
		`":"[{\"key\":\"a/b\"}]","`+karmada.AnnotationAddedTaints+`":"[{\"key\":\"a\",\"effect\":\"NoExecute\",\"rule\":\"r\",\"failoverID\":\"e\"}]"}},
		"spec":{"taints":[{"key":"a","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}],"zone":"z","zones":["a"]},
		"status":{"conditions":[{"type":"Ready","status":"True"}],"resourceSummary":{"allocatable":{"cpu":"4"}}}}`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := DecodeCluster(raw)
		patch, err := taintPatch(activities.TaintWrite{
			Cluster: c, FailoverID: "e2", Add: []karmada.RuleTaint{{Key: "a", Effect: "NoExecute"}}, AddRules: []string{"r"},
			Remove: []karmada.AddedTaint{{Key: "b", Effect: "NoSchedule"}},
		}, at)
		if err != nil {
			require.ErrorIs(t, err, karmada.ErrInvalid)
			return
		}
		require.True(t, json.Valid(patch))
		if stored(raw) && c.Malformed == "" && c.SoftMalformed == "" {
			after, err := json.Marshal(applied(t, raw, patch))
			require.NoError(t, err)
			theirs := func(item object) bool {
				return !recordedAsOurs(c, corev1.Taint{Key: text(item["key"]), Effect: corev1.TaintEffect(text(item["effect"]))}) && text(item["key"]) != "a"
			}
			require.Equal(t, foreignCluster(t, raw, theirs), foreignCluster(t, after, theirs))
		}
	})
}

// FuzzClusterAnnotations: whatever the annotations of a cluster say, of which anybody may
// write any, they are understood or named as a problem; nothing is overwritten that was
// not understood, and no soft taint is made up.
func FuzzClusterAnnotations(f *testing.F) {
	for _, value := range []string{
		"", "null", "{}", "[]", "[1]", `[{"key":"a","effect":"NoExecute","rule":"r","failoverID":"e1","later":[1.0]}]`, `[{"key":"a","effect":"PreferNoExecute"},{}]`,
		`[{"key":"down","value":"x","timeAdded":"2026-01-01T00:00:00Z"}]`, `{"who":"jane","why":"x","rate":-1,"selector":"a in (b"}`,
		`{"who":"jane","why":"x","failoverID":"e"}`, `[{"key":"a","effect":"NoExecute","who":"jane","why":"x"}]`, `"x"`, `[`,
	} {
		f.Add(value, value, value, value, value)
	}
	f.Fuzz(func(t *testing.T, soft, added, ordered, drain, stopped string) {
		raw, err := json.Marshal(object{
			"metadata": object{"name": "m1", "uid": "u", "resourceVersion": "41", "annotations": object{
				karmada.AnnotationSoftTaints: soft, karmada.AnnotationAddedTaints: added, karmada.AnnotationOrderedTaints: ordered,
				karmada.AnnotationDrain: drain, karmada.AnnotationStoppedBy: stopped,
			}},
			"spec": object{"taints": []any{object{"key": "theirs", "effect": "NoExecute", "later": 1.5}}},
		})
		require.NoError(t, err)
		c := DecodeCluster(raw)
		require.NotEmpty(t, c.Taints)
		for _, taint := range c.Taints[1:] {
			require.True(t, taint.Key != "" && taint.Effect == karmada.EffectPreferNoExecute)
		}
		if !json.Valid([]byte(soft)) && soft != "" {
			require.True(t, c.SoftUnreadable)
		}
		rules.DueUnder(rules.Policy{ClusterFailover: true}.ReadSoft(""), c.Taints, at)
		patch, err := taintPatch(activities.TaintWrite{
			Cluster: c, FailoverID: "e2", Add: []karmada.RuleTaint{{Key: "new", Effect: "NoExecute"}, {Key: "new", Effect: karmada.EffectPreferNoExecute}},
			AddRules: []string{"r", "r"}, Remove: []karmada.AddedTaint{{Key: "theirs", Effect: "NoExecute"}}, ClearDrain: true,
		}, at)
		if err != nil {
			require.ErrorIs(t, err, karmada.ErrInvalid)
			return
		}
		after := DecodeCluster(marshalled(t, applied(t, raw, patch)))
		require.Equal(t, recordedAsOurs(c, corev1.Taint{Key: "theirs", Effect: "NoExecute"}), len(after.RawTaints) < 2, "a taint goes when the record says that it is Lifeboat's")
		require.Nil(t, after.Drain)
	})
}

func marshalled(t require.TestingT, o any) []byte {
	raw, err := json.Marshal(o)
	require.NoError(t, err)
	return raw
}

// FuzzDecodeRules: a rule or a policy is understood whole, or says why not and does nothing.
func FuzzDecodeRules(f *testing.F) {
	seeds(f, `{"metadata":{"name":"r"},"spec":{"matchConditions":[{"conditionType":"Ready","operator":"In","statusValues":["False"]}],
		"taints":[{"key":"a","effect":"NoExecute","addOnMatchSeconds":9223372036854775807}],"targetClusters":{"clusterNames":["m1"]}}}`,
		`{"metadata":{"name":"p"},"spec":{"addOnConditions":[{"conditionType":"Ready","operator":"NotIn","statusValues":["True"]}],
		"taints":[{"key":"a","effect":"NoExecute"}]}}`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, rule := range []rules.Rule{DecodeRule(raw), DecodePolicy(raw, PolicyWindows{AddOnMatch: time.Minute, RemoveOnMismatch: time.Minute})} {
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
