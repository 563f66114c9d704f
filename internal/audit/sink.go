package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/record"
	"gopkg.in/natefinch/lumberjack.v2"
)

// Lines appends records to a stream, one line of JSON each.
type Lines struct {
	turn chan struct{} // a writer puts one value in, and takes it out afterwards
	out  io.Writer
	torn bool // the last write may have left half a line
}

// NewLines writes to a stream that the caller opens and closes.
func NewLines(out io.Writer) *Lines { return &Lines{out: out, turn: make(chan struct{}, 1)} }

// Append writes records in one write. After an error some of them may be written; a retry writes
// those twice, and readers drop repeated IDs. A blocked stream holds one write, and each caller
// no longer than its context.
func (l *Lines) Append(ctx context.Context, records []record.Audit) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("append to the audit trail: an earlier write does not come to an end: %w", ctx.Err())
	}
	text, err := l.lines(records)
	if err != nil {
		<-l.turn
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, err := l.out.Write(text)
		l.torn = err != nil
		<-l.turn
		done <- err
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("append to the audit trail: %w", err)
	}
	return nil
}

// lines are the encoded records, one line each.
func (l *Lines) lines(records []record.Audit) ([]byte, error) {
	var text bytes.Buffer
	if l.torn {
		text.WriteByte('\n')
	}
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for n := range records {
		if err := encoder.Encode(&records[n]); err != nil {
			return nil, fmt.Errorf("encode audit record %s: %w", records[n].ID, err)
		}
	}
	return text.Bytes(), nil
}

// File is a file that is rotated by size.
type File struct {
	// Path may contain "{host}", the name of this machine or pod, so that several workers can
	// share a folder.
	Path string
	// MaxSizeMB is the size at which it is rotated; MaxBackups is how many rotated ones are
	// kept, 0 for all.
	MaxSizeMB, MaxBackups int
}

// hostMark is replaced by the host in a file's path.
const hostMark = "{host}"

// Open opens the sink; the caller closes it. The error says that the file cannot be written now:
// the sink is still usable, and retries with every batch.
func (f File) Open(host string) (*Lines, io.Closer, error) {
	path := strings.ReplaceAll(f.Path, hostMark, host)
	out := &lumberjack.Logger{Filename: path, MaxSize: f.MaxSizeMB, MaxBackups: f.MaxBackups}
	lines := NewLines(out)
	torn, err := probe(path)
	lines.torn = err != nil || torn // a worker that was killed may have left half a line
	return lines, out, err
}

// probe checks that a file can be written, and reports whether its last line is incomplete.
func probe(path string) (torn bool, err error) {
	defer func() {
		if err != nil {
			torn, err = false, fmt.Errorf("open the audit trail: %w", err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return false, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return false, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		_, err = file.ReadAt(last, info.Size()-1)
		torn = last[0] != '\n'
	}
	return torn, errors.Join(err, file.Close())
}
