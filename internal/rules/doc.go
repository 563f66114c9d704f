// Package rules answers whether a cluster has failed, what that moves, and when: rules and their
// windows, taints, tolerations, drains, modes, and what may not be moved at all.
//
// It is pure: time is an argument, and equal input gives equal output.
package rules
