package k8sadapter

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
)

// workServer holds one Work, and bumps its generation as an API server does.
type workServer struct {
	uid        string
	deleting   bool
	suspend    *bool
	generation int64
	bodies     []map[string]any
}

func (s *workServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPatch {
		raw, _ := io.ReadAll(r.Body)
		var body map[string]any
		_ = json.Unmarshal(raw, &body)
		s.bodies = append(s.bodies, body)
		next := body["spec"].(map[string]any)["suspendDispatching"].(bool) //nolint:errcheck,forcetypeassert // a panic fails the test
		if s.suspend == nil || *s.suspend != next {
			s.generation++
		}
		s.suspend = &next
	}
	deleted := ""
	if s.deleting {
		deleted = `"deletionTimestamp":"2026-03-01T03:00:00Z",`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{%s"namespace":"karmada-es-m1","name":"cart","uid":%q,"resourceVersion":"7%d","generation":%d}}`,
		deleted, s.uid, s.generation, s.generation)
}

// Rules: R4.8-17.
func TestEndWork_BumpsTheGenerationOfTheVeryWorkThatIsBeingDeleted(t *testing.T) {
	yes, no := true, false
	old := karmada.Work{Namespace: "karmada-es-m1", Name: "cart", UID: "w1"}
	for name, c := range map[string]struct {
		server  workServer
		patches int
		err     error
	}{
		"unset":              {server: workServer{uid: "w1", deleting: true}, patches: 1},
		"as Karmada sets it": {server: workServer{uid: "w1", deleting: true, suspend: &no}, patches: 1},
		"true already":       {server: workServer{uid: "w1", deleting: true, suspend: &yes}, patches: 2},
		"another Work":       {server: workServer{uid: "w2", deleting: true}, patches: 0, err: karmada.ErrConflict},
		"not being deleted":  {server: workServer{uid: "w1"}, patches: 0, err: karmada.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			server := c.server
			err := connect(t, &server, Options{}).EndWork(t.Context(), old)
			require.ErrorIs(t, err, c.err)
			require.Len(t, server.bodies, c.patches)
			require.Equal(t, c.patches > 0, server.generation == 1, "one bump")
			for _, body := range server.bodies {
				require.Equal(t, []any{"w1", "70"}, []any{body["metadata"].(map[string]any)["uid"], body["metadata"].(map[string]any)["resourceVersion"]}) //nolint:errcheck,forcetypeassert // a panic fails the test
				require.Len(t, body["spec"], 1)
			}
		})
	}
}
