package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// actAsLab makes the test binary run as the lab command, so that these tests
// need no lab built beforehand, only its servers.
const actAsLab = "LAB_TEST_ACT_AS_LAB"

func TestMain(m *testing.M) {
	if os.Getenv(actAsLab) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func labCommand(t *testing.T, args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), actAsLab+"=1")
	return cmd
}

// runLab runs one of the short commands and returns what it printed.
func runLab(t *testing.T, args ...string) (stdout, stderr string, err error) {
	cmd := labCommand(t, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

// runningLab is a `lab up -o json` in the foreground of the test.
type runningLab struct {
	cmd   *exec.Cmd
	stdin io.Closer
	dir   string
	said  state
	done  chan error
}

func upArgs(dir string, more ...string) []string {
	return append([]string{"up", "-o", "json", "--dir", dir, "--bin", "../../../../bin", "--members", "2", "--no-ui"}, more...)
}

func startLabUp(t *testing.T, more ...string) *runningLab {
	l := &runningLab{dir: filepath.Join(t.TempDir(), "lab"), done: make(chan error, 1)}
	l.cmd = labCommand(t, upArgs(l.dir, more...)...)
	l.cmd.Stderr = t.Output()
	var err error
	l.stdin, err = l.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := l.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, l.cmd.Start())
	t.Cleanup(func() {
		if err := l.cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
			assert.NoError(t, err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	require.NoError(t, err, "the lab did not start")
	require.NoError(t, json.Unmarshal(line, &l.said))
	go func() { l.done <- l.cmd.Wait() }()
	return l
}

// pids returns the process ids of the lab's servers.
func (l *runningLab) pids(t *testing.T) []int {
	out, _, err := runLab(t, "status", "--dir", l.dir, "-o", "json")
	require.NoError(t, err)
	var s status
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	require.Len(t, s.Servers, 3)
	pids := make([]int, len(s.Servers))
	for i, server := range s.Servers {
		pids[i] = server.PID
	}
	return pids
}

func requireGone(t *testing.T, pids []int) {
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		for _, pid := range pids {
			require.ErrorIs(c, syscall.Kill(pid, 0), syscall.ESRCH, "process %d still runs", pid)
		}
	}, time.Minute, 20*time.Millisecond)
}

func requireNoDir(t *testing.T, dir string) {
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	}, time.Minute, 20*time.Millisecond, "%s is still there", dir)
}

func (l *runningLab) requireEnded(t *testing.T) error {
	t.Helper()
	select {
	case err := <-l.done:
		return err
	case <-time.After(2 * time.Minute):
		t.Fatal("the lab did not end")
		return nil
	}
}

func TestALabSaysWhereEverythingIsAndIsGoneAfterDown(t *testing.T) {
	t.Parallel()
	l := startLabUp(t)
	pids := l.pids(t)
	require.Len(t, l.said.Members, 2)
	require.FileExists(t, l.said.Kubeconfig)
	for _, role := range []string{"controller", "worker", "operator", "viewer", "setup"} {
		require.FileExists(t, l.said.Kubeconfigs[role])
	}
	require.Empty(t, l.said.UIURL)
	out, _, err := runLab(t, "status", "--dir", l.dir)
	require.NoError(t, err)
	require.Contains(t, out, "member2")

	_, stderr, err := runLab(t, upArgs(l.dir)...)
	require.Error(t, err)
	require.Contains(t, stderr, "a lab runs in "+l.dir+" already")

	_, stderr, err = runLab(t, "down", "--dir", l.dir)
	require.NoError(t, err, stderr)
	require.NoError(t, l.requireEnded(t))
	requireGone(t, pids)
	requireNoDir(t, l.dir)
}

func TestMembersAndKnobsOfARunningLabCanBeChanged(t *testing.T) {
	t.Parallel()
	l := startLabUp(t)
	act := func(args ...string) (string, error) {
		_, stderr, err := runLab(t, append(args, "--dir", l.dir)...)
		return stderr, err
	}
	for _, verb := range []string{"kill", "revive"} {
		stderr, err := act(verb, "member1")
		require.NoError(t, err, stderr)
	}
	stderr, err := act("join", "member3", "--region", "south")
	require.NoError(t, err, stderr)
	stderr, err = act("kill", "nobody")
	require.Error(t, err)
	require.Contains(t, stderr, "nobody")

	stderr, err = act("knob", "statusPeriod=3s")
	require.NoError(t, err, stderr)
	stderr, err = act("knob", "noSuchKnob=1")
	require.Error(t, err)
	require.Contains(t, stderr, `no knob is called "noSuchKnob"; there are: `)
	out, _, err := runLab(t, "status", "--dir", l.dir, "-o", "json")
	require.NoError(t, err)
	require.Contains(t, out, `"statusPeriod": "3s"`)
	require.Contains(t, out, `"member3"`)

	require.NoError(t, l.cmd.Process.Signal(os.Interrupt))
	require.NoError(t, l.requireEnded(t))
	requireNoDir(t, l.dir)
}

func TestTheServersDieWithALabThatIsKilledAndItsFolderCanBeUsedAgain(t *testing.T) {
	t.Parallel()
	l := startLabUp(t)
	pids := l.pids(t)
	require.NoError(t, l.cmd.Process.Kill())
	require.Error(t, l.requireEnded(t))
	requireGone(t, pids)
	require.DirExists(t, l.dir)
	f, err := claimFolder(l.dir)
	require.NoError(t, err)
	require.NoError(t, f.remove())
}

func TestALabStopsWhenItsCallerIsGone(t *testing.T) {
	t.Parallel()
	l := startLabUp(t, "--watch-stdin", "--keep")
	require.NoError(t, l.stdin.Close())
	require.NoError(t, l.requireEnded(t))
	require.FileExists(t, filepath.Join(l.dir, logFile), "--keep leaves the logs")
}

func TestALabEndsWithTheReasonWhenAServerDies(t *testing.T) {
	t.Parallel()
	l := startLabUp(t)
	pids := l.pids(t)
	require.NoError(t, syscall.Kill(pids[1], syscall.SIGKILL))
	require.Error(t, l.requireEnded(t))
	requireGone(t, pids)
	log, err := os.ReadFile(filepath.Join(l.dir, logFile))
	require.NoError(t, err)
	require.Contains(t, string(log), "kube-apiserver died (signal: killed)")
	_, stderr, err := runLab(t, "status", "--dir", l.dir)
	require.Error(t, err)
	require.Contains(t, stderr, "does not answer, see "+filepath.Join(l.dir, logFile))
}

func TestADetachedLabRunsOnUntilDown(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lab")
	t.Cleanup(func() {
		_, stderr, err := runLab(t, "down", "--dir", dir)
		assert.NoError(t, err, stderr)
	})
	out, stderr, err := runLab(t, upArgs(dir, "--detach")...)
	require.NoError(t, err, stderr)
	require.Contains(t, stderr, "the lab is ready", "progress is shown")
	l := &runningLab{dir: dir}
	require.NoError(t, json.Unmarshal([]byte(out), &l.said))
	pids := l.pids(t)
	_, stderr, err = runLab(t, "down", "--dir", dir)
	require.NoError(t, err, stderr)
	requireGone(t, append(pids, l.said.PID))
	requireNoDir(t, dir)
}
