package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// nothingLeft is how every story ends (invariants 5 and 6, and of 9 what is Lifeboat's):
// no workflow of it runs, no taint, annotation or hold task of Lifeboat's stands.
func (s *scene) nothingLeft() {
	for _, name := range s.all() {
		s.closed(failoverID(name))
	}
	for _, u := range s.bindings {
		s.closed(applicationID(keyOf(u)))
	}
	s.abreast()
	for _, u := range s.bindings {
		for _, name := range s.all() {
			running := true
			s.awaitQuietly("Temporal answers", func() (ok bool, seen string) {
				var err error
				running, err = s.temporal.running(s.ctx, migrationID(name, keyOf(u)))
				return err == nil, fmt.Sprint(err)
			})
			require.False(s, running, "%s still runs", migrationID(name, keyOf(u)))
		}
		s.nothingLeftIn(keyOf(u))
		s.neverWrong(keyOf(u))
	}
	for _, name := range s.all() {
		require.Empty(s, s.leftOn(name), "left on %s", name)
	}
	s.toldOnce()
}

// closed waits until no failover with an id runs.
func (s *scene) closed(id string) {
	s.awaitQuietly("closed: "+id, func() (bool, string) {
		running, err := s.temporal.running(s.ctx, id)
		return err == nil && !running, fmt.Sprint(err)
	})
}

// toldOnce looks at the Events on what is the story's: nothing is said by two of them,
// whoever tried again, and what was done names the workflow that did it.
func (s *scene) toldOnce() {
	seen := map[string]bool{}
	for _, namespace := range []string{s.namespace(), "default"} {
		list, err := s.api.Resource(events).Namespace(namespace).List(s.ctx, metav1.ListOptions{})
		require.NoError(s, err)
		for i := range list.Items {
			e, err := decode[announced](&list.Items[i])
			require.NoError(s, err)
			if e.Source.Component != "lifeboat-worker" || namespace == "default" && !slices.Contains(s.all(), e.About.Name) {
				continue
			}
			said := fmt.Sprintf("%s %s %s: %s: %s", e.About.Kind, e.About.Name, e.About.UID, e.Reason, e.Message)
			require.False(s, seen[said], "said by two Events: %s", said)
			seen[said] = true
			require.Regexp(s, `(cluster-failover|application-failover|binding-migration)/`, e.Message, "names no workflow: %s", said)
		}
	}
}

// announced is what the stories read of an Event.
type announced struct {
	About struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
		UID  string `json:"uid"`
	} `json:"involvedObject"`
	Source struct {
		Component string `json:"component"`
	} `json:"source"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (s *scene) nothingLeftIn(key string) {
	b := s.find(key)
	require.NotNil(s, b)
	for _, t := range b.Spec.Tasks {
		require.NotEqual(s, producer, t.Producer, "a hold task is left in %s: %+v", key, t)
	}
	require.NotEmpty(s, b.Spec.Clusters, "%s is left without a target", key)
}

// neverWrong looks at every state that a binding was ever in. Invariant 2: it never
// stood there with neither target nor hold, once it ran, but for one that the story itself
// left so. Invariant 5: it never had two tasks of one producer for one cluster.
func (s *scene) neverWrong(key string) {
	placed := false
	for _, v := range s.versions(key) {
		b := s.binding(v)
		placed = placed || len(b.Spec.Clusters) > 0
		if placed && key != s.emptied {
			require.False(s, len(b.Spec.Clusters) == 0 && len(b.Spec.Tasks) == 0,
				"at revision %d %s has neither target nor hold", v.Revision, key)
		}
		seen := map[string]bool{}
		for _, t := range b.Spec.Tasks {
			one := t.Producer + " for " + t.FromCluster
			require.False(s, seen[one], "at revision %d %s has two tasks of %s", v.Revision, key, one)
			seen[one] = true
			if t.Producer == producer {
				require.Contains(s, []string{"Gracefully", "Directly", "Never"}, t.PurgeMode)
				require.NotNil(s, t.SuppressDeletion)
				require.True(s, *t.SuppressDeletion)
			}
		}
	}
}

// tell prints what is known of a story that failed.
func (s *scene) tell() {
	if !s.Failed() {
		return
	}
	for _, name := range s.all() {
		e, err := query[clusterFailover](s.ctx, s.temporal, failoverID(name))
		if err == nil {
			s.Logf("failover of %s: %s", name, e)
		} else if s.asked[name] {
			s.Logf("failover of %s: %v", name, err)
		}
	}
	for _, u := range s.bindings {
		versions := s.versions(keyOf(u))
		if len(versions) > 0 {
			s.Logf("binding %s: %s", keyOf(u), brief(versions[len(versions)-1].Object))
		}
	}
	for _, a := range s.writes() {
		s.Logf("wrote: %s", a)
	}
	s.Logf("the worker's log about it:\n%s", about(s.logFile("worker"), s.story.short, 60))
	s.Logf("the controller's log about it:\n%s", about(s.logFile("controller"), s.story.short, 20))
}

func brief(u *unstructured.Unstructured) string {
	raw, err := json.Marshal(object{"generation": u.GetGeneration(), "spec": u.Object["spec"], "status": u.Object["status"]})
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// about are the newest lines of a log that name something.
func about(file, what string, most int) string {
	var lines []string
	for line := range strings.Lines(tail(file, 20000)) {
		if strings.Contains(line, what) && !strings.Contains(line, "level=DEBUG") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
