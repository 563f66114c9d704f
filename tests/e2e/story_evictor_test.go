package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// secondEvictor runs a failover beside Karmada's own taint manager, which is turned on: it evicts, outside the pace,
// a binding that Lifeboat leaves alone. It is turned off in the order that preflight names, the controller that ends
// its tasks last.
//
// It guards the halt of §4.15: nothing more is evicted until an operator resumes, a resume
// while the task stands halts again, and the failover then ends as any other.
//
// A binding that has nowhere else to run is held beside Karmada's task, whose end is not its end then.
//
// Rules: R4.15-28, R4.15-29, R4.15-31.
func secondEvictor(s *scene) {
	s.Cleanup(func() {
		s.knobs(context.Background(), object{"taintManager": false, "gracefulEvictionEnabled": true})
	})
	s.knobs(s.ctx, object{"taintManager": true, "gracefulEvictionEnabled": false})
	s.rule(time.Second, time.Second)
	from, to := s.c(1), s.c(2)
	app := s.deploy("app", from, 1, tolerating(oneOf(from, to), 30*time.Second))
	theirs := s.deploy("theirs", from, 1, tolerating(oneOf(from, to), 5*time.Second), prefix+"enabled=false")
	last := s.deploy("last", from, 1, tolerating(oneOf(from), 5*time.Second))

	s.kill(from)
	halted := func(e *clusterFailover) bool {
		return e.Paused != nil && e.Paused.Who == "lifeboat" && strings.Contains(e.Paused.Reason, "SecondEvictor") &&
			strings.Contains(e.Paused.Reason, "--enable-no-execute-taint-eviction=false")
	}
	s.awaitFailover(from, "halted beside a second evictor", halted)
	s.knobs(s.ctx, object{"taintManager": false})
	require.Equal(s, "TaintManager", s.find(theirs).Spec.Tasks[0].Producer)
	s.awaitFailover(from, "due, and paused", func(e *clusterFailover) bool { return e.waits(app, "ready", "Paused") })
	s.order("resume", from)
	s.awaitFailover(from, "halted again", halted)
	s.remains(3*time.Second, "nothing is evicted", func() bool { return len(s.find(app).Spec.Tasks) == 0 })

	s.await("the last copy is held beside Karmada's task", func() (bool, string) {
		b := s.find(last)
		return len(b.Spec.Tasks) == 2 && len(b.held(from)) == 1, fmt.Sprintf("%+v", b)
	})
	s.await("and Karmada's task alone goes", func() (bool, string) { return s.dropTheirs(last), "" })

	s.knobs(s.ctx, object{"gracefulEvictionEnabled": true})
	s.await("Karmada has ended its task", func() (bool, string) {
		return len(s.find(theirs).Spec.Tasks) == 0, fmt.Sprintf("%+v", s.find(theirs))
	})
	s.order("resume", from)
	s.await("the other has moved", func() (bool, string) {
		b := s.find(app)
		return slices.Equal(b.targets(), []string{to}) && len(b.Spec.Tasks) == 0, fmt.Sprintf("%+v", b)
	})
	s.releasedWhenItRan(app, from)
	require.Equal(s, []string{to}, s.find(theirs).targets())
	s.recovers(from, map[string]string{app: "Migrated", last: "Restored"})
}

// dropTheirs does what a timeout does to the tasks of Karmada's taint manager; false where the
// binding changed meanwhile.
func (s *scene) dropTheirs(key string) bool {
	at := s.named(key)
	client := s.api.Resource(resourceOf(at)).Namespace(at.GetNamespace())
	u, err := client.Get(s.ctx, at.GetName(), metav1.GetOptions{})
	require.NoError(s, err)
	tasks, _, err := unstructured.NestedSlice(u.Object, "spec", "gracefulEvictionTasks")
	require.NoError(s, err)
	tasks = slices.DeleteFunc(tasks, func(t any) bool {
		task, is := t.(object)
		return is && task["producer"] == "TaintManager"
	})
	require.NoError(s, unstructured.SetNestedSlice(u.Object, tasks, "spec", "gracefulEvictionTasks"))
	_, err = client.Update(s.ctx, u, metav1.UpdateOptions{})
	return err == nil
}

// knobs changes how the lab's Karmada runs.
func (s *scene) knobs(ctx context.Context, changes object) {
	require.NoError(s, s.lab.control(ctx, "knobs", "", changes))
}
