package watch

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// No time of the controller's enters a decision: nothing that it sends has a place for one.
// What continued runs hand on has times of Temporal's, and stays empty when it starts one.
func TestNothingThatTheControllerSendsCarriesATime(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var timeless func(x reflect.Type, path string)
	timeless = func(x reflect.Type, path string) {
		require.NotContains(t, []reflect.Type{
			reflect.TypeFor[time.Time](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[time.Duration](),
		}, x, path)
		kind := x.Kind()
		require.NotEqual(t, reflect.Interface, kind, "%s could hold anything", path)
		if kind == reflect.Map {
			timeless(x.Key(), path+" key")
		}
		if slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map}, kind) {
			timeless(x.Elem(), path+"[]")
		}
		if kind != reflect.Struct || seen[x] {
			return
		}
		seen[x] = true
		for f := range x.NumField() {
			timeless(x.Field(f).Type, path+"."+x.Field(f).Name)
		}
	}
	for _, sent := range []any{workflows.ClusterObserved{}, workflows.BindingsChanged{}, workflows.Adopt{}, workflows.FleetObserved{}} {
		timeless(reflect.TypeOf(sent), reflect.TypeOf(sent).Name())
	}
	for _, kind := range []string{workflows.TypeFleetPacer, workflows.TypeClusterFailover} {
		params := reflect.ValueOf(Temporal{Instance: "eu"}.params(Start{Type: kind, Cluster: "m1"}))
		for f := range params.NumField() {
			if name := params.Type().Field(f).Name; name != "Instance" && name != "Cluster" {
				require.True(t, params.Field(f).IsZero(), "%s.%s", kind, name)
			}
		}
	}
}
