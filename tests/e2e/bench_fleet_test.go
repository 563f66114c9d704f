package e2e

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// Names in the one binding of which the others are copies.
const (
	copied     = "other-template"
	copiedHome = "template-home"
	copiedNext = "template-next"
)

// deployElsewhere makes bindings that stand on clusters, with the status that Karmada gives them. No controller of the
// lab looks at them: they are there to be read. The API server stores one, and etcd gets its copies directly: a
// hundred thousand through the API server take half an hour.
func (s *scene) deployElsewhere(on []string, n int) {
	if n <= 0 {
		return
	}
	at := s.api.Resource(resourceBindings).Namespace(s.namespace())
	u := deployment(s.namespace(), copied, copiedHome, 2, oneOf(copiedHome, copiedNext))
	specOf(u)["suspension"] = object{"scheduling": true}
	u.SetAnnotations(map[string]string{"lab.lifeboat.dev/no-works": "true"})
	status, err := json.Marshal(object{"status": object{
		"schedulerObservedGeneration": 1,
		"aggregatedStatus":            []any{object{"clusterName": copiedHome, "applied": true, "health": "Healthy", "status": object{"readyReplicas": 2, "replicas": 2}}},
	}})
	require.NoError(s, err)
	u, err = at.Create(s.ctx, u, metav1.CreateOptions{})
	require.NoError(s, err)
	id := u.GetLabels()["resourcebinding.karmada.io/permanent-id"]
	require.NotEmpty(s, id)
	_, err = at.Patch(s.ctx, copied, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	require.NoError(s, err)

	key := "/registry/work.karmada.io/resourcebindings/" + s.namespace() + "/"
	stored, err := s.etcdGet(key + copied)
	require.NoError(s, err)
	const each = 100 // etcd takes 128 operations in one transaction
	var clients errgroup.Group
	clients.SetLimit(4)
	for from := 0; from < n; from += each {
		copies := map[string]string{}
		for i := from; i < min(n, from+each); i++ {
			name := fmt.Sprintf("other-%d", i)
			copies[key+name] = strings.NewReplacer(copied, name, string(u.GetUID()), string(uuid.NewUUID()), id, string(uuid.NewUUID()),
				copiedHome, on[i%len(on)], copiedNext, on[(i+1)%len(on)]).Replace(stored)
		}
		clients.Go(func() error { return s.etcdPut(copies) })
	}
	require.NoError(s, clients.Wait())
	require.NoError(s, at.Delete(s.ctx, copied, metav1.DeleteOptions{}))
}

// etcdPut stores values in one transaction.
func (s *scene) etcdPut(values map[string]string) error {
	var puts []any
	for key, value := range values {
		puts = append(puts, object{"requestPut": object{"key": []byte(key), "value": []byte(value)}})
	}
	return postTo(s.ctx, s.lab.At.Etcd+"/v3/kv/txn", object{"success": puts}, nil)
}

// etcdGet reads one value.
func (s *scene) etcdGet(key string) (string, error) {
	var found struct {
		KVs []struct {
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	if err := postTo(s.ctx, s.lab.At.Etcd+"/v3/kv/range", object{"key": []byte(key)}, &found); err != nil {
		return "", err
	}
	if len(found.KVs) != 1 {
		return "", fmt.Errorf("etcd has no %s", key)
	}
	return string(found.KVs[0].Value), nil
}
