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
	turn chan struct{} // who has taken it may write
	out  io.Writer
	torn bool // the last write may have left half a line
}

// NewLines writes to a stream that somebody else opened and closes.
func NewLines(out io.Writer) *Lines { return &Lines{out: out, turn: make(chan struct{}, 1)} }

// Append writes records in one go. After an error some of them may be written: whoever
// tries again writes those twice, and readers know them by their ID. A stream that takes
// nothing keeps one write waiting, and its callers no longer than their context.
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

// lines are the records as they are written, on a line of their own each.
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
	// Path is where it is; "{host}" in it stands for the name of this machine or pod, so
	// that several workers can share a folder.
	Path string
	// MaxSizeMB is from which size on it is rotated; MaxBackups is how many rotated ones
	// are kept, 0 for all.
	MaxSizeMB, MaxBackups int
}

// hostMark stands for the host in a file's path.
const hostMark = "{host}"

// Open is the sink. Its error says that the file cannot be written now; the sink tries
// again with every batch, and may be used all the same. Whoever opens closes.
func (f File) Open(host string) (*Lines, io.Closer, error) {
	path := strings.ReplaceAll(f.Path, hostMark, host)
	out := &lumberjack.Logger{Filename: path, MaxSize: f.MaxSizeMB, MaxBackups: f.MaxBackups}
	lines := NewLines(out)
	torn, err := probe(path)
	lines.torn = err != nil || torn // a worker that was killed may have left half a line
	return lines, out, err
}

// probe makes sure that a file can be written, and tells whether its last line is half a line.
func probe(path string) (torn bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return false, fmt.Errorf("open the audit trail: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return false, fmt.Errorf("open the audit trail: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		_, err = file.ReadAt(last, info.Size()-1)
		torn = last[0] != '\n'
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return false, fmt.Errorf("open the audit trail: %w", err)
	}
	return torn, nil
}
