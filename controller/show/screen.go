package show

import (
	"context"
	"os"
	"time"

	"golang.org/x/term"
)

// refresh is how often is asked anew.
const refresh = 2 * time.Second

// IsTerminal tells whether somebody sits at a stream.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// clearRight takes away what is left of a line.
const clearRight = "\x1b[K"

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
