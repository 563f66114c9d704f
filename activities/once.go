package activities

import (
	"context"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// once is a Reader that reads what surrounds bindings, their namespaces and policies, once for all
// bindings that share them. One goroutine uses it.
type once struct {
	Reader
	optedOut    map[shared]string
	annotations map[annotationOf]string
}

// shared names the namespace and the policy of a binding.
type shared struct{ namespace, policy string }

type annotationOf struct{ policy, name string }

func newOnce(from Reader) *once {
	return &once{Reader: from, optedOut: map[shared]string{}, annotations: map[annotationOf]string{}}
}

// OptedOut implements [OptOutReader].
func (o *once) OptedOut(ctx context.Context, b *karmada.Binding) (string, error) {
	return remember(o.optedOut, shared{b.Key.Namespace, b.PolicyID()}, func() (string, error) { return o.Reader.OptedOut(ctx, b) })
}

// PolicyAnnotation implements [OptOutReader].
func (o *once) PolicyAnnotation(ctx context.Context, b *karmada.Binding, name string) (string, error) {
	return remember(o.annotations, annotationOf{b.PolicyID(), name}, func() (string, error) { return o.Reader.PolicyAnnotation(ctx, b, name) })
}

// remember reads a value unless it was read before. An error is not remembered.
func remember[K comparable](known map[K]string, key K, read func() (string, error)) (string, error) {
	if value, found := known[key]; found {
		return value, nil
	}
	value, err := read()
	if err == nil {
		known[key] = value
	}
	return value, err
}
