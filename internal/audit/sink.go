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
	"sync"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	"gopkg.in/natefinch/lumberjack.v2"
)

// Lines appends records to a stream, one line of JSON each.
type Lines struct {
	mu   sync.Mutex
	out  io.Writer
	torn bool // the last write may have left half a line
}

// NewLines writes to a stream that somebody else opened and closes.
func NewLines(out io.Writer) *Lines { return &Lines{out: out} }

// Append writes records in one go. After an error some of them may be written: whoever
// tries again writes those twice, and readers know them by their ID.
func (l *Lines) Append(_ context.Context, records []failover.AuditRecord) error {
	var text bytes.Buffer
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.torn {
		text.WriteByte('\n')
	}
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for n := range records {
		if err := encoder.Encode(&records[n]); err != nil {
			return fmt.Errorf("encode audit record %s: %w", records[n].ID, err)
		}
	}
	_, err := l.out.Write(text.Bytes())
	if l.torn = err != nil; err != nil {
		return fmt.Errorf("append to the audit trail: %w", err)
	}
	return nil
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
	size, err := probe(path)
	lines.torn = err != nil || size > 0 // a worker that was killed may have left half a line
	return lines, out, err
}

// probe makes sure that a file can be written, and tells its size.
func probe(path string) (int64, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return 0, fmt.Errorf("open the audit trail: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open the audit trail: %w", err)
	}
	info, err := file.Stat()
	if err = errors.Join(err, file.Close()); err != nil {
		return 0, fmt.Errorf("open the audit trail: %w", err)
	}
	return info.Size(), nil
}
