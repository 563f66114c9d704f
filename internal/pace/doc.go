// Package pace answers how fast: which rate the health of the fleet allows, which permits that
// makes, and how often one binding may move.
//
// It is pure: time is an argument, and equal input gives equal output.
package pace
