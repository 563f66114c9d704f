package preflight

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/workflows"
	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Server is the Temporal that is set up.
type Server interface {
	Temporal
	OperatorService() operatorservice.OperatorServiceClient
}

// Definer is the Karmada that is set up.
type Definer interface {
	InstallCRDs(ctx context.Context) error
}

// Setup prepares a Temporal namespace and a Karmada for Lifeboat; it changes nothing that exists. Every step
// writes a line to Out.
type Setup struct {
	Temporal  Server
	Namespace string
	// Retention is how long a new namespace keeps closed workflows, and so reports.
	Retention time.Duration
	// SetRetention sets it for an existing namespace, too.
	SetRetention bool
	// Karmada is nil to leave it alone.
	Karmada Definer
	Out     io.Writer
}

// Standing is the result of a setup.
type Standing struct {
	Namespace string `json:"namespace"`
	Created   bool   `json:"created"` // the namespace, by this setup
	// Retention is how long the namespace keeps closed workflows, as in "168h0m0s"; older ones are in the audit
	// trail alone.
	Retention string `json:"retention"`
	// Attributes are the search attributes that were added.
	Attributes []string `json:"attributesAdded,omitempty"`
	// Definitions reports that the CRDs are installed.
	Definitions bool `json:"definitions"`
	// Done are the steps, in order.
	Done []string `json:"done"`
}

// knownPoll is how often setup checks for a new namespace or attribute: Temporal's frontends cache for up to a
// minute.
const knownPoll = 500 * time.Millisecond

// Run sets up what is missing, and returns when it can be used.
func (s Setup) Run(ctx context.Context) (Standing, error) {
	r := Standing{Namespace: s.Namespace}
	if err := s.namespace(ctx, &r); err != nil {
		return r, err
	}
	if err := s.attributes(ctx, &r); err != nil {
		return r, err
	}
	if s.Karmada == nil {
		return r, nil
	}
	if err := s.Karmada.InstallCRDs(ctx); err != nil {
		return r, err
	}
	r.Definitions = true
	s.say(&r, "Karmada: the definition of ClusterTaintRule stands")
	return r, nil
}

// say reports a step that was done.
func (s Setup) say(r *Standing, format string, args ...any) {
	r.Done = append(r.Done, fmt.Sprintf(format, args...))
	_, _ = fmt.Fprintf(s.Out, format+"\n", args...) // a closed terminal stops no setup
}

func (s Setup) describe(ctx context.Context) (time.Duration, error) {
	d, err := s.Temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.Namespace})
	return d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), err
}

func (s Setup) namespace(ctx context.Context, r *Standing) error {
	stands, err := s.describe(ctx)
	if err == nil {
		return s.retain(ctx, stands, r)
	}
	if !process.IsA[*serviceerror.NamespaceNotFound](err) {
		return fmt.Errorf("describe Temporal namespace %s: %w", s.Namespace, err)
	}
	_, err = s.Temporal.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace:                        s.Namespace,
		Description:                      "Cluster failovers of Karmada, by Lifeboat",
		WorkflowExecutionRetentionPeriod: durationpb.New(s.Retention),
	})
	if err != nil && !process.IsA[*serviceerror.NamespaceAlreadyExists](err) { // another setup raced with this one
		return fmt.Errorf("create Temporal namespace %s: %w", s.Namespace, err)
	}
	err = until(ctx, func(ctx context.Context) (bool, error) {
		_, err := s.describe(ctx)
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for Temporal namespace %s: %w", s.Namespace, err)
	}
	r.Created, r.Retention = true, s.Retention.String()
	s.say(r, "Temporal: created namespace %s, which keeps closed workflows for %s", s.Namespace, s.Retention)
	return nil
}

// retain reports the retention of an existing namespace, and changes it if SetRetention is set.
func (s Setup) retain(ctx context.Context, stands time.Duration, r *Standing) error {
	r.Retention = stands.String()
	if !s.SetRetention || stands == s.Retention {
		s.say(r, "Temporal: namespace %s is there; it keeps closed workflows for %s", s.Namespace, stands)
		return nil
	}
	_, err := s.Temporal.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: s.Namespace, Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(s.Retention)},
	})
	if err != nil {
		return fmt.Errorf("set the retention of Temporal namespace %s: %w", s.Namespace, err)
	}
	r.Retention = s.Retention.String()
	s.say(r, "Temporal: namespace %s keeps closed workflows for %s now; it was %s", s.Namespace, s.Retention, stands)
	return nil
}

func (s Setup) attributes(ctx context.Context, r *Standing) error {
	names := workflows.SearchAttributeNames()
	var lacking []string
	// Not every frontend knows a new namespace yet.
	err := until(ctx, func(ctx context.Context) (bool, error) {
		var err error
		lacking, err = s.Temporal.Lacking(ctx, names)
		if process.IsA[*serviceerror.NamespaceNotFound](err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	if len(lacking) == 0 {
		s.say(r, "Temporal: the search attributes are there")
		return nil
	}
	request := &operatorservice.AddSearchAttributesRequest{
		Namespace: s.Namespace, SearchAttributes: map[string]enumspb.IndexedValueType{},
	}
	for _, name := range lacking {
		request.SearchAttributes[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	_, err = s.Temporal.OperatorService().AddSearchAttributes(ctx, request)
	if err != nil && !process.IsA[*serviceerror.AlreadyExists](err) {
		return fmt.Errorf("add search attributes %s: %w", strings.Join(lacking, ", "), err)
	}
	err = until(ctx, func(ctx context.Context) (bool, error) {
		still, err := s.Temporal.Lacking(ctx, names)
		return len(still) == 0, err
	})
	if err != nil {
		return fmt.Errorf("wait for search attributes %s: %w", strings.Join(lacking, ", "), err)
	}
	r.Attributes = lacking
	s.say(r, "Temporal: added the search attributes %s", strings.Join(lacking, ", "))
	return nil
}

// until polls until done returns true or ctx ends.
func until(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextCancel(ctx, knownPoll, true, done)
}
