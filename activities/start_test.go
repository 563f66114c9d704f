package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

// launcher answers each start by the name in its parameters.
type launcher struct {
	says  map[string]error
	asked sync.Map // by request id, the parameters
}

func (s *launcher) Start(_ context.Context, m activities.MigrationStart[json.RawMessage]) error {
	s.asked.Store(m.RequestID, string(m.Params))
	var name string
	if err := json.Unmarshal(m.Params, &name); err != nil {
		return err
	}
	return s.says[name]
}

func (s *launcher) requests() map[any]any { return maps.Collect(s.asked.Range) }

func startsOf(names ...string) (r activities.StartRequest[string]) {
	for _, name := range names {
		r.Starts = append(r.Starts, activities.MigrationStart[string]{Params: name})
	}
	return r
}

func TestStartMigrations_EachHasItsOwnAnswer(t *testing.T) {
	b := newBench(t)
	s := &launcher{says: map[string]error{"runs": activities.ErrRuns, "odd": fmt.Errorf("%w: no such attribute", activities.ErrStartRefused)}}
	b.acts.Launcher = s
	var answer activities.StartAnswer
	require.NoError(t, fixtures.Must(b.env.ExecuteActivity(activities.NameStartMigrations, startsOf("new", "runs", "odd", "new too")))(t).Get(&answer))
	require.NoError(t, answer.Of(0))
	require.ErrorIs(t, answer.Of(1), activities.ErrRuns)
	require.ErrorIs(t, answer.Of(2), activities.ErrStartRefused)
	require.ErrorContains(t, answer.Of(2), "no such attribute")
	require.NoError(t, answer.Of(3))
}

func TestStartMigrations_WhereTheServerIsAway_AllAreTriedAgain(t *testing.T) {
	b := newBench(t)
	s := &launcher{says: map[string]error{"away": errors.New("unavailable")}}
	b.acts.Launcher = s
	_, err := b.env.ExecuteActivity(activities.NameStartMigrations, startsOf("away", "new", "runs"))
	require.ErrorContains(t, err, "unavailable")
	require.Len(t, s.requests(), 3, "one that fails keeps no other from its start")
	again := &launcher{says: s.says}
	b = newBench(t) // whose first activity this is again
	b.acts.Launcher = again
	_, err = b.env.ExecuteActivity(activities.NameStartMigrations, startsOf("away", "new", "runs"))
	require.ErrorContains(t, err, "unavailable")
	require.Equal(t, s.requests(), again.requests(), "the server knows that it is asked the same again, and starts none twice")
}
