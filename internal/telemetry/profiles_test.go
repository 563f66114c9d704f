package telemetry

import (
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServeProfiles_Loopback_ServesEachProfile(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	at, err := ServeProfiles(t.Context(), "127.0.0.1:0", log)
	require.NoError(t, err)
	for _, path := range []string{"", "heap?debug=1", "goroutine?debug=1", "mutex?debug=1", "block?debug=1"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/debug/pprof/"+path, http.NoBody)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode, path)
		require.NotEmpty(t, body, path)
	}
	at, err = ServeProfiles(t.Context(), "", log)
	require.NoError(t, err)
	require.Empty(t, at)
}

func TestServeProfiles_AnyOtherAddress_Refused(t *testing.T) {
	for _, address := range []string{"0.0.0.0:6060", ":6060", "6060", "192.0.2.1:6060", "localhost", "[::]:1"} {
		_, err := ServeProfiles(t.Context(), address, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, `want a loopback address and a port, as in 127.0.0.1:6060`, address)
	}
}
