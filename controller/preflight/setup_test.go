package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
)

// server is a Temporal whose frontends learn of new things after a while.
type server struct {
	workflowservice.WorkflowServiceClient
	operatorservice.OperatorServiceClient
	namespaceAt  time.Time // zero: there is none
	retention    time.Duration
	attributes   map[string]enumspb.IndexedValueType
	attributesAt time.Time
	denied       error
	updates      int
}

const lag = 40 * time.Second

func (s *server) WorkflowService() workflowservice.WorkflowServiceClient { return s }
func (s *server) OperatorService() operatorservice.OperatorServiceClient { return s }

func (s *server) DescribeNamespace(
	context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption,
) (*workflowservice.DescribeNamespaceResponse, error) {
	if s.denied != nil {
		return nil, s.denied
	}
	if s.namespaceAt.IsZero() || time.Now().Before(s.namespaceAt) {
		return nil, serviceerror.NewNamespaceNotFound("lifeboat")
	}
	return &workflowservice.DescribeNamespaceResponse{Config: &namespacepb.NamespaceConfig{
		WorkflowExecutionRetentionTtl: durationpb.New(s.retention),
	}}, nil
}

func (s *server) RegisterNamespace(
	_ context.Context, r *workflowservice.RegisterNamespaceRequest, _ ...grpc.CallOption,
) (*workflowservice.RegisterNamespaceResponse, error) {
	s.namespaceAt, s.retention = time.Now().Add(lag), r.GetWorkflowExecutionRetentionPeriod().AsDuration()
	return &workflowservice.RegisterNamespaceResponse{}, nil
}

func (s *server) UpdateNamespace(
	_ context.Context, r *workflowservice.UpdateNamespaceRequest, _ ...grpc.CallOption,
) (*workflowservice.UpdateNamespaceResponse, error) {
	s.retention = r.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	s.updates++
	return &workflowservice.UpdateNamespaceResponse{}, nil
}

func (s *server) AddSearchAttributes(
	_ context.Context, r *operatorservice.AddSearchAttributesRequest, _ ...grpc.CallOption,
) (*operatorservice.AddSearchAttributesResponse, error) {
	s.attributes, s.attributesAt = r.GetSearchAttributes(), time.Now().Add(lag)
	return &operatorservice.AddSearchAttributesResponse{}, nil
}

func (s *server) Lacking(_ context.Context, names []string) ([]string, error) {
	if s.attributes == nil || time.Now().Before(s.attributesAt) {
		return names, nil
	}
	return nil, nil
}

type definer struct{ installed int }

func (k *definer) InstallCRDs(context.Context) error { k.installed++; return nil }

func TestSetupMakesWhatIsMissingAndWaitsUntilItCanBeUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, out := &server{}, &definer{}, &strings.Builder{}
		begun := time.Now()
		setup := Setup{Temporal: s, Namespace: "lifeboat", Retention: 48 * time.Hour, Karmada: k, Out: out}
		result, err := setup.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, Standing{
			Namespace: "lifeboat", Created: true, Retention: "48h0m0s", Attributes: result.Attributes, Definitions: true,
		}, result)
		require.Len(t, result.Attributes, len(workflows.SearchAttributeNames()))
		require.GreaterOrEqual(t, time.Since(begun), 2*lag)
		require.Equal(t, 48*time.Hour, s.retention)
		require.Len(t, s.attributes, len(workflows.SearchAttributeNames()))
		require.Equal(t, 1, k.installed)
		require.Contains(t, out.String(), "created namespace lifeboat")
		require.Contains(t, out.String(), "LifeboatCluster")

		begun, s.retention = time.Now(), 72*time.Hour
		result, err = setup.Run(t.Context())
		require.NoError(t, err)
		require.Zero(t, time.Since(begun), "what is there is not made again")
		require.Equal(t, Standing{Namespace: "lifeboat", Retention: "72h0m0s", Definitions: true}, result)
	})
}

func TestSetupLeavesKarmadaAloneWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		result, err := Setup{Temporal: &server{}, Namespace: "lifeboat", Out: &strings.Builder{}}.Run(t.Context())
		require.NoError(t, err)
		require.False(t, result.Definitions)
	})
}

func TestSetupStopsWhereItMayNotLook(t *testing.T) {
	denied := errors.New("denied")
	_, err := Setup{Temporal: &server{denied: denied}, Namespace: "lifeboat", Out: &strings.Builder{}}.Run(t.Context())
	require.ErrorIs(t, err, denied)
}

func TestSetupGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Setup{Temporal: &server{}, Namespace: "lifeboat", Out: &strings.Builder{}}.Run(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// Rules: R4.16-8.
func TestSetupSetsTheRetentionWhereItIsSaidAndTellsIt(t *testing.T) {
	s, out := &server{namespaceAt: time.Now().Add(-time.Hour), retention: 24 * time.Hour, attributes: map[string]enumspb.IndexedValueType{}}, &strings.Builder{}
	setup := Setup{Temporal: s, Namespace: "lifeboat", Retention: 720 * time.Hour, Out: out}
	result, err := setup.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "24h0m0s", result.Retention)
	require.Contains(t, out.String(), "it keeps closed workflows for 24h0m0s")
	require.Zero(t, s.updates, "nobody said that it is to be another")

	setup.SetRetention = true
	for range 2 {
		result, err = setup.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, "720h0m0s", result.Retention)
	}
	require.Equal(t, 720*time.Hour, s.retention)
	require.Equal(t, 1, s.updates)
	require.Contains(t, out.String(), "keeps closed workflows for 720h0m0s now; it was 24h0m0s")
}
