package k8sadapter

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

type object = map[string]any

var (
	clusterNames = []string{"m1", "m2", "m3", "m4"}
	oddText      = rapid.SampledFrom([]string{"", "x", "<&>", "ü\u2028", `"quoted"`})
	// strange are values under names that no Lifeboat version knows. null is not among
	// them: the API server itself drops it from what it stores.
	strange = rapid.Custom(func(t *rapid.T) any {
		return rapid.SampledFrom([]any{true, 1.5, 9007199254740993, "<a&b>", []any{1, "x"}, object{"deep": []any{object{}}}}).Draw(t, "strange")
	})
)

func with(t *rapid.T, item object) object {
	if rapid.Bool().Draw(t, "hasUnknown") {
		item["unknown"] = strange.Draw(t, "unknown")
	}
	return item
}

// bindingWrites are all writes to a binding, each about cluster m1.
var bindingWrites = map[string]func(b *karmada.Binding) any{
	"evict": func(b *karmada.Binding) any {
		return activities.EvictWrite{Binding: b, Cluster: "m1", Owner: "w", Now: at}
	},
	"restore": func(b *karmada.Binding) any {
		return activities.RestoreWrite{Binding: b, Cluster: "m1", Replicas: 2, Now: at}
	},
	"hold": func(b *karmada.Binding) any {
		return activities.HoldWrite{Binding: b, Cluster: "m1", Owner: "w", Replicas: 2, Now: at}
	},
	"release": func(b *karmada.Binding) any { return activities.ReleaseWrite{Binding: b, Cluster: "m1"} },
	"enter a holder": func(b *karmada.Binding) any {
		return activities.HoldersWrite{Binding: b, Cluster: "m1", Holders: []string{"binding-migration/m1/n/parent"}, Now: at}
	},
	"drop the last holder": func(b *karmada.Binding) any { return activities.HoldersWrite{Binding: b, Cluster: "m1", Now: at} },
	"mark": func(b *karmada.Binding) any {
		return activities.MarkWrite{Binding: b, Cluster: "m1", Reason: karmada.TaskReasonKept, Owner: "w"}
	},
}

// foreignBinding is what of a binding is not Lifeboat's: everything but the target and
// Lifeboat's tasks for m1.
func foreignBinding(t require.TestingT, raw []byte) object {
	var o object
	require.NoError(t, json.Unmarshal(raw, &o))
	spec := part(o, "spec")
	without(spec, "clusters", func(item object) bool { return item["name"] == "m1" })
	without(spec, "gracefulEvictionTasks", func(item object) bool {
		return item["fromCluster"] == "m1" && item["producer"] == karmada.Producer
	})
	return o
}

// without drops items of a list; an absent list is an empty one.
func without(parent object, field string, own func(object) bool) {
	list, isList := parent[field].([]any)
	if !isList {
		list = []any{}
	}
	parent[field] = slices.DeleteFunc(list, func(item any) bool {
		fields, isObject := item.(object)
		return isObject && own(fields)
	})
}

func part(o object, name string) object {
	inner, isObject := o[name].(object)
	if !isObject {
		inner = object{}
		o[name] = inner
	}
	return inner
}

// checkBinding is what must be true of a binding after a write.
func checkBinding(t require.TestingT, write string, after karmada.Binding) {
	own := 0
	for _, task := range after.Tasks {
		if task.FromCluster == "m1" && task.IsLifeboat() {
			own++
			assert.True(t, write == "mark" || write == "enter a holder" || *task.SuppressDeletion)
		}
	}
	target, _ := after.Target("m1")
	switch write {
	case "evict":
		assert.Nil(t, target)
		assert.Equal(t, 1, own)
	case "hold", "mark", "enter a holder":
		assert.Equal(t, 1, own)
	case "restore":
		assert.NotNil(t, target)
		assert.Zero(t, own)
	case "release", "drop the last holder":
		assert.Zero(t, own)
	}
}

var taintKeys = []string{"a", "b", karmada.EvacuatingTaintKey, "cluster.karmada.io/not-ready"}

// anyCluster generates clusters whose taints are of several hands, and the list of
// those that the annotation says are Lifeboat's.
func anyCluster(t *rapid.T) object {
	taints, soft, added := []any{}, []any{}, []any{}
	for _, key := range taintKeys {
		for _, effect := range []corev1.TaintEffect{"NoSchedule", "NoExecute", karmada.EffectPreferNoExecute} {
			if rapid.Bool().Draw(t, "Lifeboat's "+key) {
				added = append(added, with(t, object{"key": key, "effect": effect, "rule": "r", "failoverID": "e1"}))
			}
			switch {
			case !rapid.Bool().Draw(t, "stands "+key):
			case effect == karmada.EffectPreferNoExecute:
				soft = append(soft, with(t, object{"key": key, "value": oddText.Draw(t, "value")}))
			default:
				taints = append(taints, with(t, object{"key": key, "effect": effect, "timeAdded": "2026-01-01T00:00:00Z"}))
			}
		}
	}
	annotations := object{"team": oddText.Draw(t, "annotation")}
	for name, items := range map[string][]any{karmada.AnnotationSoftTaints: soft, karmada.AnnotationAddedTaints: added} {
		if len(items) > 0 {
			annotations[name] = string(fixtures.Must(json.Marshal(items))(t))
		}
	}
	return with(t, object{
		"metadata": with(t, object{"name": "m1", "uid": "u", "resourceVersion": "41", "annotations": annotations}),
		"spec":     with(t, object{"taints": taints}),
		"status":   with(t, object{}),
	})
}

