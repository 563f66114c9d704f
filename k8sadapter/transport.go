package k8sadapter

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// maxMemberAnswer is how much of a member's answer is read, in bytes: a healthy one is "ok".
const maxMemberAnswer = 64 << 10

// boundedMembers cuts what members answer through clusters/proxy after maxMemberAnswer: a
// member chooses the length of its answer, and client-go would read all of it.
type boundedMembers struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b boundedMembers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	path := r.URL.Path
	if err == nil && strings.Contains(path, "/"+clusterResource.Resource+"/") && strings.Contains(path, "/proxy/") {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxMemberAnswer), answer.Body}
	}
	return answer, err
}

// readOnly refuses every request that could change anything, whatever the user's permissions.
type readOnly struct{ next http.RoundTripper }

// RoundTrip sends reads, and access reviews: a POST that stores nothing.
func (r readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	review := request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/"+reviewResource.Resource)
	if !review && request.Method != http.MethodGet && request.Method != http.MethodHead {
		if request.Body != nil {
			_ = request.Body.Close() // a RoundTripper must close it, also on errors
		}
		return nil, fmt.Errorf("%s %s: %w: this client only reads", request.Method, request.URL.Path, karmada.ErrForbidden)
	}
	return r.next.RoundTrip(request)
}
