package e2e

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var updateConsole = flag.Bool("update", false, "rewrite the answers in docs/console.md from this run; look at what changed before you commit it")

const consoleFile = "../../docs/console.md"

// maintenance is the taint of a human in the console stories.
const maintenance = "maintenance"

// consoleStories runs the stories of docs/console.md, one after the other, and holds
// every answer against the page.
//
// It guards the page: what an operator reads there is what this version says. And what
// the stories are about: a failure that needs nobody, a wrong failover of which
// everything that was not released is put back, a workload that must never run twice
// moved once a human vouches for its old copy.
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
