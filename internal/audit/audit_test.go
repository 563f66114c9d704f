package audit_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/audit"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

var at = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

func numbered(n int) record.Audit {
	return record.Audit{
		APIVersion: record.Version, ID: fmt.Sprintf("e/%d", n), Time: at.Add(time.Duration(n) * time.Second),
		Kind: record.AuditBindingOutcome, Cluster: "m1", Bindings: []string{fmt.Sprintf("shop/app%d", n)}, Message: "a <b> & c",
	}
}

func TestWhatWasAppendedIsReadBack(t *testing.T) {
	file := audit.File{Path: filepath.Join(t.TempDir(), "new", "audit-{host}.jsonl"), MaxSizeMB: 1}
	for _, host := range []string{"one", "two"} {
		lines, out, err := file.Open(host)
		require.NoError(t, err)
		require.NoError(t, lines.Append(t.Context(), []record.Audit{numbered(2), numbered(1)}))
		require.NoError(t, lines.Append(t.Context(), []record.Audit{numbered(len(host) + 1)}))
		require.NoError(t, out.Close())
	}
	for name, path := range map[string]string{"the folder": filepath.Dir(file.Path), "the configured path": file.Path} {
		trail, err := audit.Read(t.Context(), path, nil)
		require.NoError(t, err, name)
		require.Len(t, trail.Files, 2, name)
		require.Equal(t, []record.Audit{numbered(1), numbered(2), numbered(4)}, trail.Records, "%s: by time, each once", name)
	}
	trail := fixtures.Must(audit.Read(t.Context(), file.Path, func(r *record.Audit) bool { return r.ID == "e/2" }))(t)
	require.Equal(t, []record.Audit{numbered(2)}, trail.Records)
}

// Seen: a blank line wherever a worker had started.
func TestAWorkerThatStartsEndsATornLineAndWritesNoBlankOne(t *testing.T) {
	whole := `{"apiVersion":"audit.lifeboat.dev/v1","id":"e/0","time":"2026-03-01T02:00:00Z"}` + "\n"
	for _, c := range []struct{ name, before, want string }{
		{name: "no file", before: "", want: ""},
		{name: "whole lines", before: whole, want: whole},
		{name: "half a line", before: whole + `{"apiVer`, want: whole + `{"apiVer` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			if c.before != "" {
				require.NoError(t, os.WriteFile(path, []byte(c.before), 0o600))
			}
			lines, out, err := audit.File{Path: path, MaxSizeMB: 1}.Open("one")
			require.NoError(t, err)
			require.NoError(t, lines.Append(t.Context(), []record.Audit{numbered(1)}))
			require.NoError(t, out.Close())
			now := fixtures.Must(os.ReadFile(path))(t)
			require.True(t, strings.HasPrefix(string(now), c.want+"{"), string(now))
		})
	}
}

func TestRotatedFilesAreReadWithTheNewest(t *testing.T) {
	file := audit.File{Path: filepath.Join(t.TempDir(), "audit.jsonl"), MaxSizeMB: 1}
	lines, out, err := file.Open("one")
	require.NoError(t, err)
	long := numbered(0)
	long.Message = strings.Repeat("x", 400_000)
	for n := range 5 {
		long.ID = fmt.Sprintf("long/%d", n)
		require.NoError(t, lines.Append(t.Context(), []record.Audit{long}))
	}
	require.NoError(t, out.Close())
	trail := fixtures.Must(audit.Read(t.Context(), file.Path, nil))(t)
	require.Greater(t, len(trail.Files), 1, "it was rotated")
	require.Len(t, trail.Records, 5)
}

func TestLinesThatAreNoRecordsArePassedOver(t *testing.T) {
	dir := t.TempDir()
	lines := `time=2026-03-01 level=INFO msg="working {so far}"
{"level":"INFO"}
[1,2]
2026-03-01T03:00:00Z stdout F {"apiVersion":"audit.lifeboat.dev/v1","id":"e/1","kind":"BindingOutcome","time":"2026-03-01T03:00:00Z","later":true}
{"apiVersion":"audit.lifeboat.dev/v2","id":"e/2"}
{"apiVersion":"audit.lifeboat.dev/v1","kind":"BindingOutcome"}
{"apiVersion":"audit.lifeboat.dev/v1","id":"e/3","bindings":{}}
` + strings.Repeat("z", 5<<20) + `
{"apiVersion":"audit.lifeboat.dev/v1","id":"e/4","time":"2026-03-01T04:00:00Z"}
{"apiVersion":"audit.lifeboat.dev/v1","id":"e/5","ti`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pod.log"), []byte(lines), 0o600))
	packed := fixtures.Must(os.Create(filepath.Join(dir, "pod.log.1.gz")))(t)
	z := gzip.NewWriter(packed)
	_, err := z.Write([]byte(`{"apiVersion":"audit.lifeboat.dev/v1","id":"e/0","time":"2026-03-01T02:00:00Z"}`))
	require.NoError(t, errors.Join(err, z.Close(), packed.Close()))

	trail := fixtures.Must(audit.Read(t.Context(), dir, nil))(t)
	var ids []string
	for _, r := range trail.Records {
		ids = append(ids, r.ID)
	}
	require.Equal(t, []string{"e/0", "e/1", "e/4"}, ids)
	require.Equal(t, 1, trail.Newer)
	require.ErrorIs(t, fixtures.Err(audit.Read(t.Context(), filepath.Join(dir, "nothing"), nil)), os.ErrNotExist)
}

