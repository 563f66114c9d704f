package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// workersSource is the source of what the workers publish.
const workersSource = "the workers' configuration"

// judging are the keys that a worker decides and acts by: a section ends with a dot. The
// others say how one process reaches its servers, and what it writes where.
var judging = []string{
	"mode", "modes.", "pace.", "windows.", "defaults.", "state.", "health.", "evictPlugins", "evictPluginsMode", "fencePlugins",
	"recovery.", "drain.", "capacity.", "karmada.version", "karmada.managerLease.", "approval.", "kinds", "rules.", "selectors.", "workflow.",
}

func judges(name string) bool {
	return slices.ContainsFunc(judging, func(j string) bool {
		return name == j || strings.HasSuffix(j, ".") && strings.HasPrefix(name, j)
	})
}

// InForce is what a worker with this configuration decides and acts by, as texts by key: the
// mode, and what is not the default.
func (c Config) InForce() map[string]string {
	defaults := Default()
	usual := defaults.keys()
	out := map[string]string{}
	for n, k := range c.keys() {
		if text := k.text(); judges(k.Name) && (k.Name == "mode" || text != usual[n].text()) {
			out[k.Name] = text
		}
	}
	return out
}

// text is the value as --set takes it.
func (k key) text() string {
	switch v := k.get().(type) {
	case []string:
		return strings.Join(v, ",")
	case string, bool, int, float64:
		return fmt.Sprint(v)
	default:
		encoded, err := json.Marshal(v)
		if err != nil {
			return "" // no value of a configuration
		}
		return string(encoded)
	}
}

// readWorkers takes what the workers publish, below every other source but the defaults. What
// this program does not know is of another release, and left out.
func (l *loader) readWorkers(inForce map[string]string) {
	scratch := Default()
	for _, k := range scratch.keys() {
		if text, told := inForce[k.Name]; told && judges(k.Name) && k.set(text) {
			l.say(k.Name, text, workersSource)
		}
	}
}
