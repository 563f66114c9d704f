// Package view makes the documents that operators read: one of a failover, one of a migration, one of the
// pace. The Temporal UI shows them as Markdown, the verbs of the CLI as text.
//
// It decides nothing and reads nothing: time is an argument, and equal input gives equal text.
package view

import (
	"fmt"
	"strings"
)

// Doc is a page before it is drawn as Markdown or as text. Its texts have inline Markdown; [Plain] removes it.
type Doc struct {
	Title string
	// AsOf is when the page was written.
	AsOf string
	// Notes stand above everything else; one that begins with ⚠ needs attention.
	Notes    []string
	Facts    []Fact
	Sections []Section
}

// Fact is a line with a name.
type Fact struct{ Name, Value string }

// Section has a heading; introduction, bullets and table may be empty.
type Section struct {
	Heading string
	Intro   string
	Bullets []string
	Columns []string
	Rows    [][]string
	// More is how many rows are left out.
	More int
}

// Markdown is the document for the Temporal UI. Facts are bullets: the UI leaves much space between paragraphs.
func (d Doc) Markdown() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# %s\n\n*As of %s*\n", d.Title, d.AsOf)
	for _, note := range d.Notes {
		line("%s\n", note)
	}
	for _, f := range d.Facts {
		line("- **%s:** %s", f.Name, f.Value)
	}
	for _, s := range d.Sections {
		line("\n## %s\n", s.Heading)
		if s.Intro != "" {
			line("%s\n", s.Intro)
		}
		for _, item := range s.Bullets {
			line("- %s", item)
		}
		if len(s.Rows) > 0 {
			line("\n| %s |\n|%s", strings.Join(s.Columns, " | "), strings.Repeat("---|", len(s.Columns)))
		}
		for _, row := range s.Rows {
			line("| %s |", strings.Join(row, " | "))
		}
		if s.More > 0 {
			line("\n… and %d more", s.More)
		}
	}
	return strings.ReplaceAll(strings.TrimRight(b.String(), "\n"), "\n\n\n", "\n\n") + "\n"
}

// Plain is a text without inline Markdown: no marks and escapes, and only the words of a link.
func Plain(s string) string {
	var out strings.Builder
	for inCode := false; s != ""; s = s[1:] {
		switch {
		case s[0] == '`':
			inCode = !inCode
		case inCode:
			out.WriteByte(s[0])
		case s[0] == '\\' && len(s) > 1:
			s = s[1:]
			out.WriteByte(s[0])
		case strings.HasPrefix(s, "&lt;"):
			s = s[len("&lt;")-1:]
			out.WriteByte('<')
		case strings.HasPrefix(s, "]("):
			s = s[max(0, strings.IndexByte(s, ')')):]
		case s[0] != '*' && s[0] != '[':
			out.WriteByte(s[0])
		}
	}
	return out.String()
}
