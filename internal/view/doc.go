// Package view says how things stand, as an operator reads it: one model of a failover, a
// migration and the pace, and one document of each, which the Temporal UI shows as Markdown
// and the verbs as text.
//
// It decides nothing and looks at nothing: time is an argument, and equal input gives equal text.
package view
