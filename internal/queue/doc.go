// Package queue answers who is next: the order of the bindings that wait, which of them an order of an
// operator concerns, and which evictions wait for an approval.
//
// It is pure: time is an argument, and equal input gives equal output.
package queue
