// Package view says how things stand, as an operator reads it: pages of Markdown for the
// Temporal UI, made of plain values.
//
// It decides nothing and looks at nothing: time is an argument, and equal input gives equal text.
package view
