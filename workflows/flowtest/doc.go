// Package flowtest has what the tests of the workflows share: an environment that is patient,
// and messages that nobody has looked at. Tests alone import it.
package flowtest
