package server

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// binaries is where `make lab-bin` puts them.
const binaries = "../../../bin"

func testOptions(t *testing.T) Options {
	folder, err := filepath.Abs(binaries)
	require.NoError(t, err)
	return Options{
		BinDir:            folder,
		Dir:               t.TempDir(),
		TemporalNamespace: "tests",
		SearchAttributes:  []string{"LifeboatCluster"},
		Users:             []User{{Name: "admin", Groups: []string{"system:masters"}}, {Name: "nobody"}},
		Logger:            slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

// startOne starts only etcd, on ports that find returns.
func startOne(t *testing.T, find func(int) ([]int, error)) (*Servers, error) {
	s := &Servers{options: testOptions(t), freePorts: find, died: make(chan error, 3)}
	t.Cleanup(func() { assert.NoError(t, s.Stop()) })
	return s, s.startEtcd(t.Context())
}

func TestAServerThatLosesABindRaceGetsOtherPorts(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	tries := 0
	s, err := startOne(t, func(n int) ([]int, error) {
		ports, err := freePorts(n)
		if tries++; err == nil && tries == 1 {
			ports[0] = taken.Addr().(*net.TCPAddr).Port
		}
		return ports, err
	})
	require.NoError(t, err)
	require.Equal(t, 2, tries)
	require.NotContains(t, s.EtcdURL, taken.Addr().String())
}

func TestAServerThatDiesSaysWhyWithTheEndOfItsLog(t *testing.T) {
	t.Parallel()
	s, err := startOne(t, freePorts)
	require.NoError(t, err)
	log, err := os.OpenFile(s.etcd.logFile, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = io.WriteString(log, "last words\n")
	require.NoError(t, err)
	require.NoError(t, log.Close())
	require.NoError(t, syscall.Kill(s.etcd.PID(), syscall.SIGKILL))
	select {
	case err := <-s.Died():
		require.ErrorContains(t, err, "etcd died (signal: killed)")
		require.ErrorContains(t, err, "last words")
	case <-time.After(time.Minute):
		t.Fatal("the death was not reported")
	}
}

func TestAServerThatCrashesComesBackWithWhatItHadStored(t *testing.T) {
	t.Parallel()
	options := testOptions(t)
	options.Durable, options.NoUI = true, true
	s, err := Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Stop()) })
	config, err := s.RESTConfig("admin")
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	kept := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	_, err = client.CoreV1().Namespaces().Create(t.Context(), kept, metav1.CreateOptions{})
	require.NoError(t, err)
	before := s.Processes()
	for _, p := range before {
		require.NoError(t, s.Crash(t.Context(), p.Name()))
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err = client.CoreV1().Namespaces().Get(t.Context(), "kept", metav1.GetOptions{})
		require.NoError(c, err)
	}, time.Minute, 100*time.Millisecond)
	require.Len(t, s.Processes(), len(before))
	for _, p := range before {
		require.ErrorIs(t, syscall.Kill(p.PID(), 0), syscall.ESRCH, "%s still runs", p.Name())
	}
	select {
	case err := <-s.Died():
		t.Fatalf("a crash that was asked for is no failure: %v", err)
	default:
	}
	require.ErrorContains(t, s.Crash(t.Context(), "nginx"), "no server")
}

func TestAMissingBinaryIsNamedWithTheCommandThatBuildsIt(t *testing.T) {
	t.Parallel()
	options := testOptions(t)
	options.BinDir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(options.BinDir, "etcd"), nil, 0o700))
	_, err := Start(t.Context(), options)
	require.EqualError(t, err, "not built in "+options.BinDir+": [kube-apiserver temporal-dev] (run `make lab-bin`)")
}
