// Package sim plays random schedules of failures, faults and orders against the
// real workflows and activities in virtual time, and judges every write.
//
// A schedule is data: a fleet, bindings, odds of faults and a list of timed steps.
// It prints as a short story that parses back, so that a failing one can be shrunk
// and kept. The judge asks nobody of the product for a verdict.
package sim
