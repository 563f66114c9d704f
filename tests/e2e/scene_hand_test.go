package e2e

import (
	"encoding/json"
	"slices"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

// taintByHand puts or removes a taint as an administrator, keeping the others. The
// cluster's status may change between the read and the write, as it may for anybody.
func (s *scene) taintByHand(name, key, effect string, put bool) {
	require.NoError(s, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		u, err := s.api.Resource(clusters).Get(s.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		list, _, err := unstructured.NestedSlice(u.Object, "spec", "taints")
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(t any) bool {
			is, ok := t.(object)
			return ok && is["key"] == key && is["effect"] == effect
		})
		if put {
			list = append(list, object{"key": key, "effect": effect})
		}
		return s.patchCluster(name, object{
			"metadata": object{"resourceVersion": u.GetResourceVersion()}, "spec": object{"taints": list},
		})
	}))
}

// cordoned is the taint by which a story keeps the scheduler away from a cluster.
const cordoned = "example.com/cordoned"

// deployApart deploys a binding of two replicas that may be divided over two clusters and runs on the first alone: the
// other was cordoned at first, and the scheduler has no reason to look again when taints come and go.
func (s *scene) deployApart(name, home, other string) string {
	s.taintByHand(other, cordoned, "NoSchedule", true)
	key := s.deploy(name, "", 2, dividedOver(home, other))
	s.taintByHand(other, cordoned, "NoSchedule", false)
	require.Equal(s, []string{home}, s.find(key).targets())
	return key
}

// killAndCordon kills a cluster, and cordons the only other one for a binding while its eviction is on its way.
func (s *scene) killAndCordon(from, key, other string) {
	eviction := s.gate.stopAt(false, func(w write) bool { return w.evicts(key, from) })
	s.kill(from)
	s.reaches(eviction, "the eviction is on its way")
	s.taintByHand(other, cordoned, "NoSchedule", true)
	eviction.letGo()
}

// patchCluster changes a cluster as an administrator, once.
func (s *scene) patchCluster(name string, change object, subresource ...string) error {
	raw, err := json.Marshal(change)
	require.NoError(s, err)
	after, err := s.api.Resource(clusters).Patch(s.ctx, name, types.MergePatchType, raw, metav1.PatchOptions{}, subresource...)
	if err == nil {
		s.sees(clusters, after)
	}
	return err
}

// noteByHand sets the soft taints of a cluster as an administrator; an empty value removes them.
func (s *scene) noteByHand(name, value string) {
	require.NoError(s, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		return s.patchCluster(name, annotated(prefix+"soft-taints", value))
	}))
}

// annotated is a patch that sets an annotation; an empty value removes it.
func annotated(annotation, value string) object {
	set := any(value)
	if value == "" {
		set = nil
	}
	return object{"metadata": object{"annotations": object{annotation: set}}}
}
