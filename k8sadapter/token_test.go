package k8sadapter

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
)

// doorman notes with which token each request came.
type doorman struct{ tokens []string }

func (d *doorman) RoundTrip(r *http.Request) (*http.Response, error) {
	d.tokens = append(d.tokens, r.Header.Get("Authorization"))
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"metadata":{"name":"member1","resourceVersion":"1"}}`)),
	}, nil
}

// A token lasts for a while only, and whoever renews it writes it into the file that the
// kubeconfig names. client-go reads it again; here within a minute of virtual time.
func TestATokenFileIsReadAgainWithoutARestart(t *testing.T) {
	folder := t.TempDir()
	token, kubeconfig := filepath.Join(folder, "token"), filepath.Join(folder, "kubeconfig")
	require.NoError(t, os.WriteFile(token, []byte("first\n"), 0o600))
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`
apiVersion: v1
kind: Config
current-context: karmada
contexts: [{name: karmada, context: {cluster: karmada, user: worker}}]
clusters: [{name: karmada, cluster: {server: "https://karmada.example"}}]
users: [{name: worker, user: {tokenFile: token}}]
`), 0o600))
	synctest.Test(t, func(t *testing.T) {
		cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		require.NoError(t, err)
		door := &doorman{}
		cfg.WrapTransport = func(http.RoundTripper) http.RoundTripper { return door }
		client, err := NewClientFor(cfg, Options{})
		require.NoError(t, err)
		ask := func() {
			_, err := client.Cluster(t.Context(), "member1")
			require.NoError(t, err)
		}
		ask()
		require.NoError(t, os.WriteFile(token, []byte("second\n"), 0o600))
		<-time.After(time.Minute)
		ask()
		require.Equal(t, []string{"Bearer first", "Bearer second"}, door.tokens)
	})
}
