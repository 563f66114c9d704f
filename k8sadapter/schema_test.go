package k8sadapter

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"pgregory.net/rapid"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// crdSchema reads the schema of a version of one of Karmada's own CustomResourceDefinitions.
func crdSchema(t testing.TB, file, version string) *spec.Schema {
	raw := fixtures.Must(os.ReadFile(filepath.Join("testdata", "crds", file)))(t)
	var definition struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema *spec.Schema `json:"openAPIV3Schema"`
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(raw, &definition))
	for _, v := range definition.Spec.Versions {
		if v.Name == version {
			return v.Schema.OpenAPIV3Schema
		}
	}
	require.FailNow(t, "no such version", "%s has no %s", file, version)
	return nil
}

// schemaValues generates values that a schema accepts, with fields under names that no
// schema knows wherever there is an object: a newer Karmada may have more.
type schemaValues struct {
	// of fixes the values of some fields, by their path: what must be the same in two
	// places of an object for a write to be about anything.
	of map[string]*rapid.Generator[any]
}

// patterned are values for the patterns that the schemas have.
var patterned = map[string]*rapid.Generator[string]{
	`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`: rapid.SampledFrom([]string{"R", "TaintUntolerated", "A_b:c,d"}),
	`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`: rapid.SampledFrom([]string{"1", "100m", "1.5Gi", "+2k", "-1", ".5", "1e3"}),
	`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`:   rapid.SampledFrom([]string{"Scheduled", "FullyApplied", "example.com/Odd"}),
}

func (s schemaValues) value(t *rapid.T, schema *spec.Schema, path string) any {
	if fixed, is := s.of[path]; is {
		return fixed.Draw(t, path)
	}
	if enum := schema.Enum; len(enum) > 0 {
		return rapid.SampledFrom(enum).Draw(t, path)
	}
	if len(schema.AnyOf) > 0 {
		return s.intOrString(t, schema, path)
	}
	switch {
	case schema.Type.Contains("object"), len(schema.Type) == 0:
		return s.object(t, schema, path)
	case schema.Type.Contains("array"):
		most := 2
		items := []any{}
		for range rapid.IntRange(int(orZero(schema.MinItems)), max(most, int(orZero(schema.MinItems)))).Draw(t, path+" length") {
			items = append(items, s.value(t, schema.Items.Schema, path+"[]"))
		}
		return items
	case schema.Type.Contains("boolean"):
		return rapid.Bool().Draw(t, path)
	case schema.Type.Contains("integer"):
		return s.integer(t, schema, path)
	}
	return s.text(t, schema, path)
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func (s schemaValues) integer(t *rapid.T, schema *spec.Schema, path string) any {
	least, most := int64(-1), int64(math.MaxInt32)
	if schema.Minimum != nil {
		least = int64(*schema.Minimum)
	}
	if schema.Maximum != nil {
		most = int64(*schema.Maximum)
	}
	if schema.Format == "int64" {
		most = max(most, math.MaxInt64)
	}
	edges := []int64{least, min(max(least, 1), most), most}
	return rapid.OneOf(rapid.SampledFrom(edges), rapid.Int64Range(least, most)).Draw(t, path)
}

func (s schemaValues) intOrString(t *rapid.T, schema *spec.Schema, path string) any {
	if rapid.Bool().Draw(t, path+" is a number") {
		return rapid.Int64Range(0, 1<<40).Draw(t, path)
	}
	return s.text(t, schema, path)
}

func (s schemaValues) text(t *rapid.T, schema *spec.Schema, path string) string {
	if schema.Format == "date-time" {
		return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, path), 0).UTC().Format(time.RFC3339)
	}
	if values := patterned[schema.Pattern]; values != nil {
		return values.Draw(t, path)
	}
	texts := []string{"x", "m1", "<&>", "ü\u2028", `"quoted"`, strings.Repeat("y", 63)}
	if orZero(schema.MinLength) == 0 {
		texts = append(texts, "")
	}
	texts = slices.DeleteFunc(texts, func(text string) bool {
		return schema.MaxLength != nil && int64(len([]rune(text))) > *schema.MaxLength
	})
	return rapid.SampledFrom(texts).Draw(t, path)
}

func (s schemaValues) object(t *rapid.T, schema *spec.Schema, path string) any {
	made := object{}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name]
		inner := strings.TrimPrefix(path+"."+name, ".")
		_, fixed := s.of[inner]
		if fixed || slices.Contains(schema.Required, name) || rapid.IntRange(0, 2).Draw(t, "has "+inner) > 0 {
			made[name] = s.value(t, &property, inner)
		}
	}
	if more := schema.AdditionalProperties; more != nil && more.Schema != nil {
		for range rapid.IntRange(0, 2).Draw(t, path+" entries") {
			made[rapid.SampledFrom([]string{"a", "b", "cpu", "example.com/x"}).Draw(t, path+" key")] = s.value(t, more.Schema, path+".*")
		}
		return made
	}
	return with(t, made)
}

