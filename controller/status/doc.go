// Package status shows an operator how failovers stand: it queries each workflow
// itself and shows the answers as tables, JSON or YAML.
//
// It changes nothing, and says what it could not read instead of leaving it out.
package status
