package semantics

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// project is whose threads a test is named after, as its name says it.
const project = `(?:Karmada|KubernetesEnhancement|Kubernetes|KCP|Liqo|Ramen|ClusterAPI|OCM|TemporalUI|TemporalWeb|Temporal|PolicyGenerator|AIEdge)`

var (
	threadForm = regexp.MustCompile(`([A-Za-z0-9./-]*)#([0-9]+)`)
	namedForm  = regexp.MustCompile("`([A-Za-z0-9_]+)`")
	// afterThread is a test named after threads: TestKarmada7181And7171…, or of several
	// projects TestKubernetes3885AndKCP556….
	afterThread = regexp.MustCompile(`^Test` + project + `[0-9]+(?:And(?:` + project + `)?[0-9]+)*`)
	numberForm  = regexp.MustCompile(`[0-9]+`)
)

// row is one line of a table of docs/results/threads.md.
type row struct {
	threads []string // "karmada#7455"
	tests   []string
	last    string
}

// TestEveryThreadHasATestOrAReason holds docs/results/threads.md against the tests, both ways.
func TestEveryThreadHasATestOrAReason(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/results/threads.md")
	require.NoError(t, err)
	stories, err := os.ReadFile(root + "/tests/e2e/stories.txt")
	require.NoError(t, err)
	rows := readThreads(string(text))
	require.Greater(t, len(rows), 60, "the tables were read")
	for _, p := range compareThreads(rows, slices.Concat(allTests(t), strings.Fields(string(stories)))) {
		t.Error(p)
	}
}

// TestWhatIsWrongWithThreadsIsFound shows what the comparison must not let pass.
func TestWhatIsWrongWithThreadsIsFound(t *testing.T) {
	tests := []string{"TestKarmada1And2X", "TestOther"}
	const head = "| thread | asked | test |\n|---|---|---|\n"
	for text, want := range map[string]string{
		head + "| karmada#1, #2 | x | `TestKarmada1And2X` |":                                    "",
		head + "| karmada#1, #2 | x | `TestKarmada1And2X` |\n| liqo#1 | x | not answered: y |":  "",
		head + "| karmada#1 | x | `TestKarmada1And2X` |":                                        "TestKarmada1And2X is named after #2",
		head + "| karmada#3 | x | `TestOther` |":                                                "docs/results/threads.md does not name TestKarmada1And2X",
		head + "| karmada#1, #2 | x | `TestKarmada1And2X`, `TestGone` |":                        "there is no TestGone",
		head + "| karmada#1, #2 | x | `TestKarmada1And2X` |\n| karmada#2 | x | `TestOther` |":   "karmada#2 stands twice",
		head + "| karmada#1, #2 | x | `TestKarmada1And2X` |\n| karmada#4 | x | later |":         "neither a test nor a reason",
		head + "| karmada#1, #2 | x | `TestKarmada1And2X` |\n| some thread | x | `TestOther` |": "no thread",
		head + "| karmada#1, #2 | x | `TestKarmada1And2X` |\n| karmada#5 | x | `TestOther` |":   "no test there is named after one of them",
	} {
		got := strings.Join(compareThreads(readThreads(text), tests), "\n")
		if want == "" {
			require.Empty(t, got, text)
			continue
		}
		require.Contains(t, got, want, text)
	}
}

// readThreads reads every row of every table but the heads. A number without a
// repository is of the one before it. Rows of the traps have no thread.
func readThreads(text string) []row {
	var rows []row
	_, text, _ = strings.Cut(text, "\n|")
	for line := range strings.Lines("|" + text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		first := strings.TrimSpace(cells[0])
		if !strings.HasPrefix(line, "|") || first == "thread" || first == "trap" || strings.HasPrefix(first, "---") {
			continue
		}
		r := row{last: strings.TrimSpace(cells[len(cells)-1])}
		repository := ""
		for _, m := range threadForm.FindAllStringSubmatch(first, -1) {
			if m[1] != "" {
				repository = m[1]
			}
			r.threads = append(r.threads, repository+"#"+m[2])
		}
		if len(r.threads) == 0 && len(cells) == 2 {
			r.threads = []string{"trap"}
		}
		for _, m := range namedForm.FindAllStringSubmatch(r.last, -1) {
			r.tests = append(r.tests, m[1])
		}
		rows = append(rows, r)
	}
	return rows
}

func compareThreads(rows []row, tests []string) (problems []string) {
	seen, listed := map[string]bool{}, map[string][]string{}
	for _, r := range rows {
		problems = append(problems, compareRow(r, tests)...)
		for _, thread := range r.threads {
			if seen[thread] && thread != "trap" {
				problems = append(problems, thread+" stands twice")
			}
			seen[thread] = true
		}
		for _, name := range r.tests {
			listed[name] = append(listed[name], r.threads...)
		}
	}
	for _, name := range tests {
		problems = append(problems, compareName(name, listed[name])...)
	}
	slices.Sort(problems)
	return problems
}

// compareRow: a row names threads, and tests that exist or a reason.
func compareRow(r row, tests []string) (problems []string) {
	if len(r.threads) == 0 || strings.HasPrefix(r.threads[0], "#") {
		problems = append(problems, "a row names no thread: "+r.last)
	}
	reason, why := strings.CutPrefix(r.last, "not answered: ")
	if len(r.tests) == 0 && (!why || reason == "") {
		problems = append(problems, fmt.Sprintf("%s: neither a test nor a reason", r.threads))
	}
	if named := func(name string) bool { return bearsOne(name, r.threads) }; !why && !slices.Contains(r.threads, "trap") && !slices.ContainsFunc(r.tests, named) {
		problems = append(problems, fmt.Sprintf("%s: no test there is named after one of them", r.threads))
	}
	for _, name := range r.tests {
		if !slices.Contains(tests, name) {
			problems = append(problems, fmt.Sprintf("%s: there is no %s", r.threads, name))
		}
	}
	return problems
}

// compareName holds a test that is named after threads against the rows that name it.
func compareName(name string, threads []string) (problems []string) {
	numbers := numbersOf(name)
	if len(numbers) > 0 && len(threads) == 0 {
		return []string{"docs/results/threads.md does not name " + name + ": give its thread a row"}
	}
	for _, number := range numbers {
		if !slices.ContainsFunc(threads, func(thread string) bool { return strings.HasSuffix(thread, "#"+number) }) {
			problems = append(problems, fmt.Sprintf("%s is named after #%s, but stands with %s only", name, number, threads))
		}
	}
	return problems
}

// numbersOf are those of the threads that a test is named after.
func numbersOf(name string) []string {
	return numberForm.FindAllString(afterThread.FindString(name), -1)
}

// bearsOne tells whether a test is named after one of the threads.
func bearsOne(name string, threads []string) bool {
	return slices.ContainsFunc(numbersOf(name), func(number string) bool {
		return slices.ContainsFunc(threads, func(thread string) bool { return strings.HasSuffix(thread, "#"+number) })
	})
}

// allTests are the names of all tests that go runs, those of the lab too.
func allTests(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, name := range testFiles(t) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && isTest(f) {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
