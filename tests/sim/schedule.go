package sim

import (
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
	if b.Purge != "" {
		out += " purge " + b.Purge
	}
	if b.Soft >= 0 {
		out += fmt.Sprintf(" soft %d", b.Soft)
	}
	if b.Asks {
		out += " asks"
	}
	if b.Stateful {
		out += " stateful"
	}
	out += b.application()
	if len(b.Needs) > 0 {
		out += " needs " + strings.Join(b.Needs, ",")
	}
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

// words reads "key value" pairs and remembers what went wrong first.
type words struct {
	fields []string
	err    error
}

func (w *words) next() string {
	if len(w.fields) == 0 {
		w.fail("a word is missing")
		return ""
	}
	first := w.fields[0]
	w.fields = w.fields[1:]
	return first
}

func (w *words) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *words) number() int64 {
	word := w.next()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		w.fail("%q is no number", word)
	}
	return n
}

func (w *words) duration() time.Duration {
	word := w.next()
	d, err := time.ParseDuration(word)
	if err != nil {
		w.fail("%q is no duration", word)
	}
	return d
}

// Parse reads a story back. Lines that begin with # are comments.
func Parse(text string) (Schedule, error) {
	s := Schedule{Odds: map[string]int{}, Asks: map[string]int{}, Times: map[string]time.Duration{}}
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		w := &words{fields: strings.Fields(line)}
		s.read(w)
		if w.err == nil && len(w.fields) > 0 {
			w.fail("%q is too much", strings.Join(w.fields, " "))
		}
		if w.err != nil {
			return s, fmt.Errorf("line %d: %w", n+1, w.err)
		}
	}
	return s, nil
}

func (s *Schedule) read(w *words) {
	switch verb := w.next(); verb {
	case "seed":
		s.readHead(w)
	case "time":
		name := w.next()
		s.Times[name] = w.duration()
	case "odds":
		name := w.next()
		s.Odds[name] = int(w.number())
	case "ask":
		name := w.next()
		s.Asks[name] = int(w.number())
	case "binding":
		s.Bindings = append(s.Bindings, readBinding(w))
	case "at":
		s.Steps = append(s.Steps, readStep(w))
	default:
		w.fail("%q begins no line", verb)
	}
}

func (s *Schedule) readHead(w *words) {
	seed := w.next()
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		w.fail("%q is no seed", seed)
	}
	s.Seed = n
	for len(w.fields) > 0 && w.err == nil {
		switch key := w.next(); key {
		case "mode":
			s.Mode = w.next()
		case "fleet":
			s.Fleet = int(w.number())
		case "rate":
			word := w.next()
			if s.Rate, err = strconv.ParseFloat(word, 64); err != nil {
				w.fail("%q is no rate", word)
			}
		case "quiet":
			s.Quiet = w.duration()
		default:
			w.fail("%q is not known in the first line", key)
		}
	}
}

func readBinding(w *words) Binding {
	b := Binding{Name: w.next(), Tolerate: -1, Soft: -1}
	for len(w.fields) > 0 && w.err == nil {
		switch key := w.next(); key {
		case "on":
			b.On = strings.Split(w.next(), ",")
		case "may":
			b.May = groups(w.next())
		case "divided", "duplicated", "asks", "stateful":
			b.is(key)
		case "replicas":
			b.Replicas = int32(w.number())
		case "tolerate":
			b.Tolerate = w.number()
		case "purge":
			b.Purge = w.next()
		case "needs":
			b.Needs = strings.Split(w.next(), ",")
		case "soft":
			b.Soft = w.number()
		case "priority":
			b.Priority = int32(w.number())
		default:
			b.readApplication(key, w)
		}
	}
	return b
}

// is takes a word that says what a binding is.
func (b *Binding) is(word string) {
	switch word {
	case "divided":
		b.Divided = true
	case "asks":
		b.Asks = true
	case "stateful":
		b.Stateful = true
	}
}

// groups are the affinity groups of a binding: "m1,m2/m3" are two, "any" is none.
func groups(may string) [][]string {
	if may == "any" {
		return nil
	}
	var out [][]string
	for g := range strings.SplitSeq(may, "/") {
		out = append(out, strings.Split(g, ","))
	}
	return out
}

func readStep(w *words) Step {
	x := Step{At: w.duration(), Do: w.next()}
	for len(w.fields) > 0 && w.err == nil {
		switch key := w.next(); key {
		case "cluster":
			x.Cluster = w.next()
		case "binding":
			x.Binding = w.next()
		case "n":
			x.N = int(w.number())
		default:
			w.fail("%q is not known of a step", key)
		}
	}
	return x
}
