// Package proof answers whether the new copy is good, and whether the old one is dead or gone:
// placed, healthy, fenced, purged; and what a restore or a swap may put back.
//
// It is pure: time is an argument, and equal input gives equal output.
package proof
