package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/record"
)

// maxLine bounds one line; a longer one is no record.
const maxLine = 4 << 20

// Trail is the content of an audit trail.
type Trail struct {
	// Records are in the order of their time, each once.
	Records []record.Audit
	// Files are those that were read.
	Files []string
	// Newer counts records of a version that this program cannot read.
	Newer int
}

// Read reads a file with its rotated siblings, or all files of a folder. It skips lines that are
// no records, and text before the first brace of a line, so that it can read the collected output
// of a worker. keep selects records; nil keeps all.
func Read(ctx context.Context, path string, keep func(*record.Audit) bool) (Trail, error) {
	files, err := filesOf(path)
	if err != nil {
		return Trail{}, err
	}
	t := Trail{Files: files}
	seen := map[string]bool{}
	for _, name := range files {
		if err := t.read(ctx, name, func(r *record.Audit) bool {
			if seen[r.ID] || keep != nil && !keep(r) {
				return false
			}
			seen[r.ID] = true
			return true
		}); err != nil {
			return t, err
		}
	}
	slices.SortStableFunc(t.Records, func(a, b record.Audit) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Workflow, b.Workflow))
	})
	return t, nil
}

// filesOf are the files of a path, the oldest of one trail first.
func filesOf(path string) ([]string, error) {
	path = strings.ReplaceAll(path, hostMark, "*")
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "*")
	}
	extension := filepath.Ext(path)
	var found []string
	for _, pattern := range []string{
		strings.TrimSuffix(path, extension) + "-*" + extension, path, // as the sink names rotated ones
	} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("read the audit trail %s: %w", path, err)
		}
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("read the audit trail: no file at %s: %w", path, fs.ErrNotExist)
	}
	return found, nil
}

func (t *Trail) read(ctx context.Context, name string, keep func(*record.Audit) bool) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read the audit trail: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	var in io.Reader = file
	if filepath.Ext(name) == ".gz" {
		if in, err = gzip.NewReader(file); err != nil {
			return fmt.Errorf("read the audit trail %s: %w", name, err)
		}
	}
	lines := bufio.NewReaderSize(in, 1<<16)
	for ctx.Err() == nil {
		line, err := longLine(lines)
		t.take(line, keep)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the audit trail %s: %w", name, err)
		}
	}
	return ctx.Err()
}

// longLine is the next line, nil for one that is too long for a record.
func longLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(line) > maxLine {
			line = nil
		}
		return line, err
	}
}

// take adds the record of a line, if the line is one.
func (t *Trail) take(line []byte, keep func(*record.Audit) bool) {
	begin := bytes.IndexByte(line, '{')
	if begin < 0 {
		return
	}
	var r record.Audit
	var version struct {
		APIVersion string `json:"apiVersion"`
	}
	line = line[begin:]
	group, _, _ := strings.Cut(record.Version, "/")
	switch {
	case json.Unmarshal(line, &version) != nil || !strings.HasPrefix(version.APIVersion, group+"/"):
	case version.APIVersion != record.Version:
		t.Newer++
	case json.Unmarshal(line, &r) == nil && r.ID != "" && keep(&r):
		t.Records = append(t.Records, r)
	}
}
