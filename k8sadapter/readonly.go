package k8sadapter

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// readOnly lets nothing through that could change anything: what is asked of a client
// made with Options.ReadOnly cannot write, whatever the caller's rights are.
type readOnly struct{ next http.RoundTripper }

// RoundTrip sends reads, and the question whether one may do something, which Kubernetes
// asks by a POST that stores nothing.
func (r readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	asks := request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/"+reviewResource.Resource)
	if !asks && request.Method != http.MethodGet && request.Method != http.MethodHead {
		if request.Body != nil {
			_ = request.Body.Close() // a RoundTripper closes it, come what may
		}
		return nil, fmt.Errorf("%s %s: %w: this client only reads", request.Method, request.URL.Path, karmada.ErrForbidden)
	}
	return r.next.RoundTrip(request)
}
