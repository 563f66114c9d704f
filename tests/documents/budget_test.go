package documents

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxWords bounds the words of all Markdown files but docs/results. A reader has to find a fact in
// one place: who adds a page takes another one away, or raises this number with a reason.
const maxWords = 36_000

// markdown are the files of the repository whose names end in .md, without docs/results.
func markdown(t *testing.T) map[string]string {
	texts := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(root, path)
		require.NoError(t, relErr)
		aside := strings.HasPrefix(entry.Name(), ".") && name != "." || slices.Contains([]string{"bin", "docs/results"}, name) || entry.Name() == "node_modules"
		switch {
		case err != nil:
			return err
		case entry.IsDir() && aside:
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".md"):
			return nil
		}
		raw, err := os.ReadFile(path) //nolint:gosec // of this repository
		texts[name] = string(raw)
		return err
	}))
	require.Greater(t, len(texts), 20, "the documents were found")
	return texts
}

func TestTheDocumentsStayWithinTheirWords(t *testing.T) {
	words := 0
	for _, text := range markdown(t) {
		words += len(strings.Fields(text))
	}
	t.Logf("%d words", words)
	require.LessOrEqual(t, words, maxWords)
}

var (
	linkForm    = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]+)?\)`)
	headingForm = regexp.MustCompile(`(?m)^##+ (.*)$`)
	anchorForm  = regexp.MustCompile(`<a id="(\w+)"></a>`)
	droppedForm = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors are what a link may name in a page, as GitHub names them.
func anchors(text string) []string {
	var all []string
	for _, heading := range headingForm.FindAllStringSubmatch(text, -1) {
		plain := droppedForm.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading[1])), "")
		all = append(all, "#"+strings.ReplaceAll(plain, " ", "-"))
	}
	for _, row := range anchorForm.FindAllStringSubmatch(text, -1) {
		all = append(all, "#"+row[1])
	}
	return all
}

func TestEveryLinkBetweenDocumentsLeadsSomewhere(t *testing.T) {
	for name, text := range markdown(t) {
		if strings.Contains(name, "testdata") {
			continue // pages that Lifeboat renders link to the published runbook
		}
		for _, link := range linkForm.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			there := text
			if link[1] != "" {
				file := filepath.Join(root, filepath.Dir(name), link[1])
				info, err := os.Stat(file)
				require.NoError(t, err, "%s: %s", name, link[0])
				if link[2] == "" || info.IsDir() {
					continue
				}
				raw, err := os.ReadFile(file) //nolint:gosec // of this repository
				require.NoError(t, err)
				there = string(raw)
			}
			require.True(t, link[2] == "" || slices.Contains(anchors(there), link[2]), "%s: %s", name, link[0])
		}
	}
}
