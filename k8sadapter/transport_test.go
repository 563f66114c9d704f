package k8sadapter

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// A member that is asked how it is may answer without an end. It is Karmada's proxy that
// carries the answer, and the worker's memory that it would be read into.
func TestOfAMembersAnswerNoMoreIsReadThanItsWord(t *testing.T) {
	const much, piece = 256 << 20, 1 << 20
	var told atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for told.Load() < much {
			n, err := w.Write(make([]byte, piece))
			told.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer server.Close()
	client, err := NewClientFor(&rest.Config{Host: server.URL}, Options{})
	require.NoError(t, err)
	require.NoError(t, ProxyProber{Client: client}.Probe(t.Context(), "m2"))
	server.Close() // waits for the answer to end
	require.Less(t, told.Load(), int64(much))
}
