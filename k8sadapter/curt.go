package k8sadapter

import (
	"io"
	"net/http"
	"strings"
)

// mostTold is how much of a member's answer is read, in bytes: its word is "ok".
const mostTold = 64 << 10

// curt ends what a member says through clusters/proxy after mostTold: it is for the member
// to say how long its answer is, and client-go reads all of it.
type curt struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (c curt) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.next.RoundTrip(r)
	path := r.URL.Path
	if err == nil && strings.Contains(path, "/"+clusterResource.Resource+"/") && strings.Contains(path, "/proxy/") {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, mostTold), answer.Body}
	}
	return answer, err
}
