package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// FileVariable names the configuration file where no flag does.
const FileVariable = "LIFEBOAT_CONFIG"

const envPrefix = "LIFEBOAT_"

// commandLine is the source of what flags say.
const commandLine = "the command line"

// Sources says where values come from, strongest first: Set, the environment
// (LIFEBOAT_…), File, Workers, the defaults.
type Sources struct {
	// File is a YAML file; empty means $LIFEBOAT_CONFIG, and without that none.
	File string
	// Set are key=value pairs from the command line.
	Set []string
	// Workers is what the workers publish, see [Config.InForce]; nil without.
	Workers map[string]string
}

// Load reads and validates. The error is a [Problems] where the configuration is
// wrong, all of it at once.
func Load(from Sources) (Config, error) {
	l := &loader{config: Default(), values: map[string]any{}, origin: map[string]string{}}
	l.keys = l.config.keys()
	l.readWorkers(from.Workers)
	if err := l.readFile(from.File); err != nil {
		return Config{}, err
	}
	l.readEnvironment()
	l.readFlags(from.Set)
	l.decode()
	l.derive()
	l.problems = append(l.problems, l.config.contradictions()...)
	if len(l.problems) > 0 {
		return Config{}, l.problems
	}
	return l.config, nil
}

type loader struct {
	config   Config
	keys     []key
	values   map[string]any    // key name -> what the strongest source says
	origin   map[string]string // key name -> that source
	problems Problems
}

func (l *loader) problem(name string, raw any, source, want string) {
	l.problems = append(l.problems, Problem{Key: name, Value: value(raw), Source: source, Want: want})
}

// strange is a name that is no key's. Its value is not shown: it may be a secret under a
// name that was mistyped.
func (l *loader) strange(name, source, want string) {
	l.problems = append(l.problems, Problem{Key: name, Source: source, Want: want})
}

// say takes a value from a source that is stronger than those before it.
func (l *loader) say(name string, v any, source string) { l.values[name], l.origin[name] = v, source }

func (l *loader) readFile(file string) error {
	if file == "" {
		file = os.Getenv(FileVariable)
	}
	if file == "" {
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	var tree map[string]any
	if err := yaml.UnmarshalStrict(content, &tree); err != nil {
		return fmt.Errorf("read configuration %s: %w", file, err)
	}
	l.readTree(file, "", tree)
	return nil
}

// readTree takes the values of a file, and finds unknown keys and sections that are none.
func (l *loader) readTree(file, above string, tree map[string]any) {
	for _, word := range slices.Sorted(maps.Keys(tree)) {
		name := strings.TrimPrefix(above+"."+word, ".")
		below, isSection := tree[word].(map[string]any)
		switch {
		case l.known(name):
			l.say(name, tree[word], file)
		case !l.section(name):
			l.strange(name, file, l.unknown(name))
		case isSection:
			l.readTree(file, name, below)
		case tree[word] != nil:
			l.problem(name, tree[word], file, "want a section with keys of its own")
		}
	}
}

func (l *loader) known(name string) bool {
	return slices.ContainsFunc(l.keys, func(k key) bool { return k.Name == name })
}

func (l *loader) section(name string) bool {
	return slices.ContainsFunc(l.keys, func(k key) bool { return strings.HasPrefix(k.Name, name+".") })
}

// unknown says what may have been meant.
func (l *loader) unknown(name string) string {
	last := name[strings.LastIndex(name, ".")+1:]
	for _, k := range l.keys {
		if strings.EqualFold(k.Name, name) || strings.EqualFold(k.Name[strings.LastIndex(k.Name, ".")+1:], last) {
			return "unknown key, did you mean " + k.Name + "?"
		}
	}
	return "unknown key, see lifeboat config print --defaults"
}

// variable is the environment variable of a key: pace.evictionRate is
// LIFEBOAT_PACE_EVICTION_RATE.
func variable(name string) string {
	var b strings.Builder
	previous := rune(0)
	for _, r := range name {
		if r == '.' {
			r = '_'
		}
		if unicode.IsUpper(r) && unicode.IsLower(previous) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
		previous = r
	}
	return envPrefix + b.String()
}

func (l *loader) readEnvironment() {
	bound := map[string]string{}
	for _, k := range l.keys {
		bound[variable(k.Name)] = k.Name
	}
	for _, entry := range os.Environ() {
		name, content, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || name == FileVariable || serviceLink(name) || content == "" {
			continue
		}
		keyName, ok := bound[name]
		if !ok {
			l.strange(name, "the environment", "no key has this variable, see lifeboat config print --defaults")
			continue
		}
		l.say(keyName, content, name)
	}
}

// serviceLink tells the variables that Kubernetes itself sets for a Service that
// happens to be called lifeboat….
func serviceLink(name string) bool {
	return strings.Contains(name, "_SERVICE_HOST") || strings.Contains(name, "_SERVICE_PORT") ||
		strings.Contains(name, "_PORT_") || strings.HasSuffix(name, "_PORT")
}

func (l *loader) readFlags(set []string) {
	for _, pair := range set {
		name, content, ok := strings.Cut(pair, "=")
		switch {
		case !ok:
			l.problem(pair, "", commandLine, "want key=value")
		case !l.known(name):
			l.strange(name, commandLine, l.unknown(name))
		default:
			l.say(name, content, commandLine)
		}
	}
}

// derive sets what follows from another key, where it is not said: a burst, and a task queue for
// each instance. On one that two share each would be asked to act for the other, on another Karmada.
func (l *loader) derive() {
	if _, said := l.origin["kubernetes.burst"]; !said {
		l.config.Kubernetes.Burst = int(2 * l.config.Kubernetes.QPS)
	}
	if _, said := l.origin["taskQueue"]; !said && l.config.Instance != "" {
		l.config.TaskQueue += "-" + l.config.Instance
	}
}

func (l *loader) decode() {
	for _, k := range l.keys {
		source, ok := l.origin[k.Name]
		if !ok {
			continue
		}
		if raw := l.values[k.Name]; raw != nil && !k.set(raw) {
			l.problem(k.Name, raw, source, "want "+k.Want)
		}
	}
}
