package deploy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// running is a container of a pod, as a kubelet would run it: the same command and
// environment, the same files, probed where the pod says.
type running struct {
	pod
	log  string
	done chan struct{} // closed when it has ended
	end  error
	cmd  *exec.Cmd
}

// run starts the container of a pod. What is mounted at an absolute path is below a folder
// here, and the port is a free one.
func (l *lab) run(t *testing.T, p pod) *running {
	return start(t, p, l.mounted(t, p))
}

// start is run, with the files that are mounted.
func start(t *testing.T, p pod, files map[string]string) *running {
	root := t.TempDir()
	for name, content := range files {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	}
	r := &running{pod: p, log: filepath.Join(root, "log"), done: make(chan struct{})}
	r.cmd = exec.Command(binary(t, p.container.Command[0]), append(p.container.Command[1:], p.container.Args...)...)
	r.cmd.Env = []string{"HOME=" + root, "LIFEBOAT_LISTEN_ADDRESS=127.0.0.1:0"}
	for _, variable := range p.container.Env {
		if strings.HasPrefix(variable.Value, "/") {
			variable.Value = root + variable.Value
		}
		r.cmd.Env = append(r.cmd.Env, variable.Name+"="+variable.Value)
	}
	log, err := os.Create(r.log)
	require.NoError(t, err)
	r.cmd.Stdout, r.cmd.Stderr = log, log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, r.cmd.Start())
	require.NoError(t, log.Close()) // the child has its own
	go func() {
		r.end = r.cmd.Wait()
		close(r.done)
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // it may have ended
		<-r.done
	})
	return r
}

// mounted is every file of a container by its path: those of ConfigMaps as rendered, those
// of Secrets as the README says to make them.
func (l *lab) mounted(t *testing.T, p pod) map[string]string {
	files := map[string]string{}
	for name, content := range p.files {
		files[name] = strings.ReplaceAll(content, "temporal-frontend.temporal.svc:7233", l.at.TemporalAddress)
	}
	secrets := map[string]map[string]string{
		p.Name + "-karmada": l.credentials(t, p.Spec.Template.Spec.ServiceAccountName),
		"lifeboat-temporal": {"temporal.toml": "[profile.default]\naddress = \"" + l.at.TemporalAddress +
			"\"\nnamespace = \"" + l.at.TemporalNamespace + "\"\n"},
	}
	volumes := map[string]corev1.Volume{}
	for _, v := range p.Spec.Template.Spec.Volumes {
		volumes[v.Name] = v
	}
	for _, mount := range p.container.VolumeMounts {
		secret := volumes[mount.Name].Secret
		if secret == nil {
			continue
		}
		require.Contains(t, secrets, secret.SecretName, "a Secret that nobody is told to make")
		for name, content := range secrets[secret.SecretName] {
			files[mount.MountPath+"/"+name] = content
		}
	}
	return files
}

func (r *running) said(t require.TestingT) string {
	content, err := os.ReadFile(r.log)
	require.NoError(t, err)
	return string(content)
}

// address is where it says that it listens; empty until then.
func (r *running) address(t require.TestingT) string {
	lines := bufio.NewScanner(strings.NewReader(r.said(t)))
	for lines.Scan() {
		line := map[string]any{}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line["msg"] == "serving metrics and health" {
			address, ok := line[telemetry.KeyAddress].(string)
			require.True(t, ok)
			return address
		}
	}
	return ""
}

// ready waits until every probe of the pod passes.
func (r *running) ready(t *testing.T) {
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		address := r.address(c)
		require.NotEmpty(c, address, "it does not listen yet:\n%s", r.said(c))
		for name, probe := range probes(t, r.container) {
			answer, err := http.Get("http://" + address + probe.HTTPGet.Path)
			require.NoError(c, err)
			require.NoError(c, answer.Body.Close())
			require.Equal(c, http.StatusOK, answer.StatusCode, name)
		}
	}, patience, 50*time.Millisecond)
	require.NotContains(t, r.said(t), "forbidden", "it lacks a right")
}

// stop asks it to stop as a kubelet does, and waits until it has in good order.
func (r *running) stop(t *testing.T) {
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	r.wait(t)
	require.NoError(t, r.end, r.said(t))
}

func (r *running) wait(t *testing.T) {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		t.Fatalf("%s does not end:\n%s", r.Name, r.said(t))
	}
}

// refusal waits until it has ended by itself, which must be a failure, and is what it said.
func (r *running) refusal(t *testing.T) string {
	t.Helper()
	r.wait(t)
	require.Error(t, r.end)
	return string(bytes.TrimSpace([]byte(r.said(t))))
}
