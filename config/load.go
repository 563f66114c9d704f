package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// FileVariable names the configuration file where no flag does.
const FileVariable = "LIFEBOAT_CONFIG"

const envPrefix = "LIFEBOAT_"

// commandLine is the source of flags.
const commandLine = "the command line"

// Sources are where values come from, strongest first: Set, the environment (LIFEBOAT_…), File,
// Workers, the defaults.
type Sources struct {
	// File is a YAML file; empty means $LIFEBOAT_CONFIG, and without that none.
	File string
	// Set are key=value pairs from the command line.
	Set []string
	// Workers is what the workers publish, see [Config.InForce]; may be nil.
	Workers map[string]string
}

// Load reads and validates. For a wrong configuration the error is a [Problems], with every
// problem.
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
	for _, p := range l.config.contradictions() {
		p.Source = l.origin[p.Key] // empty for a default, which another value contradicts
		l.problems = append(l.problems, p)
	}
	if len(l.problems) > 0 {
		return Config{}, l.problems
	}
	return l.config, nil
}

type loader struct {
	config   Config
	keys     []key
	values   map[string]any    // key name -> value of the strongest source
	origin   map[string]string // key name -> that source
	problems Problems
}

func (l *loader) problem(name string, raw any, source, want string) {
	l.problems = append(l.problems, Problem{Key: name, Value: value(raw), Source: source, Want: want})
}

// unknownName reports a name that no key has. It omits the value, which may be a secret under
// a mistyped name.
func (l *loader) unknownName(name, source, want string) {
	l.problems = append(l.problems, Problem{Key: name, Source: source, Want: want})
}

// take records a value from a source that is stronger than the earlier ones.
func (l *loader) take(name string, v any, source string) { l.values[name], l.origin[name] = v, source }

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

// readTree takes the values of a file, and reports unknown keys and malformed sections.
func (l *loader) readTree(file, above string, tree map[string]any) {
	for _, word := range slices.Sorted(maps.Keys(tree)) {
		name := strings.TrimPrefix(above+"."+word, ".")
		below, isSection := tree[word].(map[string]any)
		switch {
		case l.known(name):
			if tree[word] != nil { // a key without a value is not configured
				l.take(name, tree[word], file)
			}
		case !l.section(name):
			l.unknownName(name, file, l.unknown(name))
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

// unknown suggests the key that was probably meant.
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
			l.unknownName(name, "the environment", "no key has this variable, see lifeboat config print --defaults")
			continue
		}
		l.take(keyName, content, name)
	}
}

// serviceLink reports whether Kubernetes sets this variable, for a Service whose name begins
// with lifeboat.
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
			l.unknownName(name, commandLine, l.unknown(name))
		default:
			l.take(name, content, commandLine)
		}
	}
}

// derive sets the burst and the task queue where they are not configured. Each instance has its
// own task queue: on a shared one a worker would get the work for another Karmada.
func (l *loader) derive() {
	if _, set := l.origin["kubernetes.burst"]; !set {
		l.config.Kubernetes.Burst = int(2 * l.config.Kubernetes.QPS)
	}
	if _, set := l.origin["taskQueue"]; !set && l.config.Instance != "" {
		l.config.TaskQueue += "-" + l.config.Instance
	}
}

func (l *loader) decode() {
	for _, k := range l.keys {
		source, ok := l.origin[k.Name]
		if !ok {
			continue
		}
		if raw := l.values[k.Name]; !k.set(raw) {
			l.problem(k.Name, raw, source, "want "+k.Want)
		}
	}
}

// Operator is the user of this command, as "user@host": the default of --who. It is a record,
// not proof of identity.
func Operator() string {
	name := cmp.Or(os.Getenv("USER"), os.Getenv("LOGNAME"))
	if name == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	return cmp.Or(name, "unknown") + "@" + Host()
}

// Host is the name of this machine or pod.
func Host() string {
	host, _ := os.Hostname() // empty where it fails
	return cmp.Or(host, "unknown")
}
