package config

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// changed are the keys with another value than the default, and those that also matches.
func (c Config) changed(also func(key) bool) []key {
	defaults := Default()
	usual := defaults.keys()
	var out []key
	for n, k := range c.keys() {
		if also(k) || k.text() != usual[n].text() {
			out = append(out, k)
		}
	}
	return out
}

// settings are the keys that operators choose, and fixed ones with another value.
func (c Config) settings() []key { return c.changed(func(k key) bool { return !k.Fixed }) }

// Tree is the configuration as nested sections, durations as texts, as in a complete file.
func (c Config) Tree() map[string]any {
	tree := map[string]any{}
	for _, k := range c.settings() {
		words := strings.Split(k.Name, ".")
		section := tree
		for _, word := range words[:len(words)-1] {
			below, ok := section[word].(map[string]any)
			if !ok {
				below = map[string]any{}
				section[word] = below
			}
			section = below
		}
		section[words[len(words)-1]] = k.get()
	}
	return tree
}

// PrintYAML writes the configuration as YAML that Load reads back, each key below a comment
// with its purpose, its allowed values and its variable.
func (c Config) PrintYAML(w io.Writer) error {
	var open []string
	for _, k := range c.settings() {
		words := strings.Split(k.Name, ".")
		sections := words[:len(words)-1]
		for depth, word := range sections {
			if depth < len(open) && open[depth] == word {
				continue
			}
			open = open[:min(depth, len(open))]
			if _, err := fmt.Fprintf(w, "%s%s:\n", indent(depth), word); err != nil {
				return err
			}
			open = append(open, word)
		}
		open = open[:len(sections)]
		if err := printKey(w, k, indent(len(sections)), words[len(words)-1]); err != nil {
			return err
		}
	}
	return nil
}

func indent(depth int) string { return strings.Repeat("  ", depth) }

func printKey(w io.Writer, k key, margin, word string) error {
	encoded, _ := yaml.Marshal(map[string]any{word: k.get()}) // no value of a configuration fails
	body := strings.ReplaceAll(strings.TrimSuffix(string(encoded), "\n"), "\n", "\n"+margin)
	_, err := fmt.Fprintf(w, "%s# %s\n%s# %s; %s\n%s%s\n", margin, k.Doc, margin, k.Want, variable(k.Name), margin, body)
	return err
}

// workersSource is the source of what the workers publish.
const workersSource = "the workers' configuration"

// judging are the keys that a worker decides and acts by; a section ends with a dot. The other
// keys configure one process: its servers and its outputs.
var judging = []string{
	"mode", "modes.", "pace.", "windows.", "defaults.", "state.", "health.", "evictPlugins", "evictPluginsMode", "fencePlugins",
	"recovery.", "drain.", "capacity.", "karmada.version", "karmada.managerLease.", "approval.", "kinds", "applicationFailover.", "rules.", "selectors.", "workflow.",
}

func judges(name string) bool {
	return slices.ContainsFunc(judging, func(j string) bool {
		return name == j || strings.HasSuffix(j, ".") && strings.HasPrefix(name, j)
	})
}

// InForce is what a worker with this configuration decides and acts by, as texts by key: the
// mode, and every value other than the default.
func (c Config) InForce() map[string]string {
	out := map[string]string{}
	for _, k := range c.changed(func(k key) bool { return k.Name == "mode" }) {
		if judges(k.Name) {
			out[k.Name] = k.text()
		}
	}
	return out
}

// DefaultOf is the default of a key, as --set takes it; empty where it has none.
func DefaultOf(name string) string {
	c := Default()
	for _, k := range c.keys() {
		if k.Name == name {
			return k.text()
		}
	}
	return ""
}

// text is the value as --set takes it.
func (k key) text() string {
	switch v := k.get().(type) {
	case []string:
		return strings.Join(v, ",")
	case string, bool, int, float64:
		return fmt.Sprint(v)
	default:
		encoded, _ := json.Marshal(v) // no value of a configuration fails
		return string(encoded)
	}
}

// readWorkers takes what the workers publish, below every other source but the defaults. It
// ignores unknown keys and values: they belong to another release.
func (l *loader) readWorkers(inForce map[string]string) {
	scratch := Default()
	for _, k := range scratch.keys() {
		if text, published := inForce[k.Name]; published && judges(k.Name) && k.set(text) {
			l.take(k.Name, text, workersSource)
		}
	}
}
