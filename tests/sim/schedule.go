package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Schedule is one story, as data.
type Schedule struct {
	Seed uint64
	// Mode is enforce or observe.
	Mode string
	// Fleet is how many clusters there are, m1 and on.
	Fleet int
	// Rate is the configured evictions per second.
	Rate float64
	// Odds are per mille, by fault.
	Odds map[string]int
	// Asks are the rules that ask an operator, by name, with their number.
	Asks map[string]int
	// Times are durations of the world, by name.
	Times    map[string]time.Duration
	Bindings []Binding
	Steps    []Step
	// Quiet is when the world becomes well: from then on nothing happens any more.
	Quiet time.Duration
}

// Binding is one binding of a story.
type Binding struct {
	Name string
	On   []string
	// May are the affinity groups, one for a plain affinity; empty selects all.
	May      [][]string
	Divided  bool
	Replicas int32
	// Tolerate is for how many seconds the rule's taint is tolerated, -1 for not at all,
	// stoic for every taint for good.
	Tolerate int64
	Priority int32
	// Purge is the purge mode, empty for the default.
	Purge string
	// Needs are ConfigMaps that go where it goes.
	Needs []string
	// Asks tells that its label has an operator asked, where a rule goes by that.
	Asks bool
	// Stateful: labels made of the old copy's status go along with it.
	Stateful bool
	// Soft is for how many seconds a soft taint is tolerated, -1 where none moves it.
	Soft int64
	// Application is its spec.failover.application, nil for none.
	Application *Application
	// Policy is the propagation policy that it comes from, empty for none.
	Policy string
}

// stoic tolerates whatever taint there is: only a drain moves it, and the scheduler would
// bring it straight back.
const stoic = -2

// Step is one thing that happens.
type Step struct {
	At      time.Duration
	Do      string
	Cluster string
	Binding string
	N       int
}

// String is the story, one line for each thing.
func (s Schedule) String() string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line("seed %d mode %s fleet %d rate %g quiet %s", s.Seed, s.Mode, s.Fleet, s.Rate, s.Quiet)
	for _, k := range slices.Sorted(maps.Keys(s.Times)) {
		line("time %s %s", k, s.Times[k])
	}
	for _, k := range slices.Sorted(maps.Keys(s.Odds)) {
		if s.Odds[k] > 0 {
			line("odds %s %d", k, s.Odds[k])
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.Asks)) {
		line("ask %s %d", k, s.Asks[k])
	}
	for _, b := range s.Bindings {
		line("binding %s", b)
	}
	for _, x := range s.Steps {
		line("at %s", x)
	}
	return out.String()
}

// String is a binding's line without its first word.
func (b Binding) String() string {
	kind := "duplicated"
	if b.Divided {
		kind = "divided"
	}
	var groups []string
	for _, g := range b.May {
		groups = append(groups, strings.Join(g, ","))
	}
	may := strings.Join(groups, "/")
	if may == "" {
		may = "any"
	}
	out := fmt.Sprintf("%s on %s may %s %s replicas %d tolerate %d priority %d",
		b.Name, strings.Join(b.On, ","), may, kind, b.Replicas, b.Tolerate, b.Priority)
	more := func(is bool, format string, args ...any) {
		if is {
			out += fmt.Sprintf(format, args...)
		}
	}
	more(b.Purge != "", " purge %s", b.Purge)
	more(b.Soft >= 0, " soft %d", b.Soft)
	more(b.Asks, " asks")
	more(b.Stateful, " stateful")
	if b.Application != nil {
		more(true, " application %d", b.Application.Seconds)
		more(b.Application.Purge != "", " application-purge %s", b.Application.Purge)
	}
	more(b.Policy != "", " policy %s", b.Policy)
	more(len(b.Needs) > 0, " needs %s", strings.Join(b.Needs, ","))
	return out
}

// String is a step's line without its first word.
func (x Step) String() string {
	out := x.At.String() + " " + x.Do
	if x.Cluster != "" {
		out += " cluster " + x.Cluster
	}
	if x.Binding != "" {
		out += " binding " + x.Binding
	}
	if x.N != 0 {
		out += " n " + strconv.Itoa(x.N)
	}
	return out
}

// words are what is left of a line: pairs of a key and its value, and flags.
type words struct {
	left map[string]string
	err  error
}

