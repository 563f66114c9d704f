// Package preflight looks whether Lifeboat can do its work here, and says what to do
// where it cannot; in full it tries everything short of writing. Setup makes a Temporal
// namespace and a Karmada ready: it alone writes, and what is there stays as it is.
package preflight
