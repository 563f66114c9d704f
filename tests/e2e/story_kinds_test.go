package e2e

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kindsThatStay fails a cluster with one object of each kind that must not move like a ConfigMap, and a
// Service. The operator approves the Job that runs, and has a definition without objects move by an annotation.
//
// It guards that a CustomResourceDefinition, a Namespace, a PersistentVolumeClaim and a Job that has
// completed stay on the cluster that returns, by their very Work; that a Job that runs begins again only
// with an approval; and that a Service moves.
//
// Rules: R4.6-45, R4.6-46, R4.6-47.
func kindsThatStay(s *scene) {
	s.rule(time.Second, time.Second)
	from, to := s.c(1), s.c(2)
	definition := s.ofKind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "boats.kinds.example.com")
	space := s.ofKind("v1", "Namespace", "", "kinds-of-a-tenant")
	claim := s.ofKind("v1", "PersistentVolumeClaim", s.namespace(), "data")
	moved := s.ofKind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "nets.moved.example.com")
	annotate(moved, prefix+"enabled", "true")
	done, running := s.ofKind("batch/v1", "Job", s.namespace(), "done"), s.ofKind("batch/v1", "Job", s.namespace(), "running")
	annotate(running, faultReadyAfter, "1h")
	service := s.ofKind("v1", "Service", s.namespace(), "web")
	s.run(definition, space, claim, moved, done, running, service)
	s.await("the first Job has completed", func() (bool, string) {
		all := s.versions(keyOf(done))
		raw, err := json.Marshal(all[len(all)-1].Object.Object)
		require.NoError(s, err)
		return strings.Contains(string(raw), "completionTime"), string(raw)
	})
	stay := []string{keyOf(definition), keyOf(space), keyOf(claim), keyOf(done)}
	works := map[string]string{}
	for _, key := range stay {
		works[key] = string(s.work(key, from).UID)
	}

	s.kill(from)
	s.blocked(from, keyOf(running), "AwaitingApproval")
	s.order("approve", keyOf(running), "--cluster", from)
	s.phase(from, "Evacuated")
	for _, u := range []*unstructured.Unstructured{running, service, moved} {
		require.Equal(s, []string{to}, s.find(keyOf(u)).targets(), keyOf(u))
	}
	s.recovers(from, map[string]string{
		keyOf(definition): "Skipped", keyOf(space): "Skipped", keyOf(claim): "Skipped", keyOf(done): "Skipped",
		keyOf(running): "Migrated", keyOf(service): "Migrated", keyOf(moved): "Migrated",
	})
	s.catchUp()
	for _, key := range stay {
		require.Empty(s, s.writesTo(key), key)
		require.Equal(s, []string{from}, s.find(key).targets(), key)
		w := s.work(key, from)
		require.Nil(s, w.DeletionTimestamp, key)
		require.Equal(s, works[key], string(w.UID), key)
	}
}

// ofKind is the binding of an object that is on the story's first cluster and may run on the second.
func (s *scene) ofKind(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := bindingOf(apiVersion, kind, namespace, name, oneOf(s.c(1), s.c(2)))
	specOf(u)["clusters"] = []any{object{"name": s.c(1)}}
	return u
}
