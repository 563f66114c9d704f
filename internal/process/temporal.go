package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
)

// Temporal is a connection to a Temporal server, and what it was made with.
type Temporal struct {
	client.Client
	Options client.Options
	// Credentials read the client certificate and the API key that it shows the server.
	Credentials []func() ([]byte, error)
}

// TemporalOptions say how a program presents itself.
type TemporalOptions struct {
	Program string // for the identity: "<program>@<host>:<pid>"
	Config  config.Config
	Log     *slog.Logger
	Metrics client.MetricsHandler // nil: none
	// Lazy connects with the first call: the program outlives an outage at its start.
	Lazy bool
}

// dialTimeout bounds the first contact.
const dialTimeout = 10 * time.Second

// SetupHint is what to do when the namespace is not ready for Lifeboat.
const SetupHint = "run: lifeboat setup"

// Dial connects to the server that the temporal CLI would: the same file
// (temporal.toml) and environment (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, …).
func Dial(ctx context.Context, o TemporalOptions) (*Temporal, error) {
	options, shown, err := connection(o.Config, o.Log)
	if err != nil {
		return nil, err
	}
	if options.HostPort == "" {
		options.HostPort = client.DefaultHostPort
	}
	if options.Namespace == "" {
		options.Namespace = client.DefaultNamespace
	}
	options.Identity = fmt.Sprintf("%s@%s:%d", o.Program, config.Host(), os.Getpid())
	options.Logger = temporallog.NewStructuredLogger(o.Log)
	options.MetricsHandler = o.Metrics
	// Messages are small, and the server is near: compression costs more time than it saves.
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	if o.Lazy {
		c, err := client.NewLazyClient(options)
		return &Temporal{Client: c, Options: options, Credentials: shown}, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("%s does not answer as a Temporal server; start one there, or set TEMPORAL_ADDRESS: %w",
			options.HostPort, err)
	}
	return &Temporal{Client: c, Options: options, Credentials: shown}, nil
}

// Ready tells whether the namespace exists and knows the search attributes. The
// error says what to do.
func (t *Temporal) Ready(ctx context.Context, attributes []string) error {
	namespace := t.Options.Namespace
	_, err := t.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	var missing *serviceerror.NamespaceNotFound
	if errors.As(err, &missing) {
		return fmt.Errorf("namespace %q does not exist at %s; %s", namespace, t.Options.HostPort, SetupHint)
	}
	if err != nil {
		return fmt.Errorf("describe Temporal namespace %q: %w", namespace, err)
	}
	lacking, err := t.Lacking(ctx, attributes)
	if err != nil {
		return err
	}
	if len(lacking) > 0 {
		return fmt.Errorf("namespace %q lacks the search attributes %s; %s", namespace, strings.Join(lacking, ", "), SetupHint)
	}
	return nil
}

// Lacking are those of the search attributes that the namespace does not know. A
// server that tells nobody (Temporal Cloud) lacks none: starting a workflow will tell.
func (t *Temporal) Lacking(ctx context.Context, attributes []string) ([]string, error) {
	known, err := t.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{
		Namespace: t.Options.Namespace,
	})
	var denied *serviceerror.PermissionDenied
	var unimplemented *serviceerror.Unimplemented
	if errors.As(err, &denied) || errors.As(err, &unimplemented) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list search attributes of Temporal namespace %q: %w", t.Options.Namespace, err)
	}
	var lacking []string
	for _, name := range attributes {
		if _, ok := known.GetCustomAttributes()[name]; !ok {
			lacking = append(lacking, name)
		}
	}
	slices.Sort(lacking)
	return lacking, nil
}

// Healthy asks the server whether it serves.
func (t *Temporal) Healthy(ctx context.Context) error {
	_, err := t.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}
