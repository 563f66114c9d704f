package deploy

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// patience is for a machine that is busy with other things.
const patience = 2 * time.Minute

// binary is the absolute path of what make built.
func binary(t *testing.T, name string) string {
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", name))
	require.NoError(t, err)
	_, err = os.Stat(path)
	require.NoError(t, err, "run `make lab-bin build`")
	return path
}

// lab is a running `lab up`: one API server plays the host cluster's and Karmada's.
type lab struct {
	at       place
	config   *rest.Config // of the administrator
	client   *kubernetes.Clientset
	dynamic  dynamic.Interface
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	warnings *warnings
}

// place is what `lab up -o json` says.
type place struct {
	Kubeconfig        string `json:"kubeconfig"`
	TemporalAddress   string `json:"temporalAddress"`
	TemporalNamespace string `json:"temporalNamespace"`
}

// warnings are what the API server remarks on requests that it accepts.
type warnings struct {
	mutex sync.Mutex
	said  []string
}

// HandleWarningHeader is called by client-go.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.said = append(w.said, text)
}

func (w *warnings) texts() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.said)
}

func startLab(t *testing.T, flags ...string) *lab {
	l := &lab{warnings: &warnings{}}
	cmd := exec.Command(binary(t, "lab"), append([]string{"up", "-o", "json", "--dir", filepath.Join(t.TempDir(), "lab"),
		"--bin", filepath.Dir(binary(t, "kube-apiserver")), "--members", "1", "--no-ui", "--watch-stdin"}, flags...)...)
	cmd.Stderr = t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { // it stops its servers in order
		assert.NoError(t, stdin.Close())
		assert.NoError(t, cmd.Wait())
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	require.NoError(t, err, "the lab did not start")
	require.NoError(t, json.Unmarshal(line, &l.at))
	config, err := clientcmd.BuildConfigFromFlags("", l.at.Kubeconfig)
	require.NoError(t, err)
	config.QPS, config.WarningHandler = -1, l.warnings
	l.config = config
	l.connect(t, config)
	return l
}

func (l *lab) connect(t *testing.T, config *rest.Config) {
	var err error
	l.client, err = kubernetes.NewForConfig(config)
	require.NoError(t, err)
	l.dynamic, err = dynamic.NewForConfig(config)
	require.NoError(t, err)
	l.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(l.client))
}

// apply is `kubectl apply --server-side`, namespaces first. Each manager has fields of its
// own: what the host cluster and Karmada have under one name is one object here.
func (l *lab) apply(t *testing.T, manager string, all objects) {
	names := all.names()
	slices.SortStableFunc(names, func(a, b string) int {
		return order(all[a].GetKind()) - order(all[b].GetKind())
	})
	for _, name := range names {
		object := all[name]
		kind := object.GroupVersionKind()
		mapping, err := l.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		require.NoError(t, err, name)
		_, err = l.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace()).
			Apply(t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: manager, Force: true})
		require.NoError(t, err, name)
	}
}

func order(kind string) int {
	if kind == "Namespace" {
		return 0
	}
	return 1
}

// setUp is what docs say comes before the first start.
func (l *lab) setUp(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), binary(t, "lifeboat"), "setup", "--kubeconfig", l.at.Kubeconfig)
	cmd.Env = []string{"HOME=" + t.TempDir(), "TEMPORAL_ADDRESS=" + l.at.TemporalAddress, "TEMPORAL_NAMESPACE=" + l.at.TemporalNamespace}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// credentials are the administrator's kubeconfig, with the token of a program's account
// instead, in a file beside it: both by name.
func (l *lab) credentials(t *testing.T, program string) map[string]string {
	token, err := l.client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), program, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	config, err := clientcmd.LoadFromFile(l.at.Kubeconfig)
	require.NoError(t, err)
	require.NoError(t, clientcmdapi.FlattenConfig(config)) // no path in it is good in a pod
	for _, user := range config.AuthInfos {
		*user = clientcmdapi.AuthInfo{TokenFile: "token"}
	}
	content, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return map[string]string{"kubeconfig": string(content), "token": token.Status.Token}
}

// awaitLeader waits until a controller holds the Lease.
func (l *lab) awaitLeader(t *testing.T) {
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		lease, err := l.client.CoordinationV1().Leases("default").Get(t.Context(), "lifeboat-controller", metav1.GetOptions{})
		require.NoError(c, err)
		require.NotNil(c, lease.Spec.HolderIdentity)
		require.NotEmpty(c, *lease.Spec.HolderIdentity)
	}, patience, 50*time.Millisecond)
}
