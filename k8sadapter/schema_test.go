package k8sadapter

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"pgregory.net/rapid"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// crdSchema reads the schema of a version of one of Karmada's own CustomResourceDefinitions.
func crdSchema(t testing.TB, file, version string) *spec.Schema {
	raw, err := os.ReadFile(filepath.Join("testdata", "crds", file))
	require.NoError(t, err)
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
	for _, name := range sortedNames(schema.Properties) {
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

func sortedNames(properties map[string]spec.Schema) []string {
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
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
		patch, err := write(&b)
		if err != nil {
			require.ErrorIs(t, err, karmada.ErrInvalid)
			continue
		}
		written[name]++
		after, err := json.Marshal(applied(t, before, patch))
		require.NoError(t, err)
		assert.Equal(t, foreignBinding(t, before), foreignBinding(t, after))
		assert.Contains(t, string(patch), `"resourceVersion":"41"`)
	}
	return b.Malformed == ""
}

// What Karmada's own schemas accept as a binding we read, or say which of few things we do
// not understand; and whatever it is, a write changes Lifeboat's fields alone.
//
// Rules: R4.7-9.
func TestWhatKarmadasSchemaAcceptsIsReadAndKeptByEveryWrite(t *testing.T) {
	for _, file := range []string{"work.karmada.io_resourcebindings.yaml", "work.karmada.io_clusterresourcebindings.yaml"} {
		t.Run(file, func(t *testing.T) {
			schema := crdSchema(t, file, "v1alpha2")
			values, read, written := bindingValues(), 0, map[string]int{}
			rapid.Check(t, func(t *rapid.T) {
				before, err := json.Marshal(values.value(t, schema, ""))
				require.NoError(t, err)
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
