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
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

func TestTwoSetsOfServersRunAtOnceAndLeaveNoProcessBehind(t *testing.T) {
	t.Parallel()
	sets := make([]*Servers, 2)
	var starts errgroup.Group
	for i, options := range []Options{testOptions(t), testOptions(t)} {
		starts.Go(func() (err error) {
			sets[i], err = Start(t.Context(), options)
			return err
		})
	}
	err := starts.Wait()
	for _, s := range sets {
		if s != nil {
			t.Cleanup(func() { assert.NoError(t, s.Stop()) })
		}
	}
	require.NoError(t, err)
	for _, s := range sets {
		require.Len(t, s.Processes(), 3)
		requireRightsAreEnforced(t, s)
	}
	for _, s := range sets {
		require.NoError(t, s.Stop())
		for _, process := range s.Processes() {
			require.ErrorIs(t, syscall.Kill(process.PID(), 0), syscall.ESRCH, "%s still runs", process.Name())
			require.NoError(t, process.Died(), "a server that was asked to end did not die")
		}
	}
}

// requireRightsAreEnforced checks that the administrator may write, that a user
// without rights may not even read, and that the audit log tells who wrote.
func requireRightsAreEnforced(t *testing.T, s *Servers) {
	users := make(map[string]kubernetes.Interface)
	for _, name := range []string{"admin", "nobody"} {
		config, err := s.RESTConfig(name)
		require.NoError(t, err)
		users[name], err = kubernetes.NewForConfig(config)
		require.NoError(t, err)
	}
	_, err := users["nobody"].CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "got %v", err)
	err = users["admin"].CoreV1().Namespaces().Delete(t.Context(), "never-there", metav1.DeleteOptions{})
	require.True(t, apierrors.IsNotFound(err), "got %v", err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		log, err := os.ReadFile(s.AuditLog)
		require.NoError(c, err)
		require.Contains(c, string(log), `"verb":"delete","user":{"username":"admin"`)
		require.NotContains(c, string(log), `"username":"nobody"`, "reads do not belong there")
	}, time.Minute, 20*time.Millisecond)
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

func TestAnEtcdOfThreeMembersServesWithTwo(t *testing.T) {
	t.Parallel()
	options := testOptions(t)
	options.EtcdMembers = 3
	s := &Servers{options: options, freePorts: freePorts, died: make(chan error, 3)}
	t.Cleanup(func() { assert.NoError(t, s.Stop()) })
	require.NoError(t, s.startEtcds(t.Context()))
	require.Len(t, s.Processes(), 3)
	for _, leader := range []bool{false, true} {
		require.NoError(t, s.LoseEtcd(t.Context(), leader))
		serving := 0
		for _, p := range s.Processes() {
			select {
			case <-p.exited:
			default:
				require.NoError(t, p.waitReady(t.Context(), p.ready), "it serves reads that ask the majority")
				serving++
			}
		}
		require.Equal(t, 2, serving)
		require.NoError(t, s.ReturnEtcd(t.Context()))
	}
	require.ErrorIs(t, s.Snapshot(t.Context()), errSeveral)
	select {
	case err := <-s.Died():
		require.NoError(t, err, "who is lost on purpose has not died")
	default:
	}
}
