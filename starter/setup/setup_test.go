package setup

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
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
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
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

func (s *server) RegisterNamespace(
	_ context.Context, r *workflowservice.RegisterNamespaceRequest, _ ...grpc.CallOption,
) (*workflowservice.RegisterNamespaceResponse, error) {
	s.namespaceAt, s.retention = time.Now().Add(lag), r.GetWorkflowExecutionRetentionPeriod().AsDuration()
	return &workflowservice.RegisterNamespaceResponse{}, nil
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

type karmada struct{ installed int }

func (k *karmada) InstallCRDs(context.Context) error { k.installed++; return nil }

func TestSetupMakesWhatIsMissingAndWaitsUntilItCanBeUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, out := &server{}, &karmada{}, &strings.Builder{}
		begun := time.Now()
		setup := Setup{Temporal: s, Namespace: "lifeboat", Retention: 48 * time.Hour, Karmada: k, Out: out}
		require.NoError(t, setup.Run(t.Context()))
		require.GreaterOrEqual(t, time.Since(begun), 2*lag)
		require.Equal(t, 48*time.Hour, s.retention)
		require.Len(t, s.attributes, len(workflows.SearchAttributeNames()))
		require.Equal(t, 1, k.installed)
		require.Contains(t, out.String(), "created namespace lifeboat")
		require.Contains(t, out.String(), "LifeboatCluster")

		begun, s.retention = time.Now(), 0
		require.NoError(t, setup.Run(t.Context()))
		require.Zero(t, time.Since(begun), "what is there is not made again")
		require.Zero(t, s.retention)
	})
}

func TestSetupLeavesKarmadaAloneWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, Setup{Temporal: &server{}, Namespace: "lifeboat", Out: &strings.Builder{}}.Run(t.Context()))
	})
}

func TestSetupStopsWhereItMayNotLook(t *testing.T) {
	denied := errors.New("denied")
	err := Setup{Temporal: &server{denied: denied}, Namespace: "lifeboat", Out: &strings.Builder{}}.Run(t.Context())
	require.ErrorIs(t, err, denied)
}

func TestSetupGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := Setup{Temporal: &server{}, Namespace: "lifeboat", Out: &strings.Builder{}}.Run(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
