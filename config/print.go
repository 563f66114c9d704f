package config

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// settings are the keys that people choose, and those that are set to something else than
// their constant.
func (c Config) settings() []key {
	defaults := Default()
	usual := defaults.keys()
	var out []key
	for n, k := range c.keys() {
		if !k.Fixed || k.text() != usual[n].text() {
			out = append(out, k)
		}
	}
	return out
}

// Tree is the configuration as nested sections, durations as texts: what a file
// that says everything would hold.
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

// PrintJSON writes the configuration as indented JSON.
func (c Config) PrintJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(c.Tree())
}

// PrintYAML writes the configuration as YAML that Load reads back, each key below
// a comment: what it is for, what it may be, its variable.
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
	encoded, err := yaml.Marshal(map[string]any{word: k.get()})
	if err != nil {
		return fmt.Errorf("encode %s: %w", k.Name, err)
	}
	body := strings.ReplaceAll(strings.TrimSuffix(string(encoded), "\n"), "\n", "\n"+margin)
	_, err = fmt.Fprintf(w, "%s# %s\n%s# %s; %s\n%s%s\n", margin, k.Doc, margin, k.Want, variable(k.Name), margin, body)
	return err
}
