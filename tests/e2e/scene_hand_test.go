package e2e

import (
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
	s.Helper()
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
		raw, err := marshal(object{
			"metadata": object{"resourceVersion": u.GetResourceVersion()}, "spec": object{"taints": list},
		})
		if err != nil {
			return err
		}
		after, err := s.api.Resource(clusters).Patch(s.ctx, name, types.MergePatchType, raw, metav1.PatchOptions{})
		if err == nil {
			s.sees(clusters, after)
		}
		return err
	}))
}
