package ports

import (
	"encoding/json"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
)

// A migration is started under its own id, with the parameters as they came, and found by its attributes.
func TestStart_AnswersOfTheServer(t *testing.T) {
	params := fixtures.Must(json.Marshal(workflows.BindingMigrationParams{State: workflows.MigrationState{
		Ref: activities.MigrationRef{Cluster: "m1", Key: karmada.BindingKey{Namespace: "shop", Name: "app"}, Mode: "Enforce"}, FailoverID: "f",
	}}))(t)
	unavailable := serviceerror.NewUnavailable("away")
	for name, c := range map[string]struct {
		says, want error
	}{
		"started":       {},
		"runs already":  {says: serviceerror.NewWorkflowExecutionAlreadyStarted("it runs", "", ""), want: activities.ErrRuns},
		"invalid":       {says: serviceerror.NewInvalidArgument("no such attribute"), want: activities.ErrStartRefused},
		"not permitted": {says: serviceerror.NewPermissionDenied("no", ""), want: activities.ErrStartRefused},
		"away":          {says: unavailable, want: unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			server := mocks.NewClient(t)
			server.On("ExecuteWorkflow", mock.Anything, mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
				binding, _ := o.TypedSearchAttributes.GetKeyword(workflows.SearchBinding)
				return o.ID == "binding-migration/m1/shop/app" && o.TaskQueue == "queue" && o.StaticSummary == "move it" &&
					o.WorkflowExecutionErrorWhenAlreadyStarted && binding == "shop/app" && o.Memo["lifeboatFailover"] == "f"
			}), workflows.TypeBindingMigration, json.RawMessage(params)).Return(nil, c.says)
			err := Migrations{Client: server, TaskQueue: "queue"}.Start(t.Context(), activities.MigrationStart[json.RawMessage]{Params: params, Summary: "move it"})
			require.ErrorIs(t, err, c.want)
		})
	}
	odd := Migrations{Client: mocks.NewClient(t)}.Start(t.Context(), activities.MigrationStart[json.RawMessage]{Params: json.RawMessage("{")})
	require.ErrorIs(t, odd, activities.ErrStartRefused, "what nobody can read no repetition mends")
}