// flags are the words that have no value.
var flags = []string{"divided", "duplicated", "asks", "stateful"}

func pairs(fields []string) *words {
	w := &words{left: map[string]string{}}
	for n := 0; n < len(fields); n++ {
		key := fields[n]
		if slices.Contains(flags, key) {
			w.left[key] = key
		} else if n++; n < len(fields) {
			w.left[key] = fields[n]
		} else {
			w.err = fmt.Errorf("%q has no value", key)
		}
	}
	return w
}

// text takes the value of a key, empty without one.
func (w *words) text(key string) string {
	text := w.left[key]
	delete(w.left, key)
	return text
}

func (w *words) is(flag string) bool { return w.text(flag) != "" }

func (w *words) list(key string) []string {
	if text := w.text(key); text != "" {
		return strings.Split(text, ",")
	}
	return nil
}

func (w *words) duration(key string) time.Duration {
	d, err := time.ParseDuration(w.text(key))
	w.err = errors.Join(w.err, err)
	return d
}

// number takes the value of a key, or what it is without one.
func number[T any](w *words, key string, otherwise T) T {
	if text := w.text(key); text != "" {
		w.err = errors.Join(w.err, json.Unmarshal([]byte(text), &otherwise))
	}
	return otherwise
}

// end is what is wrong with a line, and what of it was not understood.
func (w *words) end() error {
	if w.err == nil && len(w.left) > 0 {
		return fmt.Errorf("unknown: %v", w.left)
	}
	return w.err
}

// Parse reads a story back. Lines that begin with # are comments.
func Parse(text string) (Schedule, error) {
	s := Schedule{Odds: map[string]int{}, Asks: map[string]int{}, Times: map[string]time.Duration{}}
	for n, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := s.read(fields); err != nil {
			return s, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return s, nil
}

func (s *Schedule) read(fields []string) error {
	if len(fields) < 3 {
		return errors.New("words are missing")
	}
	var w *words
	switch verb, rest := fields[0], fields[1:]; verb {
	case "seed":
		w = pairs(fields)
		s.Seed, s.Mode, s.Fleet = number[uint64](w, "seed", 0), w.text("mode"), number(w, "fleet", 0)
		s.Rate, s.Quiet = number(w, "rate", 0.), w.duration("quiet")
	case "time":
		w = pairs(rest)
		s.Times[rest[0]] = w.duration(rest[0])
	case "odds":
		w = pairs(rest)
		s.Odds[rest[0]] = number(w, rest[0], 0)
	case "ask":
		w = pairs(rest)
		s.Asks[rest[0]] = number(w, rest[0], 0)
	case "binding":
		w = pairs(fields)
		s.Bindings = append(s.Bindings, readBinding(w))
	case "at":
		w = pairs(slices.Insert(slices.Clone(fields), 2, "do"))
		s.Steps = append(s.Steps, Step{At: w.duration("at"), Do: w.text("do"), Cluster: w.text("cluster"), Binding: w.text("binding"), N: number(w, "n", 0)})
	default:
		return fmt.Errorf("%q begins no line", verb)
	}
	return w.end()
}

func readBinding(w *words) Binding {
	b := Binding{
		Name: w.text("binding"), On: w.list("on"), May: groups(w.text("may")), Divided: w.is("divided"), Asks: w.is("asks"), Stateful: w.is("stateful"),
		Replicas: number[int32](w, "replicas", 0), Tolerate: number[int64](w, "tolerate", -1), Priority: number[int32](w, "priority", 0),
		Purge: w.text("purge"), Soft: number[int64](w, "soft", -1), Needs: w.list("needs"), Policy: w.text("policy"),
	}
	w.text("duplicated") // so it is, unless it is divided
	if _, fails := w.left["application"]; fails {
		b.Application = &Application{Seconds: number[int64](w, "application", 0), Purge: w.text("application-purge")}
	}
	return b
}

// groups are the affinity groups of a binding: "m1,m2/m3" are two, "any" is none.
func groups(may string) [][]string {
	if may == "any" || may == "" {
		return nil
	}
	var out [][]string
	for g := range strings.SplitSeq(may, "/") {
		out = append(out, strings.Split(g, ","))
	}
	return out
}
