package k8sadapter

import (
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
)

// Eviction tasks were silently dropped by concurrent patches of the whole list: whoever
// wrote last had not read what the other one wrote. Each of Lifeboat's writes is refused then,
// and repeated on what stands it keeps all of it.
//
// Rules: R4.7-7, R4.7-9, R4.7-10.
func TestKarmada7302ConcurrentWritersDropNoTask(t *testing.T) {
	// The other one adds a task of its own and moves a replica, between Lifeboat's read and Lifeboat's write.
	const theirs = `{"fromCluster":"m5","producer":"TaintManager","reason":"TaintUntolerated","gracePeriodSeconds":9}`
	meanwhile := strings.NewReplacer(
		`"gracefulEvictionTasks":[`, `"gracefulEvictionTasks":[`+theirs+`,`, `"resourceVersion":"7"`, `"resourceVersion":"8"`, `"resourceVersion":"9"`, `"resourceVersion":"10"`,
	)
	for name, c := range map[string]struct {
		stands string
		ours   int // Lifeboat tasks for m1 after the write
		write  func(*Client, *karmada.Binding) (karmada.Binding, error)
	}{
		"evict": {stands: shared, ours: 1, write: func(k *Client, b *karmada.Binding) (karmada.Binding, error) {
			return k.Evict(t.Context(), activities.EvictWrite{Binding: b, Cluster: "m1", Owner: "w", Now: at, Reason: karmada.TaskReason})
		}},
		"hold": {stands: shared, ours: 1, write: func(k *Client, b *karmada.Binding) (karmada.Binding, error) {
			return k.Hold(t.Context(), activities.HoldWrite{Binding: b, Cluster: "m1", Owner: "w", Now: at, Reason: karmada.TaskReason})
		}},
		"release": {stands: heldAlone, ours: 0, write: func(k *Client, b *karmada.Binding) (karmada.Binding, error) {
			return k.Release(t.Context(), activities.ReleaseWrite{Binding: b, Cluster: "m1"})
		}},
		"restore": {stands: heldAlone, ours: 0, write: func(k *Client, b *karmada.Binding) (karmada.Binding, error) {
			return k.Restore(t.Context(), activities.RestoreWrite{Binding: b, Cluster: "m1", Replicas: 2, Now: at})
		}},
		"mark": {stands: heldAlone, ours: 1, write: func(k *Client, b *karmada.Binding) (karmada.Binding, error) {
			return k.Mark(t.Context(), activities.MarkWrite{Binding: b, Cluster: "m1", Reason: karmada.TaskReasonKept})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			server := &apiServer{objects: map[string]string{rbPath: c.stands}}
			client := connect(t, server, Options{})
			key := karmada.BindingKey{Namespace: "shop", Name: "cart-deployment"}
			read, err := client.Binding(t.Context(), key)
			require.NoError(t, err)
			others := len(read.Tasks)
			if _, at := read.TaskFor("m1"); at >= 0 {
				others--
			}
			now := meanwhile.Replace(c.stands)
			require.NotEqual(t, read.ResourceVersion, version([]byte(now)))
			server.mutex.Lock()
			server.objects[rbPath] = now
			server.mutex.Unlock()

			_, err = c.write(client, &read)
			require.ErrorIs(t, err, karmada.ErrConflict)
			server.mutex.Lock()
			require.Equal(t, now, server.objects[rbPath], "what the other one wrote stands as it was")
			server.mutex.Unlock()

			read, err = client.Binding(t.Context(), key)
			require.NoError(t, err)
			after, err := c.write(client, &read)
			require.NoError(t, err)
			require.Len(t, after.Tasks, others+1+c.ours, "every task of others, the new one too, and Lifeboat's: %+v", after.Tasks)
			_, at := after.TaskFor("m1")
			require.Equal(t, c.ours == 1, at >= 0)
			require.Contains(t, server.objects[rbPath], `"gracePeriodSeconds":9`, "with the fields that we do not know")
		})
	}
}
