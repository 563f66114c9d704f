package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var updateConsole = flag.Bool("update", false, "rewrite the answers in docs/console.md from this run; look at what changed before you commit it")

const consoleFile = "../../docs/console.md"

// maintenance is the taint of an operator in the console stories.
const maintenance = "maintenance"

// consoleStories runs the stories of docs/console.md, one after the other, and holds
// every answer against the page.
//
// It guards the page: what an operator reads there is what this version says. And what
// the stories are about: a failure that needs nobody, a wrong failover of which
// everything that was not released is put back, a workload that must never run twice
// moved once an operator vouches for its old copy.
//
// Rules: R4.9-35, R4.9-36, R4.8-7.
func consoleStories(s *scene) {
	s.consoleWorld()
	page, err := readConsole(consoleFile)
	require.NoError(s, err)
	require.NotEmpty(s, page.steps)
	answers := map[int]string{}
	for i, step := range page.steps {
		if step.act != "" {
			s.labAct(step)
			continue
		}
		answers[i] = s.console(page, step)
	}
	if *updateConsole {
		require.NoError(s, page.capture(answers))
	}
}

// consoleWorld is what runs before the first story.
func (s *scene) consoleWorld() {
	s.create(taintRule("unreachable", "Ready", 3*time.Second, time.Second, s.all()...))
	one, two, three, four := s.c(1), s.c(2), s.c(3), s.c(4)
	s.deploy("cart", one, 2, oneOf(one, two))
	s.deploy("search", one, 1, oneOf(one, three))
	s.deploy("checkout", three, 2, oneOf(three, four), faultStuckReadyAt+"="+four+"=1")
	s.deploy("reports", three, 1, bearing(oneOf(three, four), maintenance, time.Hour))
	s.run(s.single("ledger", two, oneOf(two, four)))
}

// single is the binding of a StatefulSet of one replica that must never run twice.
func (s *scene) single(name, home string, placement object) *unstructured.Unstructured {
	u := bindingOf("apps/v1", "StatefulSet", s.namespace(), name, placement)
	annotate(u, purgeMode, "Directly")
	specOf(u)["replicas"], specOf(u)["clusters"] = int64(1), []any{object{"name": home, "replicas": int64(1)}}
	return u
}

// labAct is what happens to the fleet between two looks.
func (s *scene) labAct(step consoleStep) {
	verb, about, _ := strings.Cut(step.act, " ")
	switch verb {
	case "kill":
		s.kill(about)
	case "revive":
		s.revive(about)
	case "taint", "untaint":
		s.taintByHand(about, maintenance, "NoExecute", verb == "taint")
	default:
		require.Fail(s, "no such act of the lab", "line %d: %s", step.line, step.act)
	}
}

// looks are the verbs that change nothing: they are asked until the answer is the page's.
var looks = regexp.MustCompile(`^lifeboat (status|explain|history|plan|version)\b`)

// console runs one command, and returns what the page shall say.
func (s *scene) console(page *consolePage, step consoleStep) string {
	want := page.answer(step)
	var got string
	fits := func() bool {
		got = withPlaceholders(s.shell(step.command))
		switch {
		case *updateConsole:
			return step.until == nil || step.until.MatchString(got)
		default:
			return comparableAnswer(got) == comparableAnswer(want)
		}
	}
	if !looks.MatchString(step.command) {
		require.True(s, fits(), "%s:%d: $ %s\nsays:\n%s\nthe page says:\n%s", page.file, step.line, step.command, got, want)
		return got
	}
	s.await("$ "+step.command, func() (bool, string) {
		return fits(), page.file + ", the page says:\n" + want + "\nit said:\n" + got
	})
	return got
}