func anyTaintWrite(t *rapid.T, c karmada.Cluster) activities.TaintWrite {
	w := activities.TaintWrite{Cluster: c, FailoverID: "e2"}
	for _, key := range taintKeys {
		for _, effect := range []corev1.TaintEffect{"NoSchedule", "NoExecute", karmada.EffectPreferNoExecute} {
			switch rapid.SampledFrom([]string{"leave", "add", "remove"}).Draw(t, key+":"+string(effect)) {
			case "add":
				if !karmadasOwn(key, effect) {
					w.Add, w.AddRules = append(w.Add, karmada.RuleTaint{Key: key, Effect: effect}), append(w.AddRules, "r")
				}
			case "remove":
				w.Remove = append(w.Remove, karmada.AddedTaint{Key: key, Effect: effect})
			}
		}
	}
	return w
}

// foreignCluster is what of a cluster is not Lifeboat's, by the record before the write:
// a taint that stood and was not recorded, and everything that is no taint.
func foreignCluster(t require.TestingT, raw []byte, foreign func(object) bool) object {
	var o object
	require.NoError(t, json.Unmarshal(raw, &o))
	annotations := part(part(o, "metadata"), "annotations")
	delete(annotations, karmada.AnnotationAddedTaints)
	soft := []any{}
	if text, isText := annotations[karmada.AnnotationSoftTaints].(string); isText {
		require.NoError(t, json.Unmarshal([]byte(text), &soft))
	}
	softOnly := object{"soft": soft}
	without(softOnly, "soft", func(item object) bool {
		item["effect"] = string(karmada.EffectPreferNoExecute)
		return !foreign(item)
	})
	annotations[karmada.AnnotationSoftTaints] = softOnly["soft"]
	without(part(o, "spec"), "taints", func(item object) bool { return !foreign(item) })
	return o
}

// Rules: R4.1-27, R4.1-29, R4.1-30, R4.1-31.
func TestNoTaintWriteChangesWhatIsNotLifeboats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := fixtures.Must(json.Marshal(anyCluster(t)))(t)
		c := DecodeCluster(before)
		require.Empty(t, c.Malformed)
		w := anyTaintWrite(t, c)
		after := fixtures.Must(json.Marshal(applied(t, before, fixtures.Must(taintPatch(w, at))(t))))(t)

		isForeign := func(item object) bool {
			taint := corev1.Taint{Key: text(item["key"]), Effect: corev1.TaintEffect(text(item["effect"]))}
			stood := slices.ContainsFunc(c.Taints, func(x corev1.Taint) bool { return x.MatchTaint(&taint) })
			return stood && !isRecorded(c, taint) || karmadasOwn(taint.Key, taint.Effect)
		}
		assert.Equal(t, foreignCluster(t, before, isForeign), foreignCluster(t, after, isForeign))

		result := DecodeCluster(after)
		require.Empty(t, result.Malformed)
		for _, taint := range w.Add {
			assert.True(t, slices.ContainsFunc(result.Taints, func(x corev1.Taint) bool {
				return x.Key == taint.Key && x.Effect == taint.Effect
			}), "what was to be added stands")
			added := corev1.Taint{Key: taint.Key, Effect: taint.Effect}
			theirs := isForeign(object{"key": taint.Key, "effect": string(taint.Effect)})
			assert.Equal(t, !theirs, isRecorded(result, added), "what others put stays theirs")
		}
		for _, taint := range w.Remove {
			assert.False(t, isRecorded(result, corev1.Taint{Key: taint.Key, Effect: taint.Effect}) &&
				!karmadasOwn(taint.Key, taint.Effect), "what was removed is no longer recorded")
		}
	})
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

func isRecorded(c karmada.Cluster, taint corev1.Taint) bool {
	return slices.ContainsFunc(c.Added, func(x karmada.AddedTaint) bool { return x.Key == taint.Key && x.Effect == taint.Effect })
}

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
			patch, err := patchOf(write(&b))
			if err != nil {
				require.ErrorIs(t, err, karmada.ErrInvalid)
				continue
			}
			if !stored(raw) {
				require.True(t, json.Valid(patch))
				continue
			}
			require.Equal(t, foreignBinding(t, raw), foreignBinding(t, fixtures.Must(json.Marshal(applied(t, raw, patch)))(t)))
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
			after := fixtures.Must(json.Marshal(applied(t, raw, patch)))(t)
			theirs := func(item object) bool {
				return !isRecorded(c, corev1.Taint{Key: text(item["key"]), Effect: corev1.TaintEffect(text(item["effect"]))}) && text(item["key"]) != "a"
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
		after := DecodeCluster(fixtures.Must(json.Marshal(applied(t, raw, patch)))(t))
		require.Equal(t, isRecorded(c, corev1.Taint{Key: "theirs", Effect: "NoExecute"}), len(after.RawTaints) < 2, "a taint goes when the record says that it is Lifeboat's")
		require.Nil(t, after.Drain)
	})
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