// half writes a part of what it is given, once, and fails.
type half struct {
	strings.Builder
	failed bool
}

func (h *half) Write(b []byte) (int, error) {
	if h.failed {
		return h.Builder.Write(b)
	}
	h.failed = true
	n, _ := h.Builder.Write(b[:len(b)/2])
	return n, errors.New("no space left on device")
}

func TestATornLineCostsNoOther(t *testing.T) {
	var out half
	lines := audit.NewLines(&out)
	require.Error(t, lines.Append(t.Context(), []record.Audit{numbered(1)}))
	require.NoError(t, lines.Append(t.Context(), []record.Audit{numbered(1)}))
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o600))
	require.Equal(t, []record.Audit{numbered(1)}, fixtures.Must(audit.Read(t.Context(), path, nil))(t).Records)
}

func TestAFileThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "taken"), nil, 0o600))
	lines, out, err := audit.File{Path: filepath.Join(dir, "taken", "audit.jsonl"), MaxSizeMB: 1}.Open("one")
	require.Error(t, err)
	require.Error(t, lines.Append(t.Context(), []record.Audit{numbered(1)}))
	require.NoError(t, os.Remove(filepath.Join(dir, "taken")))
	require.NoError(t, lines.Append(t.Context(), []record.Audit{numbered(1)}))
	require.NoError(t, out.Close())
	require.Len(t, fixtures.Must(audit.Read(t.Context(), dir+"/taken", nil))(t).Records, 1)
}

func TestAReadThatIsCalledOffEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, fixtures.Err(audit.Read(ctx, path, nil)), context.Canceled)
}

// stuck is a stream that takes nothing until it is let go.
type stuck struct {
	written chan []byte
	free    chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	<-s.free
	s.written <- p
	return len(p), nil
}

// Whoever reads the worker's output, or keeps its files, may stand still. That holds back
// records, and nobody who hands them in: each takes a place among the worker's activities.
func TestASinkThatTakesNothingHoldsNobodyUp(t *testing.T) {
	out := stuck{written: make(chan []byte, 9), free: make(chan struct{})}
	lines := audit.NewLines(out)
	for n := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		err := lines.Append(ctx, []record.Audit{numbered(n)})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	close(out.free)
	require.NoError(t, lines.Append(t.Context(), []record.Audit{numbered(1)}))
	require.Contains(t, string(<-out.written), "shop/app0", "the write that waited")
	require.Contains(t, string(<-out.written), "shop/app1")
	require.Empty(t, out.written, "the others had given up")
}

// section is the first column of the table below a heading of docs/audit.md.
func section(t *testing.T, heading string) []string {
	t.Helper()
	_, after, found := strings.Cut(string(fixtures.Must(os.ReadFile("../../docs/audit.md"))(t)), "\n## "+heading+"\n")
	require.True(t, found, heading)
	after, _, _ = strings.Cut(after, "\n## ")
	var first []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(after, -1) {
		first = append(first, m[1])
	}
	return first
}

// The page and the code name the same fields and kinds, in the same order, under the
// same version.
//
// Rules: R4.16-3.
func TestTheSchemaIsTheOneThatIsDocumented(t *testing.T) {
	var fields []string
	entry := reflect.TypeFor[record.Audit]()
	for n := range entry.NumField() {
		name, _, _ := strings.Cut(entry.Field(n).Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	require.Equal(t, fields, section(t, "Fields"))
	var kinds []string
	source := fixtures.Must(os.ReadFile("../record/audit.go"))(t)
	for _, m := range regexp.MustCompile(`(?m)^\tAudit\w+ +Kind = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		kinds = append(kinds, m[1])
	}
	require.Equal(t, kinds, section(t, "Kinds"))
	require.Contains(t, string(fixtures.Must(os.ReadFile("../../docs/audit.md"))(t)), "`"+record.Version+"`")
}
