package proof

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// Plugin is one thing that can prove a new copy healthy, or an old one dead: built in
// by its name alone, or an activity on a task queue of the user's own.
type Plugin struct {
	Name      string        `json:"name"`
	TaskQueue string        `json:"taskQueue,omitempty"`
	Activity  string        `json:"activity,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"`
}

// PluginResourceHealth is the built-in evict plug-in: what Karmada reports of the copies.
const PluginResourceHealth = "ResourceHealth"

// BuiltIn reports whether the releasing activity judges the plug-in itself, with [Healthy].
func (p Plugin) BuiltIn() bool { return p.Name == PluginResourceHealth }

// PluginsMode says how many of the evict plug-ins have to pass.
type PluginsMode string

// One is enough, or every one is needed.
const (
	PluginsAny PluginsMode = "any"
	PluginsAll PluginsMode = "all"
)

// Proof is what one plug-in answered.
type Proof struct {
	Plugin string `json:"plugin"`
	reason.Verdict
}

// Plugins are the evict plug-ins of a failover. The zero value is ResourceHealth alone.
type Plugins struct {
	List []Plugin    `json:"list,omitempty"`
	Mode PluginsMode `json:"mode,omitempty"`
}

// All is the list, never empty: without any plug-in nothing would have to be proven.
func (p Plugins) All() []Plugin {
	if len(p.List) == 0 {
		return []Plugin{{Name: PluginResourceHealth}}
	}
	return p.List
}

// WarnAnyOfSeveral warns the operator of what AnyOfSeveral means.
const WarnAnyOfSeveral = "several evictPlugins under evictPluginsMode any: any one of them is proof enough to let an old copy go"

// AnyOfSeveral reports that one of several plug-ins passes for all: the proposal's rule,
// and seldom what is meant by more than one.
func (p Plugins) AnyOfSeveral() bool { return len(p.All()) > 1 && p.Mode != PluginsAll }

// External reports whether a plug-in has to be called.
func (p Plugins) External() bool {
	return slices.ContainsFunc(p.All(), func(x Plugin) bool { return !x.BuiltIn() })
}

// Decided reports that further answers would change nothing.
func (p Plugins) Decided(ok bool) bool {
	if p.Mode == PluginsAll {
		return !ok
	}
	return ok
}

// Judge puts the answers together. A plug-in without an answer has not passed.
func (p Plugins) Judge(proofs []Proof) reason.Verdict {
	var passed, failed []string
	first := reason.Verdict{Reason: reason.NotHealthy}
	for _, x := range p.All() {
		at := slices.IndexFunc(proofs, func(y Proof) bool { return y.Plugin == x.Name })
		answer := reason.Verdict{Reason: reason.PluginSilent, Message: "has not answered"}
		if at >= 0 {
			answer = proofs[at].Verdict
		}
		line := answer.Message
		if len(p.All()) > 1 {
			line = x.Name + ": " + answer.Message
		}
		switch {
		case answer.OK:
			passed = append(passed, line)
		case len(failed) == 0:
			first = answer
			fallthrough
		default:
			failed = append(failed, line)
		}
	}
	if len(failed) == 0 || (p.Mode != PluginsAll && len(passed) > 0) {
		return reason.Verdict{OK: true, Reason: reason.Healthy, Message: strings.Join(passed, "; ")}
	}
	first.Message = strings.Join(failed, "; ")
	return first
}

// Limits of a plug-in's timeout.
const (
	PluginTimeout     = 30 * time.Second // where none is given
	leastPluginWait   = time.Second
	longestPluginWait = time.Hour
)

// CheckPlugins says what is wrong with a configured list, and fills in timeouts.
// Built-in ones are evict plug-ins; a fence is always proven by an external one.
func CheckPlugins(list []Plugin, builtInsToo bool) error {
	seen := map[string]bool{}
	for i := range list {
		p := &list[i]
		if seen[p.Name] {
			return fmt.Errorf("%s stands there twice", p.Name)
		}
		seen[p.Name] = true
		if err := p.check(builtInsToo); err != nil {
			return err
		}
		if !p.BuiltIn() {
			p.Timeout = cmp.Or(p.Timeout, PluginTimeout)
		}
	}
	return nil
}

func (p Plugin) check(builtInsToo bool) error {
	short, long := p.Timeout != 0 && p.Timeout < leastPluginWait, p.Timeout > longestPluginWait
	own := p.TaskQueue != "" || p.Activity != ""
	switch {
	case p.Name == "":
		return errors.New("a plug-in has no name")
	case p.BuiltIn() && (!builtInsToo || own):
		return fmt.Errorf("%s is built in and proves health; it takes no task queue", p.Name)
	case !p.BuiltIn() && (p.TaskQueue == "" || p.Activity == ""):
		return fmt.Errorf("%s is not built in: it needs a taskQueue and an activity", p.Name)
	case short || long:
		return fmt.Errorf("%s: a timeout is from %s to %s", p.Name, leastPluginWait, longestPluginWait)
	}
	return nil
}
