// Package show is the output of every verb of the CLI: tables without borders within a width, colour on terminals
// alone, JSON and YAML with stable names, live screens, and progress. It depends on nothing of failovers.
package show

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/list"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/lifeboat-failover/lifeboat/internal/view"
)

// Width bounds every line, in characters.
const Width = 120

// Page is text for a terminal.
type Page struct {
	Out io.Writer
	// Now is the time to which ages are counted.
	Now time.Time
	// Colour is for terminals only.
	Colour bool
	// Columns is the width; 0 is Width.
	Columns int
}

func (p Page) columns() int {
	if p.Columns > 0 {
		return p.Columns
	}
	return Width
}

// Line writes one line; args may have foreign text, which is made plain.
func (p Page) Line(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Out, format+"\n", p.words(args, " ")...) // a closed terminal is no error
}

// Wrapped writes a text in as many lines as it needs; lines after the first are indented further.
func (p Page) Wrapped(indent, s string) {
	wrapped := text.WrapSoft(p.Plain(s), max(20, p.columns()-len(indent)-2))
	for n, line := range strings.Split(wrapped, "\n") {
		more := ""
		if n > 0 {
			more = "  "
		}
		p.Line("%s", strings.TrimRight(indent+more+line, " "))
	}
}

// Table is borderless, as kubectl's. Its last column gets the rest of the width, and is wrapped. The caller fills
// it and calls Render.
func (p Page) Table(head ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(p.Out)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatUpper
	t.SetStyle(style)
	t.AppendHeader(table.Row(head))
	t.SetAllowedRowLength(p.columns())
	t.SuppressTrailingSpaces()
	r := &rows{Writer: t, page: p}
	r.measure(table.Row(head))
	return r
}

// Tree is a list with branches. The caller fills it and passes it to Branches.
func (p Page) Tree() list.Writer {
	l := list.NewWriter()
	l.SetStyle(list.StyleConnectedLight)
	return l
}

// lonely is the prefix that the library draws before a single root.
const lonely = "── "

// Branches writes a tree, with every line within the width.
func (p Page) Branches(l list.Writer) {
	drawn := l.Render()
	root := strings.HasPrefix(drawn, lonely)
	for line := range strings.Lines(drawn) {
		line = strings.TrimRight(line, "\n ")
		if root {
			line = strings.TrimPrefix(strings.TrimPrefix(line, lonely), "   ")
		}
		p.Line("%s", Short(line, p.columns()))
	}
}

// More writes how many rows were left out.
func (p Page) More(shown, total int) {
	if total > shown {
		p.Line("... and %d more", total-shown)
	}
}

// Age is the time since a moment, "-" if it is zero.
func (p Page) Age(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return view.Span(max(p.Now.Sub(since), 0))
}

// The colours of a word: wrong, in progress, good.
const (
	Bad  = text.FgRed
	Busy = text.FgYellow
	Well = text.FgGreen
)

// Coloured is a word in colour on a page with colour.
func (p Page) Coloured(c text.Color, s string) string {
	if !p.Colour {
		return s
	}
	return c.EscapeSeq() + s + text.Reset.EscapeSeq()
}

// Short cuts a text to a number of characters.
func Short(s string, most int) string {
	if text.StringWidthWithoutEscSequences(s) <= most {
		return s
	}
	return text.Trim(s, most-1) + "…"
}

// Joined joins the texts that are not empty.
func Joined(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}

// Doc draws a document that the Temporal UI shows as Markdown.
func (p Page) Doc(d view.Doc) {
	p.Wrapped("", view.Plain(d.Title))
	for _, note := range d.Notes {
		p.Wrapped("", p.alarm(note))
	}
	name := 0
	for _, f := range d.Facts {
		name = max(name, len(f.Name))
	}
	for _, f := range d.Facts {
		wrapped := text.WrapSoft(p.Plain(view.Plain(f.Value)), max(20, p.columns()-name-2))
		for n, line := range strings.Split(wrapped, "\n") {
			if n > 0 {
				f.Name = ""
			}
			p.Line("%-*s  %s", name, f.Name, strings.TrimRight(line, " "))
		}
	}
	for _, s := range d.Sections {
		p.section(s)
	}
}

