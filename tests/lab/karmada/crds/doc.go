// Package crds holds the API of the simulated Karmada: the CustomResourceDefinitions of the kinds
// that Lifeboat reads and writes, written for this laboratory from the project's notes on Karmada.
// Field names, enums, patterns, defaults and pruning are Karmada's; descriptions, conversion and
// older versions are left out.
//
// It promises not to start anything: it only installs definitions and waits until they are served.
package crds
