package k8sadapter

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

func TestClusters_ListedAgain_OnlyThoseThatChangedAreDecoded(t *testing.T) {
	const path, labelled = "/apis/cluster.karmada.io/v1alpha1/clusters", `{"metadata":{"name":"m1","uid":"u","resourceVersion":"1","labels":{"a":"b"}}}`
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

// Rules: R4.1-15.
func TestClusters_WithADeletionTimestamp_AreDrainedWhereTheOptionSaysSo(t *testing.T) {
	const deleting = `{"metadata":{"name":"m1","uid":"u","resourceVersion":"1","deletionTimestamp":"2026-01-02T03:04:05Z"}}`
	for _, drains := range []bool{true, false} {
		client := connect(t, &apiServer{objects: map[string]string{clustersPath: `{"items":[` + deleting + `]}`, clustersPath + "/m1": deleting}}, Options{DrainDeleting: drains})
		listed, one, now := fixtures.Must(client.Clusters(t.Context()))(t), fixtures.Must(client.Cluster(t.Context(), "m1"))(t), fixtures.Must(client.ClusterNow(t.Context(), "m1"))(t)
		written := fixtures.Must(client.Taint(t.Context(), activities.TaintWrite{Cluster: now}))(t)
		for _, c := range []karmada.Cluster{listed[0], one, now, written} {
			require.Equal(t, drains, c.Drain != nil)
		}
	}
}

// fleetServer serves clusters with a version each, also their metadata alone, and notes what it was asked for.
type fleetServer struct {
	versions map[string]int
	gone     map[string]bool // listed, and not there when it is read
	listOnly bool
	asked    []string
}

const clustersPath = "/apis/cluster.karmada.io/v1alpha1/clusters"

func (s *fleetServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	name, single := strings.CutPrefix(r.URL.Path, clustersPath+"/")
	switch {
	case single && s.listOnly:
		answer(w, http.StatusForbidden, "Forbidden")
	case single && s.gone[name]:
		answer(w, http.StatusNotFound, "NotFound")
	case single:
		s.asked = append(s.asked, name)
		_, _ = io.WriteString(w, s.metadata(name)+s.spec(name))
	case strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"):
		s.list(w, "metadata", func(string) string { return "}" })
	default:
		s.list(w, "all", s.spec)
	}
}

func (s *fleetServer) metadata(name string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"uid":"u-%[1]s","resourceVersion":"%[2]d"}`, name, s.versions[name])
}

func (s *fleetServer) spec(name string) string {
	return fmt.Sprintf(`,"spec":{"provider":"p%d"}}`, s.versions[name])
}

func (s *fleetServer) list(w io.Writer, what string, rest func(name string) string) {
	s.asked = append(s.asked, what)
	var items []string
	for _, name := range slices.Sorted(maps.Keys(s.versions)) {
		items = append(items, s.metadata(name)+rest(name))
	}
	_, _ = io.WriteString(w, `{"items":[`+strings.Join(items, ",")+`]}`)
}

// Of many clusters the metadata are listed, and those that changed are read. Whatever is in the way of that, the whole
// list is read.
//
// Rules: R4.6-28.
func TestClusters_OfManyOnlyThoseThatChangedAreRead(t *testing.T) {
	s := &fleetServer{versions: map[string]int{}, gone: map[string]bool{}}
	for n := range manyClusters + 5 {
		s.versions[fmt.Sprintf("m%02d", n)] = 1
	}
	client := connect(t, s, Options{})
	for _, c := range []struct {
		name  string
		begin func()
		asked []string
	}{
		{name: "first", begin: func() {}, asked: []string{"all"}},
		{name: "the same", begin: func() {}, asked: []string{"metadata"}},
		{name: "one changed, one came", begin: func() { s.versions["m03"], s.versions["m99"] = 2, 1 }, asked: []string{"metadata", "m03", "m99"}},
		{name: "one went", begin: func() { delete(s.versions, "m04") }, asked: []string{"metadata"}},
		{name: "one changed and went meanwhile", begin: func() { s.versions["m05"], s.gone["m05"] = 2, true }, asked: []string{"metadata"}},
		{name: "it came again", begin: func() { s.gone["m05"] = false }, asked: []string{"metadata", "m05"}},
		{name: "many changed", begin: func() {
			for n := range mostChanged + 1 {
				s.versions[fmt.Sprintf("m%02d", 10+n)]++
			}
		}, asked: []string{"metadata", "all"}},
		{name: "one may not be read alone", begin: func() { s.versions["m06"]++; s.listOnly = true }, asked: []string{"metadata", "all"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.begin()
			s.asked = nil
			all, err := client.Clusters(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.asked, s.asked)
			want, got := []string{}, []string{}
			for _, name := range slices.Sorted(maps.Keys(s.versions)) {
				if !s.gone[name] {
					want = append(want, fmt.Sprintf("%s p%d", name, s.versions[name]))
				}
			}
			for _, cluster := range all {
				got = append(got, cluster.Name+" "+cluster.Provider)
			}
			require.Equal(t, want, got)
		})
	}
}
