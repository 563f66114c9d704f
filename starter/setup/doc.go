// Package setup makes a Temporal namespace and a Karmada control plane ready for
// Lifeboat: namespace, retention, search attributes, CRDs. It may be repeated: what
// is there stays as it is.
package setup
