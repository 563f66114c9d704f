// Package world is a control plane in memory and in virtual time: it implements
// the ports of the activities, plays Karmada's scheduler, status and work
// controllers in their simplest faithful form, and keeps a log of every write.
//
// It promises not to know Lifeboat's decisions: it only plays what they act on.
package world