// shell runs a line as an operator does who has lifeboat in the PATH.
func (s *scene) shell(line string) string {
	folder, err := filepath.Abs(bin)
	require.NoError(s, err)
	cmd := exec.CommandContext(s.ctx, "sh", "-c", line) //nolint:gosec // from a page of this repository
	cmd.Env = append(s.environment(),
		"PATH="+folder+":"+os.Getenv("PATH"), "KUBECONFIG="+s.lab.At.Kubeconfigs["operator"], "USER=jane",
		"LIFEBOAT_MODE=enforce", "LIFEBOAT_UI_URL=https://temporal.example.org",
	)
	cmd.Env = append(cmd.Env, settingsAsVariables()...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(out) + string(exit.Stderr)
	}
	require.NoError(s, err, line)
	return string(out)
}

var hump = regexp.MustCompile(`([a-z])([A-Z])`)

// settingsAsVariables are the stories' settings as the environment has them, without the level of the log.
func settingsAsVariables() (variables []string) {
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		if key != "log.level" {
			name := strings.ToUpper(strings.ReplaceAll(hump.ReplaceAllString(key, "${1}_${2}"), ".", "_"))
			variables = append(variables, "LIFEBOAT_"+name+"="+value)
		}
	}
	return variables
}

// consolePage is a page of the documentation with blocks that are run:
//
//	<!-- lab: kill member1 -->     an act of the lab, told in words beside it
//	<!-- until: member1 .* Evacuated -->   what a look waits for
//	```console
//	$ lifeboat status
//	…                              what it answers, with placeholders
//	```
type consolePage struct {
	file  string
	lines []string
	steps []consoleStep
}

// consoleStep is an act of the lab, or a command and its answer.
type consoleStep struct {
	line    int // of the file, from 1
	act     string
	command string
	until   *regexp.Regexp // nil waits for nothing
	from    int            // its answer is lines[from:to]
	to      int
}

var directive = regexp.MustCompile(`^<!-- (lab|until): (.+) -->$`)

// readConsole finds the blocks of a page.
func readConsole(file string) (*consolePage, error) {
	content, err := os.ReadFile(file) //nolint:gosec // of this repository
	if err != nil {
		return nil, err
	}
	p := &consolePage{file: file, lines: strings.Split(string(content), "\n")}
	var until *regexp.Regexp
	for at := 0; at < len(p.lines); at++ {
		switch said := directive.FindStringSubmatch(p.lines[at]); {
		case said != nil && said[1] == "lab":
			p.steps = append(p.steps, consoleStep{line: at + 1, act: said[2]})
		case said != nil:
			if until, err = regexp.Compile("(?m)" + said[2]); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, at+1, err)
			}
		case p.lines[at] == "```console":
			step, err := p.block(at + 1)
			if err != nil {
				return nil, err
			}
			step.until, until = until, nil
			p.steps = append(p.steps, step)
			at = step.to
		}
	}
	return p, nil
}

// block reads one that begins after its fence.
func (p *consolePage) block(at int) (consoleStep, error) {
	command, is := strings.CutPrefix(p.lines[at], "$ ")
	if !is {
		return consoleStep{}, fmt.Errorf("%s:%d: want a line with a command, as in: $ lifeboat status", p.file, at+1)
	}
	length := slices.Index(p.lines[at:], "```")
	if length < 0 {
		return consoleStep{}, fmt.Errorf("%s:%d: the block has no end", p.file, at+1)
	}
	return consoleStep{line: at + 1, command: command, from: at + 1, to: at + length}, nil
}

func (p *consolePage) answer(s consoleStep) string { return strings.Join(p.lines[s.from:s.to], "\n") }

// capture puts other answers into the page; answers are those of its steps.
func (p *consolePage) capture(answers map[int]string) error {
	var out []string
	at := 0
	for i, s := range p.steps {
		answer, has := answers[i]
		if !has {
			continue
		}
		out = append(out, p.lines[at:s.from]...)
		out = append(out, strings.Split(answer, "\n")...)
		at = s.to
	}
	out = append(out, p.lines[at:]...)
	return os.WriteFile(p.file, []byte(strings.Join(out, "\n")), 0o600)
}

// placeholder is what stands in the page for what differs from run to run.
type placeholder struct {
	of   *regexp.Regexp
	with string
}

