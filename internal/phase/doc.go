// Package phase has the state machines of a failover and of a migration as tables: which phase may
// follow which, and on what. The diagrams of docs/diagrams are drawn from them.
package phase