func (p Page) section(s view.Section) {
	p.Line("\n%s", view.Plain(s.Heading))
	if s.Intro != "" {
		p.Wrapped("", view.Plain(s.Intro))
	}
	for _, item := range s.Bullets {
		p.Wrapped("  ", view.Plain(item))
	}
	if len(s.Rows) > 0 {
		var head table.Row
		for _, column := range s.Columns {
			head = append(head, column)
		}
		t := p.Table(head...)
		for _, cells := range s.Rows {
			var row table.Row
			for n, cell := range cells {
				cell = p.alarm(cell)
				if n < len(cells)-1 {
					cell = Short(cell, p.columns()/3)
				}
				row = append(row, cell)
			}
			t.AppendRow(row)
		}
		t.Render()
	}
	p.More(0, s.More)
}

// alarm is a text without Markdown, in colour if it needs attention.
func (p Page) alarm(s string) string {
	if s = view.Plain(s); strings.HasPrefix(s, "⚠") {
		return p.Coloured(Bad, s)
	}
	return s
}

// LookUp writes where the reasons of an answer are explained.
func LookUp[W ~string](p Page, where map[W]string) {
	if len(where) == 0 {
		return
	}
	p.Line("\nWhat it means, and what you can do:")
	for _, at := range slices.Sorted(maps.Values(where)) {
		p.Line("  %s", at)
	}
}

// Plain is a text as one line without control characters. Foreign text (reasons, owners of tasks, problems of
// objects) must not move the cursor, set a title, change the direction of writing, or begin a line. Lifeboat's own
// colours stay on a page with colour.
func (p Page) Plain(s string) string { return p.plain(s, " ") }

// Lines is Plain for a text of several lines.
func Lines(s string) string { return Page{}.plain(s, "\n") }

func (p Page) plain(s, newline string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, acts) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		if sequence := p.coloured(s); sequence != "" {
			out.WriteString(sequence)
			s = s[len(sequence):]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch {
		case r == '\n':
			out.WriteString(newline)
		case r == '\t':
			out.WriteByte(' ')
		case !acts(r):
			out.WriteRune(r)
		}
	}
	return out.String()
}

// acts reports whether a character controls the terminal instead of being shown.
func acts(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// coloured is the colour sequence of Lifeboat at the beginning of a text, empty without one.
func (p Page) coloured(s string) string {
	if p.Colour {
		for _, sequence := range []string{Bad.EscapeSeq(), Busy.EscapeSeq(), Well.EscapeSeq(), text.Reset.EscapeSeq()} {
			if strings.HasPrefix(s, sequence) {
				return sequence
			}
		}
	}
	return ""
}

// words makes every text among values plain; newline replaces their line ends.
func (p Page) words(values []any, newline string) []any {
	out := make([]any, len(values))
	for n, value := range values {
		switch x := value.(type) {
		case fmt.Stringer, error:
			out[n] = p.plain(fmt.Sprint(x), newline)
		default:
			out[n] = value
			if of := reflect.ValueOf(value); of.Kind() == reflect.String {
				out[n] = p.plain(of.String(), newline)
			}
		}
	}
	return out
}

// rows is a table with plain cells. A cell may have several lines: they stay in their column.
type rows struct {
	table.Writer
	page   Page
	widths []int // of the widest cell of each column so far
}

// AppendRow implements [table.Writer].
func (r *rows) AppendRow(row table.Row, config ...table.RowConfig) {
	cells := r.page.words(row, "\n")
	r.measure(cells)
	r.Writer.AppendRow(cells, config...)
}

func (r *rows) measure(cells []any) {
	for n, cell := range cells {
		if n == len(r.widths) {
			r.widths = append(r.widths, 0)
		}
		r.widths[n] = max(r.widths[n], text.LongestLineLen(fmt.Sprint(cell)))
	}
}

const (
	between   = 2  // characters between two columns
	narrowest = 12 // of the last column
)

// Render implements [table.Writer].
func (r *rows) Render() string {
	last := len(r.widths) - 1
	left := r.page.columns() - between*(last+1)
	for _, width := range r.widths[:last] {
		left -= width
	}
	if left >= narrowest {
		r.SetColumnConfigs([]table.ColumnConfig{{Number: last + 1, WidthMax: left, WidthMaxEnforcer: text.WrapSoft}})
	}
	return r.Writer.Render()
}