// bindingValues make the generated bindings about the clusters that the writes are about.
func bindingValues() schemaValues {
	cluster := rapid.Custom(func(t *rapid.T) any { return rapid.SampledFrom(clusterNames).Draw(t, "cluster") })
	producer := rapid.Custom(func(t *rapid.T) any {
		return rapid.SampledFrom([]string{karmada.Producer, "TaintManager"}).Draw(t, "producer")
	})
	return schemaValues{of: map[string]*rapid.Generator[any]{
		"metadata": rapid.Custom(func(t *rapid.T) any {
			return with(t, object{"name": "b", "namespace": "n", "uid": "u", "resourceVersion": "41"})
		}),
		"spec.clusters[].name":                     cluster,
		"spec.gracefulEvictionTasks[].fromCluster": cluster,
		"spec.gracefulEvictionTasks[].producer":    producer,
		"spec.requiredBy[].clusters[].name":        cluster,
		"spec.resource.apiVersion":                 rapid.Just[any]("apps/v1"),
		"spec.resource.kind":                       rapid.Just[any]("Deployment"),
		"spec.resource.name":                       rapid.Just[any]("web"),
	}}
}

// accepted fails a test whose generator makes what the API server would not take.
func accepted(t require.TestingT, schema *spec.Schema, raw []byte) {
	var value any
	require.NoError(t, kjson.UnmarshalCaseSensitivePreserveInts(raw, &value))
	require.NoError(t, validate.AgainstSchema(schema, value, strfmt.Default), "the generator and the schema disagree: %s", raw)
}

// notUnderstood are what we do not understand of a binding that Karmada's schema accepts:
// no Karmada makes it, and such a binding is blocked with these words.
var notUnderstood = []string{"is negative", "has -1 replicas", "is listed twice"}

// dropsHold are the writes that end a trigger of the scheduler which is later than its last decision.
var dropsHold = map[string]bool{"restore": true, "release": true, "drop the last holder": true}

// understoodOrSaid reads a binding that the schema accepts and plays every Lifeboat write on
// it: each changes Lifeboat's fields alone. It tells whether the binding was understood, and counts
// the writes.
func understoodOrSaid(t require.TestingT, before []byte, written map[string]int) (understood bool) {
	b := DecodeBinding(before)
	if b.Malformed != "" {
		for _, problem := range strings.Split(b.Malformed, "; ") {
			known := slices.ContainsFunc(notUnderstood, func(one string) bool { return strings.Contains(problem, one) })
			assert.True(t, known, problem)
		}
	}
	for name, write := range bindingWrites {
		patch, err := patchOf(write(&b))
		if err != nil {
			require.ErrorIs(t, err, karmada.ErrInvalid)
			continue
		}
		written[name]++
		after := fixtures.Must(json.Marshal(applied(t, before, patch)))(t)
		was, is := foreignBinding(t, before), foreignBinding(t, after)
		stands := DecodeBinding(after)
		if dropsHold[name] && b.RescheduleRequired() && stands.RescheduleTriggeredAt.Equal(*b.Status.LastScheduled) {
			delete(part(was, "spec"), "rescheduleTriggeredAt")
			delete(part(is, "spec"), "rescheduleTriggeredAt")
		}
		assert.Equal(t, was, is)
		assert.Contains(t, string(patch), `"resourceVersion":"41"`)
		checkBinding(t, name, stands)
	}
	return b.Malformed == ""
}

// What Karmada's own schemas accept as a binding we read, or say which of few things we do
// not understand; and whatever it is, a write changes Lifeboat's fields alone.
//
// Rules: R4.7-9.
func TestKarmada7184NoBindingWriteChangesWhatIsNotLifeboats(t *testing.T) {
	for _, file := range []string{"work.karmada.io_resourcebindings.yaml", "work.karmada.io_clusterresourcebindings.yaml"} {
		t.Run(file, func(t *testing.T) {
			schema := crdSchema(t, file, "v1alpha2")
			values, read, written := bindingValues(), 0, map[string]int{}
			rapid.Check(t, func(t *rapid.T) {
				before := fixtures.Must(json.Marshal(values.value(t, schema, "")))(t)
				accepted(t, schema, before)
				if understoodOrSaid(t, before, written) {
					read++
				}
			})
			assert.Positive(t, read, "some generated binding was understood")
			for name := range bindingWrites {
				assert.Positive(t, written[name], "%s was written", name)
			}
			t.Logf("read %d, written %v", read, written)
		})
	}
}

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
	raw := fixtures.Must(json.Marshal(k.values().value(t, schema, "")))(t)
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

// holdsWork: whatever a Work says, its identity is read; beside it only a flag is.
func holdsWork(t require.TestingT, raw []byte) {
	work := DecodeWork(raw)
	work.PreservesCopy = false
	assert.Equal(t, karmada.Work{Namespace: "karmada-es-m1", Name: "x", UID: "u", Cluster: "m1"}, work)
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
	assert.NoError(t, fixtures.Err(rule.TargetClusters.Selects(karmada.Cluster{Name: "m1"})))
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
