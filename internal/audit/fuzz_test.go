package audit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/stretchr/testify/require"
)

// FuzzRead: whatever stands in a file, its records are read and nothing else, each once.
func FuzzRead(f *testing.F) {
	entry := `{"apiVersion":"` + record.Version + `","id":"a/1","time":"2026-01-01T00:00:00Z","kind":"x"}`
	for _, content := range []string{
		entry, entry + "\n" + entry, "2026-01-01 out: " + entry + "\n\n{", `{"apiVersion":"` + record.Version + `x","id":"b"}`,
		`{"apiVersion":"` + record.Version + `","id":""}`, "", "{}\n[]\nnull\n7", `{"apiVersion":"` + record.Version + `","id":"a","bindings":7}`,
	} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "trail.jsonl")
		require.NoError(t, os.WriteFile(file, content, 0o600))
		trail, err := Read(t.Context(), file, nil)
		require.NoError(t, err)
		seen := map[string]bool{}
		for n, r := range trail.Records {
			require.NotEmpty(t, r.ID)
			require.False(t, seen[r.ID], "%s is there twice", r.ID)
			seen[r.ID] = true
			require.True(t, n == 0 || !r.Time.Before(trail.Records[n-1].Time))
		}
	})
}
