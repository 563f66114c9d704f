// Package ports answers, from Temporal and from this machine's clock, what the
// activities ask through their ports: who is running, what the pacer says
// now, what the previous pacer left behind, how long something took.
//
// It decides nothing and caches nothing: every answer comes from the server's own
// state by Describe, not from a list that lags, wherever there is a choice.
package ports
