package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"
)

// Temporal is a connection to a Temporal server, with its options.
type Temporal struct {
	client.Client
	Options client.Options
	// Credentials are the client certificate and the API key that the client sends.
	Credentials []telemetry.Credential
}

// TemporalOptions configure a connection.
type TemporalOptions struct {
	Program string // for the identity: "<program>@<host>:<pid>"
	Config  config.Config
	Log     *slog.Logger
	Metrics client.MetricsHandler // nil: none
	// Lazy connects with the first call, so that the program starts during an outage.
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
	options.HostPort = cmp.Or(options.HostPort, client.DefaultHostPort)
	options.Namespace = cmp.Or(options.Namespace, client.DefaultNamespace)
	options.Identity = fmt.Sprintf("%s@%s:%d", o.Program, config.Host(), os.Getpid())
	options.Logger = temporallog.NewStructuredLogger(o.Log)
	options.MetricsHandler = o.Metrics
	// Messages are small and the server is near: compression costs more time than it saves.
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(sameRequest))
	temporal := &Temporal{Options: options, Credentials: shown}
	if o.Lazy {
		temporal.Client, err = client.NewLazyClient(options)
		return temporal, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if temporal.Client, err = client.DialContext(ctx, options); err != nil {
		return nil, fmt.Errorf("%s does not answer as a Temporal server; start one there, or set TEMPORAL_ADDRESS: %w",
			options.HostPort, err)
	}
	return temporal, nil
}

// requestID is the key of WithRequestID.
type requestID struct{}

// WithRequestID has a workflow started under a request id of the caller's own, where the SDK makes up one for each call.
// The server answers a repeated request as it did the first, also if what that started has ended since.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestID{}, id)
}

//nolint:revive // the signature is gRPC's
func sameRequest(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	id, own := ctx.Value(requestID{}).(string)
	if start, starts := request.(*workflowservice.StartWorkflowExecutionRequest); own && starts {
		start.RequestId = id
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

// IsA reports whether an error is of a type, or wraps one that is.
func IsA[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// Ready returns nil when the namespace exists and has the search attributes. The error says
// what to do.
func (t *Temporal) Ready(ctx context.Context, attributes []string) error {
	namespace := t.Options.Namespace
	_, err := t.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if IsA[*serviceerror.NamespaceNotFound](err) {
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

// Lacking are the search attributes that the namespace lacks. None where the server does not
// list them (Temporal Cloud): there the start of a workflow fails.
func (t *Temporal) Lacking(ctx context.Context, attributes []string) ([]string, error) {
	known, err := t.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{
		Namespace: t.Options.Namespace,
	})
	if IsA[*serviceerror.PermissionDenied](err) || IsA[*serviceerror.Unimplemented](err) {
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

// Healthy returns nil when the server serves.
func (t *Temporal) Healthy(ctx context.Context) error {
	_, err := t.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

// Owners checks which workflows run.
type Owners struct {
	Client client.Client
}

// Running describes the workflow: a list would lag behind. An unknown id does not run.
func (o Owners) Running(ctx context.Context, workflowID string) (bool, error) {
	if workflowID == "" {
		return false, nil
	}
	description, err := o.Client.DescribeWorkflowExecution(ctx, workflowID, "")
	// Of an id that another writer changed in the task, the server says that it is invalid.
	if IsA[*serviceerror.NotFound](err) || IsA[*serviceerror.InvalidArgument](err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("describe workflow %s: %w", workflowID, err)
	}
	status := description.GetWorkflowExecutionInfo().GetStatus()
	return status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || status == enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED, nil
}
