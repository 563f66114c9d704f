package show

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/list"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/lifeboat-failover/lifeboat/internal/view"
)

// Width is what every line stays within, in characters.
const Width = 120

// Page is text for a person.
type Page struct {
	Out io.Writer
	// Now is what ages are counted to.
	Now time.Time
	// Colour is for terminals only.
	Colour bool
	// Columns is how wide it may be; 0 is Width.
	Columns int
}

func (p Page) columns() int {
	if p.Columns > 0 {
		return p.Columns
	}
	return Width
}

// Line writes one line; what of it others wrote is in args, and made plain.
func (p Page) Line(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Out, format+"\n", p.words(args, " ")...) // a closed terminal is no error
}

// Wrapped writes a text in as many lines as it takes; those after the first are indented further.
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

// Table is borderless, as kubectl's. Its last column takes what the others leave of the width, and is
// broken into lines. The caller fills it and calls Render.
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

// Tree is a list with branches. The caller fills it and hands it to Branches.
func (p Page) Tree() list.Writer {
	l := list.NewWriter()
	l.SetStyle(list.StyleConnectedLight)
	return l
}

// lonely is what the library draws before a root that stands alone, and before what
// hangs below it.
const lonely = "── "

// Branches writes a tree, every line within the width. A single root begins its line.
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

// More says how many rows were left out of a table that shows some.
func (p Page) More(shown, total int) {
	if total > shown {
		p.Line("... and %d more", total-shown)
	}
}

// Age is how long ago something began, "-" when it never did.
func (p Page) Age(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return view.Span(max(p.Now.Sub(since), 0))
}

// The colours of a word: what is wrong, what is on its way, what is well.
const (
	Bad  = text.FgRed
	Busy = text.FgYellow
	Well = text.FgGreen
)

// Coloured is a word in colour where there is colour.
func (p Page) Coloured(c text.Color, s string) string {
	if !p.Colour {
		return s
	}
	return c.EscapeSeq() + s + text.Reset.EscapeSeq()
}

// Short cuts a text to what fits, in characters.
func Short(s string, most int) string {
	if text.StringWidthWithoutEscSequences(s) <= most {
		return s
	}
	return text.Trim(s, most-1) + "…"
}

// Doc draws what the Temporal UI shows as Markdown.
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
	if s.More > 0 {
		p.Line("... and %d more", s.More)
	}
}

// alarm is a text without its Markdown, in colour where it needs attention.
func (p Page) alarm(s string) string {
	if s = view.Plain(s); strings.HasPrefix(s, "⚠") {
		return p.Coloured(Bad, s)
	}
	return s
}

// LookUp writes where the words of an answer are explained, nothing without any. Each
// address names its word.
func LookUp[W ~string](p Page, where map[W]string) {
	if len(where) == 0 {
		return
	}
	p.Line("\nWhat it means, and what you can do:")
	for _, at := range slices.Sorted(maps.Values(where)) {
		p.Line("  %s", at)
	}
}
