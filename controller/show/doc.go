// Package show is how every verb of the CLI looks: tables without borders that
// stay within a width, colour for terminals alone, JSON and YAML with stable
// names, screens that are redrawn in place, and a word about what takes long.
//
// It depends on nothing of failovers.
package show
