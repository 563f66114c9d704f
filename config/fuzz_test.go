package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzConfig: whatever a file says, it is a whole configuration that can be printed and
// read back, or an error.
func FuzzConfig(f *testing.F) {
	var defaults strings.Builder
	require.NoError(f, Default().PrintYAML(&defaults))
	for _, content := range []string{defaults.String(), "", "a: [", "mode: enforce\n", "pace:\n  evictionRate: 1/s\n", "modes:\n  enforce: m1\n", "- x", "1: {2: 3}"} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		file := filepath.Join(t.TempDir(), "lifeboat.yaml")
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		c, err := Load(Sources{File: file})
		if err != nil {
			return
		}
		var printed strings.Builder
		require.NoError(t, c.PrintYAML(&printed))
		again, err := Load(Sources{File: write(t, printed.String())})
		require.NoError(t, err, printed.String())
		require.Equal(t, c.Tree(), again.Tree())
	})
}
