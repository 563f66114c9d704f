package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"
)

// NameStartMigrations starts migrations, many at a time: as children of their failover each would cost it three events
// under its lock.
const NameStartMigrations = "StartMigrations"

// StartRequest asks for migrations to be started; P are the parameters of each, which the activity hands on as they are.
type StartRequest[P any] struct {
	Starts []MigrationStart[P] `json:"starts"`
}

// MigrationStart is one migration to be started.
type MigrationStart[P any] struct {
	Params P `json:"params"`
	// Summary is what Temporal's list shows of it.
	Summary string `json:"summary,omitempty"`
	// RequestID is the same in each attempt, so that the server starts it once.
	RequestID string `json:"-"`
}

// StartAnswer is what became of the starts of a request, by their place in it. What is in neither map was started.
type StartAnswer struct {
	// Running: a migration of that id runs already, which another request has started.
	Running map[int]bool `json:"running,omitempty"`
	// Refused is why the server takes no such start, however often it is repeated.
	Refused map[int]string `json:"refused,omitempty"`
}

// Of is what became of one start: nil, [ErrRuns] or [ErrStartRefused].
func (a StartAnswer) Of(n int) error {
	switch why, refused := a.Refused[n]; {
	case refused:
		return fmt.Errorf("%w: %s", ErrStartRefused, why)
	case a.Running[n]:
		return ErrRuns
	default:
		return nil
	}
}

// Why a migration is not started.
var (
	ErrRuns         = errors.New("a migration of that id runs already")
	ErrStartRefused = errors.New("the server refuses the start")
)

// startsAtOnce bounds how many starts of one request wait for the server at a time.
const startsAtOnce = 10

// StartMigrations starts migrations, each in a call of its own. Where the server cannot be reached the whole is tried
// again, and the server starts none a second time: also one that has ended by then counts as started.
func (a *Activities) StartMigrations(ctx context.Context, r StartRequest[json.RawMessage]) (StartAnswer, error) {
	answer := StartAnswer{Running: map[int]bool{}, Refused: map[int]string{}}
	var mu sync.Mutex
	var calls errgroup.Group
	calls.SetLimit(startsAtOnce)
	info := activity.GetInfo(ctx)
	for n, start := range r.Starts {
		start.RequestID = fmt.Sprintf("%s/%s/%d", info.WorkflowExecution.RunID, info.ActivityID, n)
		calls.Go(func() error {
			err := a.Launcher.Start(ctx, start)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, ErrRuns):
				answer.Running[n] = true
			case errors.Is(err, ErrStartRefused):
				answer.Refused[n] = err.Error()
			case err != nil:
				return err
			}
			return nil
		})
	}
	return answer, calls.Wait()
}
