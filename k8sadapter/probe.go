package k8sadapter

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// probeTimeout bounds one probe: a cluster that needs longer is not healthy.
const probeTimeout = 5 * time.Second

// livePaths are tried in this order; as in Karmada, the second only where the first does not
// exist.
var livePaths = []string{"readyz", "healthz"}

// ProxyProber probes a member cluster through the Karmada API server's clusters/proxy,
// with the credentials that Karmada has for it. It needs get on clusters/proxy.
type ProxyProber struct{ Client *Client }

// Probe returns nil only when the cluster has answered that it is healthy.
func (p ProxyProber) Probe(ctx context.Context, cluster string) error {
	return probe(ctx, cluster, func(ctx context.Context, path string) error {
		r := request{verb: "get", resource: clusterResource, name: cluster, subresource: "proxy"}
		if err := r.check(); err != nil {
			return err
		}
		result := p.Client.build(r).Suffix(path).Do(ctx)
		if err := result.Error(); err != nil {
			return classify(r, err, retryAfterOf(result))
		}
		return nil
	})
}

// EndpointProber probes a member cluster at the address in its spec.apiEndpoint, without
// credentials: Kubernetes answers unless anonymous access is off. It checks the certificate
// against the system's roots unless the Cluster says insecureSkipTLSVerification.
type EndpointProber struct{ Client *Client }

// Probe returns nil only when the cluster has answered that it is healthy.
func (p EndpointProber) Probe(ctx context.Context, cluster string) error {
	raw, err := p.Client.do(ctx, request{verb: "get", resource: clusterResource, name: cluster})
	if err != nil {
		return err
	}
	var at struct {
		Spec struct {
			APIEndpoint string `json:"apiEndpoint"`
			Insecure    bool   `json:"insecureSkipTLSVerification"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &at); err != nil {
		return fmt.Errorf("read cluster %s: %w", cluster, err)
	}
	return probe(ctx, cluster, func(ctx context.Context, path string) error {
		status, err := Answer(ctx, at.Spec.APIEndpoint, "", path, !at.Spec.Insecure)
		switch {
		case err != nil:
			return err
		case status == http.StatusNotFound:
			return fmt.Errorf("%s of %s: %w", path, at.Spec.APIEndpoint, karmada.ErrGone)
		case status != http.StatusOK:
			return fmt.Errorf("%s of %s answers %d %s", path, at.Spec.APIEndpoint, status, http.StatusText(status))
		}
		return nil
	})
}

// Answer requests a path at the address of a member's API server, without credentials, and returns the status of the
// answer. It opens a connection each time: an older one would prove nothing. It follows no redirect: the server at
// that address must not lead the probe to one that only the caller reaches. The error is a [karmada.ErrInvalid] where
// endpoint or proxyURL is no URL of a server, which says nothing about the member.
func Answer(ctx context.Context, endpoint, proxyURL, path string, verify bool) (status int, err error) {
	at, err := url.Parse(endpoint)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return 0, fmt.Errorf("%w: endpoint %q is no URL with https:// or http://", karmada.ErrInvalid, endpoint)
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: !verify}, //nolint:gosec // the caller says why
	}
	if proxyURL != "" {
		proxy, err := url.Parse(proxyURL)
		if err != nil || proxy.Host == "" {
			return 0, fmt.Errorf("%w: proxyURL is no URL of a proxy", karmada.ErrInvalid) // its text may have a password
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.JoinPath(path).String(), http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", karmada.ErrInvalid, err)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := (&http.Client{Transport: transport, CheckRedirect: stay}).Do(request)
	if err != nil {
		return 0, err
	}
	_ = answer.Body.Close() // only the status counts
	return answer.StatusCode, nil
}

func probe(ctx context.Context, cluster string, get func(ctx context.Context, path string) error) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var err error
	for _, path := range livePaths {
		if err = get(ctx, path); !errors.Is(err, karmada.ErrGone) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("probe cluster %s: %w", cluster, err)
	}
	return nil
}
