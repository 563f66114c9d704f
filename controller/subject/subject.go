// Package subject finds the binding that an operator names, by its own name or by its workload. It never guesses:
// a name that fits no or several bindings is an error that names the candidates.
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
	// ErrNotFound is returned for an unknown binding.
	ErrNotFound = errors.New("no such binding")
	// ErrMalformed is returned for an argument that names no binding.
	ErrMalformed = errors.New("want <namespace>/<binding>, -/<binding>, or <kind>/<name> -n <namespace>")
)

// Ref is a binding as an operator names it.
type Ref struct {
	first, name string
	// namespace is that of the workload; empty if the binding itself was named, or if its workload has none.
	namespace string
}

// Parse reads "<namespace>/<binding>" ("-/<binding>" without a namespace), or with a namespace "<kind>/<name>". It
// also reads the output of [Plain].
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

// Plain removes the dash from arguments that name a binding without a namespace: the parser of flags would read
// "-/reader" as a flag.
func Plain(args []string) []string {
	plain := slices.Clone(args)
	for n, arg := range plain {
		if strings.HasPrefix(arg, "-/") {
			plain[n] = arg[1:]
		}
	}
	return plain
}

// String is the argument.
func (r Ref) String() string {
	if r.namespace != "" {
		return r.first + "/" + r.name + " -n " + r.namespace
	}
	return r.first + "/" + r.name
}

// Key is the binding's own name; known is false if a workload was named.
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

// Find reads the binding. A workload is searched under the name that Karmada gives its binding, and then in all
// bindings.
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

// carriedBy reports whether a binding is of the named workload.
func (r Ref) carriedBy(b *karmada.Binding) bool {
	return b.Key.Namespace == r.namespace && b.Resource.Name == r.name && strings.EqualFold(b.Resource.Kind, kindOf(r.first))
}

// shortNames are kubectl's short names of common kinds.
var shortNames = map[string]string{
	"deploy": "Deployment", "sts": "StatefulSet", "ds": "DaemonSet", "cj": "CronJob", "cm": "ConfigMap",
	"svc": "Service", "ing": "Ingress", "pvc": "PersistentVolumeClaim", "sa": "ServiceAccount",
}

// kindOf is the kind that a kubectl argument names: the kind, its plural, or a short name.
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

// Workload names the workload of a binding: "deployment/cart".
func Workload(b *karmada.Binding) string {
	return strings.ToLower(b.Resource.Kind) + "/" + b.Resource.Name
}

// Names lists at most so many names of bindings with a prefix: their own, or with a namespace those of their
// workloads.
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
