package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Temporal is the server that is set up.
type Temporal interface {
	WorkflowService() workflowservice.WorkflowServiceClient
	OperatorService() operatorservice.OperatorServiceClient
	// Lacking are those of the search attributes that the namespace does not know.
	Lacking(ctx context.Context, attributes []string) ([]string, error)
}

// Karmada is the control plane that is set up.
type Karmada interface {
	InstallCRDs(ctx context.Context) error
}

// Setup is what to set up. Every step says what it did on Out.
type Setup struct {
	Temporal  Temporal
	Namespace string
	// Retention is how long a new namespace keeps closed workflows, and so reports.
	Retention time.Duration
	// Karmada is nil to leave it alone.
	Karmada Karmada
	Out     io.Writer
}

// knownPoll is how often the server is asked whether it knows a new thing: its
// frontends cache for up to a minute.
const knownPoll = 500 * time.Millisecond

// Run sets up what is missing and returns when all of it can be used.
func (s Setup) Run(ctx context.Context) error {
	if err := s.namespace(ctx); err != nil {
		return err
	}
	if err := s.attributes(ctx); err != nil {
		return err
	}
	if s.Karmada == nil {
		return nil
	}
	if err := s.Karmada.InstallCRDs(ctx); err != nil {
		return err
	}
	s.say("Karmada: the definition of ClusterTaintRule stands")
	return nil
}

func (s Setup) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Out, format+"\n", args...) // a closed terminal stops no setup
}

func (s Setup) namespace(ctx context.Context) error {
	describe := func(ctx context.Context) error {
		_, err := s.Temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.Namespace})
		return err
	}
	err := describe(ctx)
	var missing *serviceerror.NamespaceNotFound
	if err == nil {
		s.say("Temporal: namespace %s is there", s.Namespace)
		return nil
	}
	if !errors.As(err, &missing) {
		return fmt.Errorf("describe Temporal namespace %s: %w", s.Namespace, err)
	}
	_, err = s.Temporal.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace:                        s.Namespace,
		Description:                      "Cluster failovers of Karmada, by Lifeboat",
		WorkflowExecutionRetentionPeriod: durationpb.New(s.Retention),
	})
	var raced *serviceerror.NamespaceAlreadyExists
	if err != nil && !errors.As(err, &raced) {
		return fmt.Errorf("create Temporal namespace %s: %w", s.Namespace, err)
	}
	err = until(ctx, func(ctx context.Context) (bool, error) { return describe(ctx) == nil, nil })
	if err != nil {
		return fmt.Errorf("wait for Temporal namespace %s: %w", s.Namespace, err)
	}
	s.say("Temporal: created namespace %s, which keeps closed workflows for %s", s.Namespace, s.Retention)
	return nil
}

func (s Setup) attributes(ctx context.Context) error {
	names := workflows.SearchAttributeNames()
	var lacking []string
	// A new namespace may not be known to every frontend yet.
	err := until(ctx, func(ctx context.Context) (bool, error) {
		var err error
		lacking, err = s.Temporal.Lacking(ctx, names)
		var missing *serviceerror.NamespaceNotFound
		if errors.As(err, &missing) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	if len(lacking) == 0 {
		s.say("Temporal: the search attributes are there")
		return nil
	}
	request := &operatorservice.AddSearchAttributesRequest{
		Namespace: s.Namespace, SearchAttributes: map[string]enumspb.IndexedValueType{},
	}
	for _, name := range lacking {
		request.SearchAttributes[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	var raced *serviceerror.AlreadyExists
	if _, err := s.Temporal.OperatorService().AddSearchAttributes(ctx, request); err != nil && !errors.As(err, &raced) {
		return fmt.Errorf("add search attributes %s: %w", strings.Join(lacking, ", "), err)
	}
	err = until(ctx, func(ctx context.Context) (bool, error) {
		still, err := s.Temporal.Lacking(ctx, names)
		return len(still) == 0, err
	})
	if err != nil {
		return fmt.Errorf("wait for search attributes %s: %w", strings.Join(lacking, ", "), err)
	}
	s.say("Temporal: added the search attributes %s", strings.Join(lacking, ", "))
	return nil
}

// until asks again and again, as long as ctx allows.
func until(ctx context.Context, done func(context.Context) (bool, error)) error {
	ticker := time.NewTicker(knownPoll)
	defer ticker.Stop()
	for {
		ok, err := done(ctx)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
