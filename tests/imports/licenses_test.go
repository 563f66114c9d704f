package imports

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every module that the binaries link stands in docs/licenses.csv, and no other does:
// `make licenses` writes it anew.
func TestEveryModuleOfTheBinariesIsListedWithItsLicence(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./controller", "./worker")
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	modules := slices.DeleteFunc(strings.Fields(string(out)), func(m string) bool { return m == module })
	file, err := os.Open(filepath.Join(root, "docs", "licenses.csv"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	r := csv.NewReader(file)
	r.Comment = '#'
	parts, err := r.ReadAll()
	require.NoError(t, err)
	within := func(part, module string) bool { return part == module || strings.HasPrefix(part, module+"/") }
	for _, p := range parts {
		require.NotEmpty(t, p[1], p[0])
		require.True(t, slices.ContainsFunc(modules, func(m string) bool { return within(p[0], m) }), "%s is linked no more: make licenses", p[0])
	}
	for _, m := range modules {
		require.True(t, slices.ContainsFunc(parts, func(p []string) bool { return within(p[0], m) }), "%s is not listed: make licenses", m)
	}
}
