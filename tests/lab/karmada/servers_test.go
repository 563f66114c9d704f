package karmada_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
)

// patience bounds every wait; machines can be slow.
const patience = 60 * time.Second

// eventually asks again and again, in the test's own goroutine, until the condition holds or patience ends.
func eventually(condition func() bool) bool {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); !condition(); <-ticker.C {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// read is an object as it stands.
func read[T api.Object](t *testing.T, at dynamic.ResourceInterface, name string) *T {
	object, err := at.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	decoded, err := api.From[T](object.Object)
	require.NoError(t, err)
	return decoded
}

const binaries = "../../../bin"

// world is a simulated Karmada on real servers of its own.
type world struct {
	client dynamic.Interface
	sim    *karmada.Sim
	cfg    *rest.Config
}

func start(t *testing.T, o karmada.Options) *world {
	for _, name := range []string{"etcd", "kube-apiserver"} {
		_, err := os.Stat(filepath.Join(binaries, name))
		require.NoError(t, err, "build the lab's servers first: make lab-bin")
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	masters := []string{"system:masters"}
	servers, err := server.Start(t.Context(), server.Options{
		BinDir: binaries, Dir: t.TempDir(), NoUI: true, TemporalNamespace: "unused", Logger: log,
		Users: []server.User{{Name: "admin", Groups: masters}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Stop()) })

	w := &world{}
	w.cfg, err = servers.RESTConfig("admin")
	require.NoError(t, err)
	w.cfg.QPS = -1
	w.client, err = dynamic.NewForConfig(w.cfg)
	require.NoError(t, err)
	require.NoError(t, karmada.InstallCRDs(t.Context(), w.cfg))
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.sim, err = karmada.Start(t.Context(), w.cfg, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.sim.Close()) })
	return w
}
