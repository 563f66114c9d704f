// Package semantics holds docs/semantics.md against the tests.
package semantics

import (
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
)

var (
	idForm   = regexp.MustCompile(`R4\.[0-9]+-[0-9]+`)
	ruleForm = regexp.MustCompile(`(?m)^- \*\*(R4\.([0-9]+)-([0-9]+))\*\* (.*)$`)
)

// TestEveryRuleHasATestAndEveryTestARule matches the ids of docs/semantics.md to
// the tests that name them, both ways.
func TestEveryRuleHasATestAndEveryTestARule(t *testing.T) {
	tests := namedByTests(t)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	rules, problems := parse(string(text))
	problems = append(problems, compare(rules, tests)...)
	for _, p := range problems {
		t.Error(p)
	}
	t.Logf("%d rules", len(rules))
}

// TestWhatIsWrongIsFound shows the comparison each thing that it must not let pass.
func TestWhatIsWrongIsFound(t *testing.T) {
	fine := "## 4.1 A\n- **R4.1-1** One.\n"
	for name, c := range map[string]struct {
		text  string
		tests map[string][]string
		want  string
	}{
		"nothing":                        {text: fine, tests: map[string][]string{"R4.1-1": {"TestA"}}},
		"a test names no rule":           {text: fine, tests: map[string][]string{"R4.1-1": {"TestA"}, "R4.1-9": {"TestB"}}, want: "TestB names R4.1-9"},
		"a rule has no test":             {text: fine, want: "R4.1-1 has no test"},
		"an id stands twice":             {text: "## 4.1 A\n- **R4.1-1** One.\n- **R4.1-1** Two.\n", tests: map[string][]string{"R4.1-1": {"TestA"}}, want: "want R4.1-2"},
		"an id is left out":              {text: "## 4.1 A\n- **R4.1-2** Two.\n", tests: map[string][]string{"R4.1-2": {"TestA"}}, want: "want R4.1-1"},
		"a rule stands in another place": {text: "## 4.2 A\n- **R4.1-1** One.\n", tests: map[string][]string{"R4.1-1": {"TestA"}}, want: "stands in 4.2"},
	} {
		t.Run(name, func(t *testing.T) {
			rules, problems := parse(c.text)
			got := strings.Join(append(problems, compare(rules, c.tests)...), "\n")
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, c.want)
		})
	}
}

// parse reads the rules in order; a problem is a line that cannot be relied on.
func parse(text string) (rules, problems []string) {
	section, next := "", 1
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch m := ruleForm.FindStringSubmatch(line); {
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
		}
	}
	return rules, problems
}

// compare holds rules and tests against each other.
func compare(rules []string, tests map[string][]string) (problems []string) {
	for id, names := range tests {
		if !slices.Contains(rules, id) {
			problems = append(problems, fmt.Sprintf("%s names %s, which docs/semantics.md does not have", names[0], id))
		}
	}
	for _, id := range rules {
		if len(tests[id]) == 0 {
			problems = append(problems, id+" has no test: name it in one (// Rules: "+id+".)")
		}
	}
	slices.Sort(problems)
	return problems
}
