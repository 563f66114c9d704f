// Package orders carries what people order to the workflow that it concerns, and
// waits for the answer. Every order says who and why.
//
// It decides nothing: whether an order makes sense is the workflow's to say.
package orders
