// Package preflight looks whether Lifeboat can do its work here, and says what to do
// where it cannot. It changes nothing.
package preflight
