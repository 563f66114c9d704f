package imports

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The version is the name of a tag, which somebody else may have chosen: neither make nor
// the shell runs what stands in it.
func TestAVersionIsATextToMakeAndToTheShell(t *testing.T) {
	folder := t.TempDir()
	supply := filepath.Join(folder, "tests", "supply")
	require.NoError(t, os.MkdirAll(supply, 0o750))
	said := "#!/bin/sh\necho \"supply|$LDFLAGS\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(supply, "supply.sh"), []byte(said), 0o700)) //nolint:gosec // it is to be run
	version := `v1'$(shell touch ` + folder + `/make)$(touch ` + folder + `/shell)"; touch ` + folder + `/more; "`
	const before = "-s -w -X github.com/lifeboat-failover/lifeboat/internal/telemetry.Version="
	for target, want := range map[string]string{
		"build":        "go|build|-ldflags|" + before + version + "|-o|bin/lifeboat|./controller\n",
		"image":        "go|run|.|-root|../..|-version|" + version + "|",
		"reproducible": "supply|" + before + version + "\n",
	} {
		t.Run(target, func(t *testing.T) {
			dry := exec.CommandContext(t.Context(), "make", "-n", target, "VERSION="+version)
			dry.Dir = root
			recipe, err := dry.Output()
			require.NoError(t, err)
			// The shell reads the lines with a version; each command only says how it was called.
			script := `go() { (IFS="|"; echo "go|$*"); }; cd() { :; }` + "\n"
			for line := range strings.Lines(string(recipe)) {
				if strings.Contains(line, "/more") {
					script += line
				}
			}
			shell := exec.CommandContext(t.Context(), "bash", "-c", script)
			shell.Dir = folder
			out, err := shell.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Contains(t, string(out), want)
			for _, ran := range []string{"make", "shell", "more"} {
				require.NoFileExists(t, filepath.Join(folder, ran), "somebody ran it")
			}
		})
	}
}
