package karmada

import (
	"cmp"
	"strings"
)

// BindingKind distinguishes the two kinds of bindings.
type BindingKind string

// The kinds of work.karmada.io/v1alpha2.
const (
	KindResourceBinding        BindingKind = "ResourceBinding"
	KindClusterResourceBinding BindingKind = "ClusterResourceBinding"
)

// PermanentIDLabel is Karmada's label with the permanent id of a binding, on the binding and on its Works.
func (k BindingKind) PermanentIDLabel() string {
	if k == KindClusterResourceBinding {
		return "clusterresourcebinding.karmada.io/permanent-id"
	}
	return "resourcebinding.karmada.io/permanent-id"
}

// BindingKey names a binding. Namespace is empty for a ClusterResourceBinding.
type BindingKey struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Kind is the kind that the key names.
func (k BindingKey) Kind() BindingKind {
	if k.Namespace == "" {
		return KindClusterResourceBinding
	}
	return KindResourceBinding
}

// String is "<namespace>/<name>", with "-" for the namespace of a
// ClusterResourceBinding: the form that workflow ids and the CLI use.
func (k BindingKey) String() string {
	if k.Namespace == "" {
		return "-/" + k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Compare orders keys by namespace, then by name.
func (k BindingKey) Compare(other BindingKey) int {
	return cmp.Or(strings.Compare(k.Namespace, other.Namespace), strings.Compare(k.Name, other.Name))
}

// ParseBindingKey reads what String wrote; whole is false where a part is missing.
func ParseBindingKey(text string) (key BindingKey, whole bool) {
	namespace, name, whole := strings.Cut(text, "/")
	if namespace == "-" {
		namespace = ""
	}
	return BindingKey{Namespace: namespace, Name: name}, whole
}
