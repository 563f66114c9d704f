// Package semantics holds docs/semantics.md against the tests.
package semantics

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root = "../.."
	page = root + "/docs/semantics.md"
	// listTitle begins the list of rules that no test names.
	listTitle = "## Rules without a test"
)

var (
	rewrite = flag.Bool("rewrite", false, "take rules that have a test from the list of those without")

	idForm   = regexp.MustCompile(`R4\.[0-9]+-[0-9]+`)
	ruleForm = regexp.MustCompile(`(?m)^- \*\*(R4\.([0-9]+)-([0-9]+))\*\* (.*)$`)
	listForm = regexp.MustCompile(`^- (R4\.[0-9]+-[0-9]+) (not built yet|not tested yet)$`)
)

// TestEveryRuleHasATestAndEveryTestARule matches the ids of docs/semantics.md to
// the tests that name them, both ways.
func TestEveryRuleHasATestAndEveryTestARule(t *testing.T) {
	tests := namedByTests(t)
	if *rewrite {
		write(t, shrink(read(t), tests))
	}
	rules, list, problems := parse(read(t))
	problems = append(problems, compare(rules, list, tests)...)
	for _, p := range problems {
		t.Error(p)
	}
	t.Logf("%d rules: %d with a test, %d on the list of those without", len(rules), len(rules)-len(list), len(list))
}

// TestWhatIsWrongIsFound shows the comparison each thing that it must not let pass.
func TestWhatIsWrongIsFound(t *testing.T) {
	fine := "## 4.1 A\n- **R4.1-1** One.\n- **R4.1-2** Two.\n" + listTitle + "\n- R4.1-2 not built yet\n"
	for name, c := range map[string]struct {
		text  string
		tests map[string][]string
		want  string
	}{
		"nothing":                        {text: fine, tests: map[string][]string{"R4.1-1": {"TestA"}}},
		"a test names no rule":           {text: fine, tests: map[string][]string{"R4.1-1": {"TestA"}, "R4.1-9": {"TestB"}}, want: "TestB names R4.1-9"},
		"a rule has no test":             {text: fine, want: "R4.1-1 has no test"},
		"a rule on the list has a test":  {text: fine, tests: map[string][]string{"R4.1-1": {"TestA"}, "R4.1-2": {"TestB"}}, want: "R4.1-2 is on the list"},
		"the list names no rule":         {text: fine + "- R4.1-3 not tested yet\n", tests: map[string][]string{"R4.1-1": {"TestA"}}, want: "R4.1-3 is on the list, but is no rule"},
		"the list says something else":   {text: fine + "- R4.1-1 later\n", tests: map[string][]string{"R4.1-1": {"TestA"}}, want: "cannot read"},
		"an id stands twice":             {text: "## 4.1 A\n- **R4.1-1** One.\n- **R4.1-1** Two.\n", tests: map[string][]string{"R4.1-1": {"TestA"}}, want: "want R4.1-2"},
		"an id is left out":              {text: "## 4.1 A\n- **R4.1-2** Two.\n", tests: map[string][]string{"R4.1-2": {"TestA"}}, want: "want R4.1-1"},
		"a rule stands in another place": {text: "## 4.2 A\n- **R4.1-1** One.\n", tests: map[string][]string{"R4.1-1": {"TestA"}}, want: "stands in 4.2"},
	} {
		t.Run(name, func(t *testing.T) {
			rules, list, problems := parse(c.text)
			got := strings.Join(append(problems, compare(rules, list, c.tests)...), "\n")
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, c.want)
		})
	}
}

// TestTheListOnlyShrinks shows that -rewrite takes rules with a test from the list,
// leftovers of a merge with them, and nothing else.
func TestTheListOnlyShrinks(t *testing.T) {
	before := "- **R4.1-1** One.\n" + listTitle + "\n\nWords.\n\n- R4.1-1 not tested yet\n<<<<<<< HEAD\n- R4.1-2 not built yet\n=======\n" +
		"- R4.1-2 not built yet\n- R4.1-3 not tested yet\n>>>>>>> other\n"
	after := shrink(before, map[string][]string{"R4.1-1": {"TestA"}})
	require.Equal(t, "- **R4.1-1** One.\n"+listTitle+"\n\nWords.\n\n- R4.1-2 not built yet\n- R4.1-3 not tested yet\n", after)
}

// parse reads the rules in order and the list of those without a test; a problem
// is a line that nobody could rely on.
func parse(text string) (rules []string, list map[string]string, problems []string) {
	list = map[string]string{}
	section, next, listing := "", 1, false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch m := ruleForm.FindStringSubmatch(line); {
		case strings.HasPrefix(line, listTitle):
			listing = true
		case strings.HasPrefix(line, "## "):
			section, next = strings.Fields(line)[1], 1
		case m != nil:
			if want := fmt.Sprintf("R%s-%d", section, next); m[1] != want {
				problems = append(problems, fmt.Sprintf("%s stands in %s: want %s", m[1], section, want))
			}
			if !strings.HasSuffix(m[4], ".") {
				problems = append(problems, m[1]+" is no sentence")
			}
			rules = append(rules, m[1])
			next++
		case listing && strings.HasPrefix(line, "- "):
			if m := listForm.FindStringSubmatch(line); m != nil && list[m[1]] == "" {
				list[m[1]] = m[2]
			} else {
				problems = append(problems, "cannot read or read before: "+line)
			}
		}
	}
	return rules, list, problems
}

// compare holds rules, list and tests against each other.
func compare(rules []string, list map[string]string, tests map[string][]string) (problems []string) {
	for id, names := range tests {
		if !slices.Contains(rules, id) {
			problems = append(problems, fmt.Sprintf("%s names %s, which docs/semantics.md does not have", names[0], id))
		}
	}
	for _, id := range rules {
		switch tested, listed := len(tests[id]) > 0, list[id] != ""; {
		case !tested && !listed:
			problems = append(problems, id+" has no test: name it in one (// Rules: "+id+".), or put it on the list in docs/semantics.md")
		case tested && listed:
			problems = append(problems, fmt.Sprintf("%s is on the list of rules without a test, but %s names it: go test ./tests/semantics -rewrite", id, tests[id][0]))
		}
	}
	for id := range list {
		if !slices.Contains(rules, id) {
			problems = append(problems, id+" is on the list, but is no rule")
		}
	}
	slices.Sort(problems)
	return problems
}

// shrink takes from the list what a test names, what stands twice, and the marks
// that a merge left there.
func shrink(text string, tests map[string][]string) string {
	head, list, _ := strings.Cut(text, listTitle)
	var kept strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(list) {
		m := listForm.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case m != nil && (seen[m[1]] || len(tests[m[1]]) > 0):
			continue
		case m != nil:
			seen[m[1]] = true
		case strings.HasPrefix(line, "<<<<<<<"), strings.HasPrefix(line, "======="), strings.HasPrefix(line, ">>>>>>>"):
			continue
		}
		kept.WriteString(line)
	}
	return head + listTitle + kept.String()
}

func read(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	return string(text)
}

func write(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(page, []byte(text), 0o644))
}
