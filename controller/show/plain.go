package show

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Plain is a text as one line that acts on no terminal. Much of what is shown others wrote:
// reasons, owners of tasks, what is wrong with an object. None of it may move the cursor,
// set a title, turn letters around or begin a line of its own. Lifeboat's own colours stay, on a
// page that has them.
func (p Page) Plain(s string) string { return p.plain(s, " ") }

// Lines is Plain for a text that may have several lines.
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

// acts reports whether a character does something instead of being shown.
func acts(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// coloured is the Lifeboat sequence that a text begins with, empty without.
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

// words makes every text among values plain; newline is what becomes of their line ends.
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

// rows is a table whose cells are plain. They may have several lines, for none of them
// leaves its column.
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
