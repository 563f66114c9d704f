package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// Colours, as ANSI attributes.
const (
	plain  = ""
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
	cyan   = "36"
)

// quietProgress is how often progress is told where it cannot be overwritten.
const quietProgress = 5 * time.Second

// screen prints the story line by line, below it one line of progress that is overwritten.
type screen struct {
	out      io.Writer
	colour   bool
	terminal bool
	began    time.Time
	progress string
	told     time.Time
	lines    []line
}

// line is a line of the story that waits for earlier ones: what the ledger saw and what Lifeboat says
// come on ways of different length.
type line struct {
	at   time.Time
	text string
}

// reorder is how long a line waits.
const reorder = 1300 * time.Millisecond

func newScreen(out *os.File, colour string) *screen {
	terminal := term.IsTerminal(int(out.Fd()))
	return &screen{
		out: out, terminal: terminal, began: time.Now(), told: time.Now(),
		colour: colour == "always" || (colour == "auto" && terminal && os.Getenv("NO_COLOR") == ""),
	}
}

// in gives a text an attribute, on screens that show it.
func (s *screen) in(attribute, text string) string {
	if !s.colour || attribute == plain || text == "" {
		return text
	}
	return "\x1b[" + attribute + "m" + text + "\x1b[0m"
}

// print writes lines above the progress.
func (s *screen) print(text string) {
	if s.terminal && s.progress != "" {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
	fmt.Fprintln(s.out, text)
	if s.terminal && s.progress != "" {
		fmt.Fprint(s.out, s.clip(s.progress))
	}
}

// tell has one line of the story printed in its place, with the time since the beginning.
func (s *screen) tell(at time.Time, glyph, attribute, text string) {
	elapsed := at.Sub(s.began)
	minutes := int(elapsed.Minutes())
	stamp := fmt.Sprintf("%2d:%04.1f", minutes, elapsed.Seconds()-float64(60*minutes))
	s.lines = append(s.lines, line{at, s.in(dim, stamp) + "  " + s.in(attribute, glyph) + " " + text})
}

// flush prints the lines that have waited long enough.
func (s *screen) flush(now time.Time) {
	slices.SortStableFunc(s.lines, func(a, b line) int { return a.at.Compare(b.at) })
	for len(s.lines) > 0 && now.Sub(s.lines[0].at) >= reorder {
		s.print(s.lines[0].text)
		s.lines = s.lines[1:]
	}
}

// flushAll prints the lines that still wait.
func (s *screen) flushAll() { s.flush(time.Now().Add(reorder + time.Hour)) }

// heading begins a part of the story.
func (s *screen) heading(text string) {
	s.flushAll()
	s.setProgress("")
	s.print("\n" + s.in(bold, text) + "\n" + s.in(dim, strings.Repeat("─", min(100, len([]rune(text))))))
}

// setProgress replaces the line of progress; empty takes it away. Where nothing can be overwritten it
// is told now and then, in its place.
func (s *screen) setProgress(text string) {
	if s.terminal {
		if s.progress != text {
			s.progress = text
			fmt.Fprint(s.out, "\r\x1b[K"+s.clip(text))
		}
		return
	}
	if text != "" && text != s.progress && time.Since(s.told) >= quietProgress {
		s.progress, s.told = text, time.Now()
		s.lines = append(s.lines, line{s.told, "         " + text})
	}
}

// clip keeps the line of progress on one line: a wrapped one cannot be taken back.
func (s *screen) clip(text string) string {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || width < 20 {
		width = 100
	}
	visible, escape := 0, false
	for i, r := range text {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			if visible++; visible >= width {
				return text[:i] + "\x1b[0m"
			}
		}
	}
	return text
}

// bar draws how much is done.
func bar(done, all, width int) string {
	filled := 0
	if all > 0 {
		filled = min(width, done*width/all)
	}
	return strings.Repeat("█", filled) + strings.Repeat("░", width-filled)
}
