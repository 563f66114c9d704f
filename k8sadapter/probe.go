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
	if at.Spec.APIEndpoint == "" {
		return fmt.Errorf("%w: cluster %s has no apiEndpoint", karmada.ErrInvalid, cluster)
	}
	transport := &http.Transport{
		DisableKeepAlives: true,                                              // an older connection would prove nothing
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: at.Spec.Insecure}, //nolint:gosec // as its Cluster object says
	}
	// The server at that address must not redirect the probe to another one.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Transport: transport, CheckRedirect: stay}
	return probe(ctx, cluster, func(ctx context.Context, path string) error {
		return getFrom(ctx, client, at.Spec.APIEndpoint, path)
	})
}

func getFrom(ctx context.Context, client *http.Client, endpoint, path string) error {
	target, err := url.JoinPath(endpoint, path)
	if err != nil {
		return fmt.Errorf("%w: apiEndpoint %q: %w", karmada.ErrInvalid, endpoint, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return fmt.Errorf("%w: %w", karmada.ErrInvalid, err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusNotFound:
		return fmt.Errorf("%s: %w", target, karmada.ErrGone)
	}
	return fmt.Errorf("%s answers %s", target, answer.Status)
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
