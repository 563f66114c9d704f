package queue

import (
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
)

// Scope is the object of an operator's order: exactly one of one binding, the
// bindings of one namespace, or all of them. It is comparable. "All" is a word of its
// own, so that an order that lost its fields concerns no binding.
type Scope struct {
	Binding   karmada.BindingKey `json:"binding,omitzero"`
	Namespace string             `json:"namespace,omitempty"`
	All       bool               `json:"all,omitempty"`
}

// ScopeOf is the scope of one binding.
func ScopeOf(key karmada.BindingKey) Scope { return Scope{Binding: key} }

// Check says what is wrong with a scope, empty when fine.
func (s Scope) Check() string {
	said := 0
	for _, is := range []bool{s.Binding != (karmada.BindingKey{}), s.Namespace != "", s.All} {
		if is {
			said++
		}
	}
	switch {
	case said == 0:
		return `name its object: "binding": {"namespace": "shop", "name": "cart-deployment"}, "namespace": "shop", or "all": true`
	case said > 1:
		return `"binding", "namespace" and "all" exclude each other: say one of them`
	case s.Binding != (karmada.BindingKey{}) && s.Binding.Name == "":
		return `field "binding.name": missing`
	case max(len(s.Namespace), len(s.Binding.Namespace), len(s.Binding.Name)) > reason.MaxName:
		return "a name of more than 253 bytes: nothing in Kubernetes is called so"
	}
	return ""
}

// Covers reports whether a binding is concerned.
func (s Scope) Covers(key karmada.BindingKey) bool {
	return s.All || s.Namespace != "" && s.Namespace == key.Namespace || s.Binding.Name != "" && s.Binding == key
}

// One reports whether a single binding is named.
func (s Scope) One() bool { return s.Binding.Name != "" }

// String names a scope for people: "shop/cart", "namespace shop", "all bindings".
func (s Scope) String() string {
	switch {
	case s.One():
		return s.Binding.String()
	case s.Namespace != "":
		return "namespace " + s.Namespace
	default:
		return "all bindings"
	}
}

// scopesOf are the scopes that cover a binding, the narrowest first.
func scopesOf(key karmada.BindingKey) [3]Scope {
	return [3]Scope{{Binding: key}, {Namespace: key.Namespace}, {All: true}}
}

// Scoped finds what was ordered about a binding, by scope.
type Scoped[T any] map[Scope]T

// Narrowest is what the narrowest scope that covers a binding says: a word about the
// binding itself goes before one about its namespace, and that before one about all.
func (s Scoped[T]) Narrowest(key karmada.BindingKey) (T, bool) {
	var none T
	if len(s) == 0 { // the usual case, looked up for every item in every turn
		return none, false
	}
	for _, scope := range scopesOf(key) {
		if v, ok := s[scope]; ok {
			return v, true
		}
	}
	return none, false
}

// Latest is the latest of the moments that cover a binding, zero for none.
func Latest(s Scoped[time.Time], key karmada.BindingKey) time.Time {
	var latest time.Time
	if len(s) == 0 { // as above
		return latest
	}
	for _, scope := range scopesOf(key) {
		latest = pace.Later(latest, s[scope])
	}
	return latest
}

// MaxSnooze bounds one snooze: for longer, exclude the binding instead.
const MaxSnooze = 30 * 24 * time.Hour

// SnoozeFor reads how long a snooze is to last; wrong says why it cannot be, empty
// when it can.
func SnoozeFor(text string) (d time.Duration, wrong string) {
	d, err := time.ParseDuration(text)
	switch {
	case text == "":
		return 0, `field "for": missing; say for how long, e.g. "for": "30m"`
	case err != nil:
		return 0, fmt.Sprintf(`field "for": %q is no duration; write it as 90s, 30m or 2h`, text)
	case d < time.Second:
		return 0, fmt.Sprintf(`field "for": %q: a snooze moves a due time later, by a second or more; it never brings one forward`, text)
	case d > MaxSnooze:
		return 0, fmt.Sprintf(`field "for": %q: at most %s; to leave a binding alone for good, opt it out (%s: "false")`,
			text, MaxSnooze, karmada.AnnotationEnabled)
	}
	return d, ""
}
