package show

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// refresh is how often a screen is drawn anew.
const refresh = 2 * time.Second

// IsTerminal tells whether somebody sits at a stream.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Screen draws the same thing again and again, in place on a terminal, one below the
// other elsewhere.
type Screen struct {
	Out io.Writer
	// Rows is the height of the terminal; 0 asks it.
	Rows int
	// InPlace moves the cursor instead of scrolling.
	InPlace bool
	drawn   bool
}

// NewScreen draws in place where out is a terminal.
func NewScreen(out io.Writer) *Screen { return &Screen{Out: out, InPlace: IsTerminal(out)} }

// What a terminal understands. Lines are overwritten one by one and only what is left
// of them is cleared, so that nothing flickers.
const (
	clearAll   = "\x1b[2J"
	home       = "\x1b[H"
	clearRight = "\x1b[K"
	clearBelow = "\x1b[J"
)

// Draw shows one picture.
func (s *Screen) Draw(picture []byte) error {
	if !s.InPlace {
		_, err := s.Out.Write(picture)
		return err
	}
	var out bytes.Buffer
	if !s.drawn {
		out.WriteString(clearAll)
	}
	s.drawn = true
	out.WriteString(home)
	lines := bytes.Split(bytes.TrimRight(picture, "\n"), []byte("\n"))
	if rows := s.rows(); rows > 1 && len(lines) >= rows {
		hidden := len(lines) - (rows - 2)
		lines = append(lines[:rows-2], fmt.Appendf(nil, "... %d more lines; make the terminal taller", hidden))
	}
	for _, line := range lines {
		out.Write(line)
		out.WriteString(clearRight + "\n")
	}
	out.WriteString(clearBelow)
	_, err := s.Out.Write(out.Bytes())
	return err
}

func (s *Screen) rows() int {
	if s.Rows > 0 {
		return s.Rows
	}
	file, ok := s.Out.(*os.File)
	if !ok {
		return 0
	}
	_, rows, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return rows
}

// Again shows until ctx ends, which is no error: whoever watched has seen enough.
func Again(ctx context.Context, show func(context.Context) error) error {
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	for {
		if err := show(ctx); err != nil {
			if ctx.Err() != nil {
				return nil // stopped by whoever watched
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
