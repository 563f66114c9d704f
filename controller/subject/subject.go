// Package subject finds what an operator names: a binding by its own name, or by
// the workload that it carries.
//
// It promises to look and never to guess: what fits nothing, or more than one
// thing, is an error that says what would be understood.
package subject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

var (
	// ErrNotFound is returned for a binding that there is not.
	ErrNotFound = errors.New("no such binding")
	// ErrMalformed is returned for words that name nothing.
	ErrMalformed = errors.New("want <namespace>/<binding>, -/<binding>, or <kind>/<name> -n <namespace>")
)

// Ref is a binding as an operator names it.
type Ref struct {
	first, name string
	// namespace is that of the workload; empty where the binding itself was named, or
	// where its workload has none.
	namespace string
}

// Parse reads "<namespace>/<binding>" ("-/<binding>" without a namespace), and with a
// namespace "<kind>/<name>". What [Plain] has made of an argument is read as well.
func Parse(arg, namespace string) (Ref, error) {
	first, name, ok := strings.Cut(arg, "/")
	if first == "" && namespace == "" {
		first = "-"
	}
	if !ok || first == "" || name == "" || strings.Contains(name, "/") {
		return Ref{}, fmt.Errorf("%q: %w", arg, ErrMalformed)
	}
	return Ref{first: first, name: name, namespace: namespace}, nil
}

// Plain takes the dash from arguments that name a binding without a namespace: a reader
// of flags takes "-/reader" for one.
func Plain(args []string) []string {
	plain := slices.Clone(args)
	for n, arg := range plain {
		if strings.HasPrefix(arg, "-/") {
			plain[n] = arg[1:]
		}
	}
	return plain
}

// String is what was said.
func (r Ref) String() string {
	if r.namespace != "" {
		return r.first + "/" + r.name + " -n " + r.namespace
	}
	return r.first + "/" + r.name
}

// Key is the binding's own name, where that is what was said; known is false where a
// workload was.
func (r Ref) Key() (key karmada.BindingKey, known bool) {
	if r.namespace != "" {
		return karmada.BindingKey{}, false
	}
	key = karmada.BindingKey{Namespace: r.first, Name: r.name}
	if r.first == "-" {
		key.Namespace = ""
	}
	return key, true
}

// Find reads the binding. A workload is looked for under the name that Karmada gives
// its binding, and then among all of its kind.
func (r Ref) Find(ctx context.Context, in activities.BindingReader) (karmada.Binding, error) {
	key, byName := r.Key()
	if !byName {
		key = karmada.BindingKey{Namespace: r.namespace, Name: strings.ToLower(r.name + "-" + kindOf(r.first))}
	}
	b, err := in.Binding(ctx, key)
	switch {
	case err == nil && (byName || r.carriedBy(&b)):
		return b, nil
	case err != nil && !errors.Is(err, karmada.ErrGone):
		return karmada.Binding{}, fmt.Errorf("read binding %s: %w", key, err)
	}
	return r.search(ctx, in)
}

func (r Ref) search(ctx context.Context, in activities.BindingReader) (karmada.Binding, error) {
	var found []karmada.Binding
	var names []string
	for b, err := range activities.AllBindings(ctx, in) {
		if err != nil {
			return karmada.Binding{}, fmt.Errorf("look for %s: %w", r, err)
		}
		if r.carriedBy(b) {
			found, names = append(found, *b), append(names, b.Key.String())
		}
	}
	switch len(found) {
	case 0:
		return karmada.Binding{}, fmt.Errorf("%w: %s; %w", ErrNotFound, r, ErrMalformed)
	case 1:
		return found[0], nil
	}
	return karmada.Binding{}, fmt.Errorf("%w: %s could be %s; name the binding itself", ErrNotFound, r, strings.Join(names, " or "))
}

// carriedBy reports whether a binding carries the workload that was named.
func (r Ref) carriedBy(b *karmada.Binding) bool {
	return b.Key.Namespace == r.namespace && b.Resource.Name == r.name && strings.EqualFold(b.Resource.Kind, kindOf(r.first))
}

// shortNames are those of kubectl for what is moved most.
var shortNames = map[string]string{
	"deploy": "Deployment", "sts": "StatefulSet", "ds": "DaemonSet", "cj": "CronJob", "cm": "ConfigMap",
	"svc": "Service", "ing": "Ingress", "pvc": "PersistentVolumeClaim", "sa": "ServiceAccount",
}

// kindOf is the kind that a word of kubectl's names: the kind, its plural, or a short name.
func kindOf(word string) string {
	lower := strings.ToLower(word)
	if kind, short := shortNames[lower]; short {
		return kind
	}
	for plural, singular := range map[string]string{"ies": "y", "sses": "ss"} {
		if stem, cut := strings.CutSuffix(lower, plural); cut {
			return stem + singular
		}
	}
	if strings.HasSuffix(lower, "ss") {
		return lower // ingress
	}
	return strings.TrimSuffix(lower, "s")
}

// Workload is how a binding's workload would be named: "deployment/cart".
func Workload(b *karmada.Binding) string {
	return strings.ToLower(b.Resource.Kind) + "/" + b.Resource.Name
}

// Names offers the names of bindings that begin with what was typed, most at most:
// their own, or with a namespace those of their workloads.
func Names(ctx context.Context, in activities.BindingReader, typed, namespace string, most int) ([]string, error) {
	var names []string
	for b, err := range activities.AllBindings(ctx, in) {
		if err != nil {
			return nil, fmt.Errorf("list bindings: %w", err)
		}
		name := b.Key.String()
		if namespace != "" {
			name = Workload(b)
		}
		if strings.HasPrefix(name, typed) && (namespace == "" || b.Key.Namespace == namespace) {
			names = append(names, name)
		}
		if len(names) == most {
			break
		}
	}
	slices.Sort(names)
	return names, nil
}
