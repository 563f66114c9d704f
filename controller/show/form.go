package show

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Form is a form of output: the value of --output.
type Form struct {
	value   string
	allowed []string
}

// The forms of output.
const (
	Table = "table"
	JSON  = "json"
	YAML  = "yaml"
)

// NewForm has the allowed forms, all three by default; the first is the default value.
func NewForm(allowed ...string) Form {
	if len(allowed) == 0 {
		allowed = []string{Table, JSON, YAML}
	}
	return Form{value: allowed[0], allowed: allowed}
}

// String is the form's name, for flags.
func (f *Form) String() string { return f.value }

// Type is what flags call the value.
func (f *Form) Type() string { return "form" }

// Set refuses forms that are not allowed.
func (f *Form) Set(s string) error {
	if !slices.Contains(f.allowed, s) {
		return fmt.Errorf("want one of %v", f.allowed)
	}
	f.value = s
	return nil
}

// Allowed are the names to choose from.
func (f *Form) Allowed() []string { return f.allowed }

// Usage is the help of the flag.
func (f *Form) Usage() string {
	last := len(f.allowed) - 1
	return strings.Join(f.allowed[:last], ", ") + " or " + f.allowed[last]
}

// ForPeople reports whether the form is text.
func (f *Form) ForPeople() bool { return f.value == Table }

// Encode writes v as JSON or YAML, with the names of its JSON tags.
func (f *Form) Encode(w io.Writer, v any) error {
	if f.value == YAML {
		encoded, err := yaml.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode as YAML: %w", err)
		}
		_, err = w.Write(encoded)
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
