package view

import (
	"fmt"
	"strings"
)

// Doc is what a page says before it is drawn: as Markdown for the Temporal UI, as text for a
// terminal. Its texts are Markdown within the line; [Plain] is without.
type Doc struct {
	Title string
	// AsOf is when it was true.
	AsOf string
	// Notes stand above everything else; one that begins with ⚠ needs attention.
	Notes    []string
	Facts    []Fact
	Sections []Section
}

// Fact is a line with a name.
type Fact struct{ Name, Value string }

// Section has a heading, and below it what is not empty: an introduction, bullets, a table.
type Section struct {
	Heading string
	Intro   string
	Bullets []string
	Columns []string
	Rows    [][]string
	// More is how many rows are left out.
	More int
}

// Markdown is the document for the Temporal UI. Facts are bullets, because that UI spends half a
// screen on the space between paragraphs.
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

// Plain is a text without its Markdown: no marks, no escapes, of a link its words.
func Plain(s string) string {
	var out strings.Builder
	for code := false; s != ""; s = s[1:] {
		switch {
		case s[0] == '`':
			code = !code
		case code:
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
