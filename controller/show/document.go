package show

import (
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/lifeboat-failover/lifeboat/internal/view"
)

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

// alarm is a text without its Markdown, in colour where it asks for somebody.
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
