// Package flowtest has what the tests of the workflows share: an environment that is patient,
// and messages that are not validated. Tests alone import it.
package flowtest