// placeholders are those of the page, in the order in which they are put.
var placeholders = []placeholder{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "<date>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d UTC`), "<time> UTC"}, // a moment of another day, as before and after midnight
	{regexp.MustCompile(`\d\d:\d\d:\d\d`), "<time>"},
	{regexp.MustCompile(`(^|[ (])(\d+[dhms]){1,2}\b`), "$1<for>"},
	{regexp.MustCompile(`\(now\)`), "(<for> ago)"},
	{regexp.MustCompile(`, as of <for> ago$`), ""},
	{regexp.MustCompile(`\d+ of \d+ clusters faulty( \([^)]*\))?`), "<n> of <n> clusters faulty"},
	{regexp.MustCompile(`\bpermit \d+\b`), "permit <n>"},
	{regexp.MustCompile(`\bjane@[^ :]+`), "jane@<host>"},
}

// withPlaceholders puts them for what they stand for, and tables in order again.
func withPlaceholders(answer string) string {
	lines := strings.Split(strings.TrimRight(answer, "\n"), "\n")
	for at := 0; at < len(lines); at++ {
		end := at + 1
		if tableHead.MatchString(lines[at]) {
			for end < len(lines) && lines[end] != "" {
				end++
			}
			copy(lines[at:end], redrawn(lines[at:end]))
		} else {
			lines[at] = replaced(lines[at])
		}
		at = end - 1
	}
	return strings.Join(lines, "\n")
}

func replaced(line string) string {
	for _, p := range placeholders {
		line = p.of.ReplaceAllString(line, p.with)
	}
	return line
}

// tableHead is the head of a table: capitals in two columns or more.
var (
	tableHead = regexp.MustCompile(`^[A-Z]+( [A-Z]+)*(  +[A-Z]+( [A-Z]+)*)+$`)
	headCell  = regexp.MustCompile(`[A-Z]+( [A-Z]+)*`)
)

// redrawn is a table with placeholders in its cells, and columns as wide as these need.
func redrawn(table []string) []string {
	starts := headCell.FindAllStringIndex(table[0], -1)
	rows := make([][]string, len(table))
	widths := make([]int, len(starts))
	for r, line := range table {
		runes := []rune(line)
		for c := range starts {
			end := len(runes)
			if c+1 < len(starts) {
				end = min(end, starts[c+1][0])
			}
			cell := replaced(strings.TrimSpace(string(runes[min(starts[c][0], end):end])))
			rows[r], widths[c] = append(rows[r], cell), max(widths[c], len([]rune(cell)))
		}
	}
	out := make([]string, len(table))
	for r, row := range rows {
		var line strings.Builder
		for c, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", widths[c]-len([]rune(cell))+2))
		}
		out[r] = strings.TrimRight(line.String(), " ")
	}
	return out
}

var wide = regexp.MustCompile(`  +`)

// comparableAnswer is an answer without what does not count: the width of columns, the
// order of a table's rows, and where a long line is broken, which is before a line that is
// indented and no branch of its own.
func comparableAnswer(answer string) string {
	lines := strings.Split(strings.TrimRight(answer, "\n"), "\n")
	for at := 0; at < len(lines); at++ {
		if !tableHead.MatchString(lines[at]) {
			continue
		}
		end := at + 1
		for end < len(lines) && lines[end] != "" {
			end++
		}
		copy(lines[at+1:end], sortedRows(lines[at+1:end]))
		at = end
	}
	for at, line := range lines {
		lines[at] = strings.TrimRight(wide.ReplaceAllString(line, "  "), " ")
	}
	return broken.ReplaceAllString(strings.Join(lines, "\n"), " $1")
}

var broken = regexp.MustCompile(`\n[ │]+([^ │├└])`)

// sortedRows keeps the further lines of a row with its first.
func sortedRows(lines []string) []string {
	var rows []string
	for _, line := range lines {
		if strings.HasPrefix(line, " ") && len(rows) > 0 {
			rows[len(rows)-1] += "\n" + line
		} else {
			rows = append(rows, line)
		}
	}
	slices.Sort(rows)
	return strings.Split(strings.Join(rows, "\n"), "\n")
}
