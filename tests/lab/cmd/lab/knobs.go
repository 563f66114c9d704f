package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
)

// mergeKnobs returns knobs with the given ones changed. An unknown name or a
// value of the wrong type changes nothing and says which names there are.
func mergeKnobs(knobs karmada.Knobs, changes map[string]any) (karmada.Knobs, error) {
	all, err := knobMap(knobs)
	if err != nil {
		return knobs, err
	}
	for name, value := range changes {
		if _, known := all[name]; !known {
			return knobs, fmt.Errorf("no knob is called %q; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		}
		all[name] = value
	}
	merged, err := json.Marshal(all)
	if err != nil {
		return knobs, fmt.Errorf("encode knobs: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(merged))
	decoder.DisallowUnknownFields()
	var result karmada.Knobs
	if err := decoder.Decode(&result); err != nil {
		return knobs, fmt.Errorf("set knobs: %w", err)
	}
	return result, nil
}

func knobMap(knobs karmada.Knobs) (map[string]any, error) {
	encoded, err := json.Marshal(knobs)
	if err != nil {
		return nil, fmt.Errorf("encode knobs: %w", err)
	}
	var all map[string]any
	if err := json.Unmarshal(encoded, &all); err != nil {
		return nil, fmt.Errorf("decode knobs: %w", err)
	}
	return all, nil
}

// parseKnobs turns name=value arguments into changes. A value that is JSON is
// taken as such (true, 3), anything else as text (2s).
func parseKnobs(args []string) (map[string]any, error) {
	changes := make(map[string]any, len(args))
	for _, arg := range args {
		name, text, found := strings.Cut(arg, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("want name=value, got %q", arg)
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			value = text
		}
		changes[name] = value
	}
	return changes, nil
}
