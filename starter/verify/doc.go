// Package verify tries everything that Lifeboat does with a Karmada short of writing:
// that all objects can be read and understood, that watches stay open, and that a
// failover could be planned. It promises to write nothing.
package verify
