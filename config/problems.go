package config

import (
	"fmt"
	"strings"
)

// Problem is one thing wrong with the configuration.
type Problem struct {
	Key    string
	Value  string // empty where it is not shown
	Source string // where the value came from: the file, the command line, or the variable's name
	Want   string // what is allowed, or what to do instead
}

// String is one line that says all four.
func (p Problem) String() string {
	from := ""
	if p.Source != "" {
		from = " (from " + p.Source + ")"
	}
	is := ""
	if p.Value != "" {
		is = " = " + p.Value
	}
	return p.Key + is + from + ": " + p.Want
}

// Problems is every problem of one configuration.
type Problems []Problem

// Error lists them all, one per line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = "  " + problem.String()
	}
	noun := "problems"
	if len(p) == 1 {
		noun = "problem"
	}
	return fmt.Sprintf("the configuration has %d %s:\n%s", len(p), noun, strings.Join(lines, "\n"))
}

// value shows a raw value in an error, strings quoted and long ones cut.
func value(raw any) string {
	const most = 80
	shown := fmt.Sprintf("%v", raw)
	if s, ok := raw.(string); ok {
		shown = fmt.Sprintf("%q", s)
	}
	if len(shown) > most {
		shown = shown[:most] + "…"
	}
	return shown
}
