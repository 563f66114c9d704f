package k8sadapter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClusters_ListedAgain_OnlyThoseThatChangedAreDecoded(t *testing.T) {
	const path, labelled = "/apis/cluster.karmada.io/v1alpha1/clusters", `{"metadata":{"name":"m1","labels":{"a":"b"}}}`
	server := &apiServer{objects: map[string]string{path: `{"items":[` + labelled + `,{"metadata":{"name":"m2"}}]}`}}
	client := connect(t, server, Options{})
	first, err := client.Clusters(t.Context())
	require.NoError(t, err)

	server.objects[path] = `{"items":[` + labelled + `,{"metadata":{"name":"m2","uid":"other"}},{"metadata":{"name":"m3"}}]}`
	second, err := client.Clusters(t.Context())
	require.NoError(t, err)
	require.Len(t, second, 3)
	require.Equal(t, first[0], second[0])
	first[0].Labels["a"] = "seen in both"
	require.Equal(t, "seen in both", second[0].Labels["a"], "it was decoded again")
	require.EqualValues(t, "other", second[1].UID)
	require.Equal(t, "m3", second[2].Name)

	delete(server.objects, path)
	_, err = client.Clusters(t.Context())
	require.Error(t, err)
}
