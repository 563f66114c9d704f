package k8sadapter

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"pgregory.net/rapid"
)

// schemaKind is a kind of Karmada's of which Lifeboat reads objects.
type schemaKind struct {
	file, version string
	values        func() schemaValues
	// holds is what must be true of an object that the schema accepts.
	holds func(t require.TestingT, raw []byte)
}

var schemaKinds = []schemaKind{
	{"work.karmada.io_resourcebindings.yaml", "v1alpha2", bindingValues, holdsBinding},
	{"work.karmada.io_clusterresourcebindings.yaml", "v1alpha2", bindingValues, holdsBinding},
	{"work.karmada.io_works.yaml", "v1alpha1", namedValues, holdsWork},
	{"policy.karmada.io_clustertaintpolicies.yaml", "v1alpha1", taintPolicyValues, holdsTaintPolicy},
	{"policy.karmada.io_propagationpolicies.yaml", "v1alpha1", namedValues, holdsAnnotations},
	{"policy.karmada.io_clusterpropagationpolicies.yaml", "v1alpha1", namedValues, holdsAnnotations},
}

// play generates one object, and holds it to the schema and to us.
func (k schemaKind) play(t *rapid.T, schema *spec.Schema) {
	raw, err := json.Marshal(k.values().value(t, schema, ""))
	require.NoError(t, err)
	accepted(t, schema, raw)
	k.holds(t, raw)
}

// namedValues give every object a name, and annotations of other hands and of Lifeboat's.
func namedValues() schemaValues {
	return schemaValues{of: map[string]*rapid.Generator[any]{
		"metadata": rapid.Custom(func(t *rapid.T) any {
			annotations := object{}
			for _, name := range []string{karmada.AnnotationEnabled, karmada.AnnotationAddSeconds, karmada.AnnotationTolerationSeconds, "example.com/x"} {
				if rapid.Bool().Draw(t, "has "+name) {
					annotations[name] = rapid.SampledFrom([]string{"", "false", "300", "-1", "<&>"}).Draw(t, name)
				}
			}
			return with(t, object{"name": "x", "namespace": "karmada-es-m1", "uid": "u", "resourceVersion": "41", "annotations": annotations})
		}),
	}}
}

func taintPolicyValues() schemaValues {
	values := namedValues()
	choice := func(texts ...string) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any { return rapid.SampledFrom(texts).Draw(t, "choice") })
	}
	for _, list := range []string{"addOnConditions", "removeOnConditions"} {
		values.of["spec."+list+"[].operator"] = choice("In", "NotIn", "Exists", "")
		values.of["spec."+list+"[].statusValues[]"] = choice("True", "False", "Unknown", "x")
	}
	values.of["spec.taints[].key"] = choice("down", "example.com/down", karmada.EvacuatingTaintKey, "cluster.karmada.io/not-ready", "")
	values.of["spec.taints[].effect"] = choice("NoExecute", "NoSchedule", "PreferNoExecute", "PreferNoSchedule")
	return values
}

func holdsBinding(t require.TestingT, raw []byte) { understoodOrSaid(t, raw, map[string]int{}) }

// holdsWork: whatever a Work says, its identity is read, for that is all that is.
func holdsWork(t require.TestingT, raw []byte) {
	assert.Equal(t, karmada.Work{Namespace: "karmada-es-m1", Name: "x", UID: "u", Cluster: "m1"}, DecodeWork(raw))
}

// holdsAnnotations: of a propagation policy only the annotations are read.
func holdsAnnotations(t require.TestingT, raw []byte) {
	var d decoding
	_, meta := d.object(raw)
	var whole struct {
		Metadata struct{ Annotations map[string]string }
	}
	require.NoError(t, json.Unmarshal(raw, &whole))
	assert.Empty(t, d.malformed())
	assert.Equal(t, whole.Metadata.Annotations, meta.Annotations)
}

// refusedOfPolicies are what is refused of a policy that Karmada's schema accepts: fields of
// a newer Karmada, and what its webhook or Lifeboat's rules do not let pass.
var refusedOfPolicies = []string{
	"unknown field", "missing", "belongs to Karmada", "is no number of seconds", "is outside 0..", "conditionType is empty", "is neither In nor NotIn",
	"statusValues", "targetClusters: ", "key ", "value ", "effect ", "is reserved", "is Karmada's own", "taints", "no taint", "matches every", "names", "twice",
}

// holdsTaintPolicy: a policy is a rule that can be gone by, or says why it is none.
func holdsTaintPolicy(t require.TestingT, raw []byte) {
	rule := DecodePolicy(raw, PolicyWindows{AddOnMatch: time.Minute, RemoveOnMismatch: time.Minute})
	assert.Equal(t, rules.PolicyPrefix+"x", rule.Name)
	if rule.Malformed != "" {
		for _, problem := range strings.Split(rule.Malformed, "; ") {
			assert.True(t, slices.ContainsFunc(refusedOfPolicies, func(one string) bool { return strings.Contains(problem, one) }), problem)
		}
		return
	}
	assert.NotEmpty(t, rule.Taints)
	for _, taint := range rule.Taints {
		assert.False(t, karmadasOwn(taint.Key, taint.Effect))
		assert.True(t, karmada.Triggers(taint.Effect) || taint.Effect == corev1.TaintEffectNoSchedule)
		assert.GreaterOrEqual(t, taint.AddOnMatch, time.Duration(0))
	}
	_, err := rule.TargetClusters.Selects(karmada.Cluster{Name: "m1"})
	assert.NoError(t, err)
}

// Whatever Karmada's schemas accept of the other kinds that we read is read as well.
func TestWhatKarmadasOtherSchemasAcceptIsRead(t *testing.T) {
	for _, kind := range schemaKinds[2:] {
		t.Run(kind.file, func(t *testing.T) {
			schema := crdSchema(t, kind.file, kind.version)
			rapid.Check(t, func(t *rapid.T) { kind.play(t, schema) })
		})
	}
}

// FuzzSchemas: whatever any of Karmada's schemas accepts is read, or named for what is not
// understood of it, and Lifeboat's writes leave the rest as it was. The bytes are what the
// generator takes its choices from.
func FuzzSchemas(f *testing.F) {
	schemas := make([]*spec.Schema, len(schemaKinds))
	for n, kind := range schemaKinds {
		schemas[n] = crdSchema(f, kind.file, kind.version)
	}
	for seed := range uint64(8) {
		choices := make([]byte, 1<<14)
		_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(choices)
		f.Add(choices)
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		n := rapid.IntRange(0, len(schemaKinds)-1).Draw(t, "kind")
		schemaKinds[n].play(t, schemas[n])
	}))
}
