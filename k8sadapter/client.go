package k8sadapter

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"
)

// requestTimeout bounds one read or write, on top of the caller's own deadline. It does not
// bound watches.
const requestTimeout = 15 * time.Second

// fieldManager is the name under which managedFields lists what Lifeboat wrote.
const fieldManager = "lifeboat"

// Accept headers for the metadata alone, of an object and of a list's items.
const (
	acceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// Options configure a Client. Zero values mean the defaults.
type Options struct {
	// QPS and Burst limit all requests of this Client together (watches aside). A QPS of 0 is no limit.
	QPS   float32
	Burst int
	// ReadOnly refuses every request that could change anything before it is sent.
	ReadOnly bool
	// UserAgent is what the API server's audit log shows; client-go's default when empty.
	UserAgent string
	// Policies makes Rules and watches honour Karmada's ClusterTaintPolicies, with these
	// windows for those that name none; nil ignores ClusterTaintPolicies.
	Policies *PolicyWindows
	// DrainDeleting reads a cluster with a deletion timestamp as drained; an operator's order goes first.
	DrainDeleting bool
	// Logger gets the problems that no caller sees: lost Events, broken watches, the leader.
	// Nil discards them.
	Logger *slog.Logger
}

// Client reads from and writes to one Karmada control plane. It implements
// activities.Reader and activities.Writer and is safe for concurrent use. It neither caches
// nor retries: the callers do.
type Client struct {
	*requester
	installation
	works
	surroundings
	// now is the clock for timestamps that are written (a soft taint's timeAdded, an Event's
	// times), never for a decision.
	now func() time.Time
	log *slog.Logger
	// policies are the windows of ClusterTaintPolicies, nil where they are not honoured.
	policies *PolicyWindows
	// drainDeleting is of Options.
	drainDeleting bool
	// onWrite gets the result of each write to a binding; may be nil.
	onWrite func(karmada.Binding)
	// events bounds the Events on their way.
	events *semaphore.Weighted
	// clusters are those of the last list.
	clusters atomic.Pointer[map[objectVersion]karmada.Cluster]
}

// requester sends requests to one API server.
type requester struct {
	config  *rest.Config
	rest    *rest.RESTClient
	dynamic dynamic.Interface
	typed   kubernetes.Interface
	timeout time.Duration // of one request
}

// NewClient connects to the API server that a kubeconfig names. An empty
// kubeconfig means what kubectl would use, and inside a pod its service account;
// an empty context the current one. It sends nothing.
func NewClient(kubeconfig, kubeContext string, opts Options) (*Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: kubeContext}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %q, context %q: %w", kubeconfig, kubeContext, err)
	}
	return NewClientFor(cfg, opts)
}

// NewClientFor connects to the API server of a rest.Config, which it copies.
func NewClientFor(base *rest.Config, opts Options) (*Client, error) {
	cfg := rest.CopyConfig(base)
	cfg.QPS, cfg.RateLimiter = -1, nil
	if opts.QPS > 0 {
		cfg.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(opts.QPS, max(opts.Burst, 1))
	}
	cfg.UserAgent = cmp.Or(opts.UserAgent, cfg.UserAgent)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return boundedMembers{next} })
	if opts.ReadOnly {
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next} })
	}
	cfg.Timeout = 0 // it would end watches; do bounds each request
	cfg.WarningHandler = rest.NoWarnings{}
	requests := &requester{config: cfg, timeout: requestTimeout}
	client := &Client{
		requester: requests, installation: installation{requests}, works: works{requests}, surroundings: surroundings{requests},
		now: time.Now, log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)), policies: opts.Policies, drainDeleting: opts.DrainDeleting,
		events: semaphore.NewWeighted(eventsAtOnce),
	}
	if err := requests.connect(); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", cfg.Host, err)
	}
	return client, nil
}

// Close waits, for some seconds at most, until the Events that are on their way are written.
func (c *Client) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	if c.events.Acquire(ctx, eventsAtOnce) == nil {
		c.events.Release(eventsAtOnce)
	}
}

// Credential is in a file, or is the value where there is no file; both are empty for none.
type Credential struct {
	File  string
	Value []byte
}

// Credentials are the client certificate and the token that the client sends, except those of
// an exec plug-in.
func (c *requester) Credentials() []Credential {
	token := Credential{c.config.BearerTokenFile, []byte(c.config.BearerToken)}
	return []Credential{{c.config.CertFile, c.config.CertData}, token}
}

// connect makes the clients that share the config, its rate limiter included.
func (c *requester) connect() (err error) {
	if c.rest, err = rest.UnversionedRESTClientFor(rawConfig(c.config)); err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfig(c.config); err != nil {
		return err
	}
	c.typed, err = kubernetes.NewForConfig(c.config)
	return err
}

// rawConfig is for requests whose answers stay JSON: only errors are decoded.
func rawConfig(cfg *rest.Config) *rest.Config {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	raw := rest.CopyConfig(cfg)
	raw.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	raw.ContentType, raw.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	return raw
}

// request is one call to the API server.
type request struct {
	verb        string // get, list, patch: the word that RBAC uses
	resource    schema.GroupVersionResource
	namespace   string
	name        string
	subresource string
	query       url.Values
	accept      string
	body        []byte // of a merge patch
}

// object names the target of a request in errors: "resourcebindings shop/cart".
func (r request) object() string {
	text := r.resource.Resource
	if r.subresource != "" {
		text += "/" + r.subresource
	}
	if r.namespace != "" {
		return text + " " + r.namespace + "/" + r.name
	}
	return strings.TrimSpace(text + " " + r.name)
}

// check refuses names that would change the path of the request.
func (r request) check() error {
	if r.verb != "list" && r.name == "" {
		return fmt.Errorf("%s %s: %w: no name", r.verb, r.object(), karmada.ErrInvalid)
	}
	for _, segment := range []string{r.namespace, r.name} {
		if problems := rest.IsValidPathSegmentName(segment); len(problems) > 0 {
			return fmt.Errorf("%s %s: %w: name %q %s", r.verb, r.object(), karmada.ErrInvalid, segment, problems[0])
		}
	}
	return nil
}

// do sends a request once and returns the raw answer. Its errors are classified.
func (c *requester) do(ctx context.Context, r request) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	result := c.build(r).Do(ctx)
	body, _ := result.Raw()
	if err := result.Error(); err != nil {
		return nil, classify(r, err, retryAfterOf(result))
	}
	return body, nil
}

func (c *requester) build(r request) *rest.Request {
	method := http.MethodGet
	if r.verb == "patch" {
		method = http.MethodPatch
	}
	// client-go would sleep and retry, while the caller's permit expires.
	built := c.rest.Verb(method).MaxRetries(0)
	if r.resource.Group == "" {
		built.AbsPath("/api", r.resource.Version)
	} else {
		built.AbsPath("/apis", r.resource.Group, r.resource.Version)
	}
	built.NamespaceIfScoped(r.namespace, r.namespace != "").Resource(r.resource.Resource)
	if r.verb != "list" {
		built.Name(r.name)
	}
	if r.subresource != "" {
		built.SubResource(r.subresource)
	}
	if r.accept != "" {
		built.SetHeader("Accept", r.accept)
	}
	for key, values := range r.query {
		for _, value := range values {
			built.Param(key, value)
		}
	}
	if r.verb == "patch" {
		built.Param("fieldManager", fieldManager)
		built.SetHeader("Content-Type", string(types.MergePatchType)).Body(r.body)
	}
	return built
}
