package workflows

import (
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/stretchr/testify/require"
)

// SQL visibility stores 255 bytes of a name; a namespace and a name may have more.
func TestWhatIsStoredOfALongNameFitsAndStaysDistinct(t *testing.T) {
	key := func(tail string) karmada.BindingKey {
		return karmada.BindingKey{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("a", 252) + tail}
	}
	one, other := Storable(key("1").String()), Storable(key("2").String())
	require.LessOrEqual(t, len(one), MaxID)
	require.NotEqual(t, one, other)
	require.True(t, strings.HasPrefix(one, key("").Namespace+"/aaa"))
	require.Equal(t, "shop/app", Storable("shop/app"))
	require.Equal(t, Storable("eu/"+key("1").String()), withInstance("eu", key("1").String()))
}

// Orders with --cluster go to the failover of a cluster, which another failover's migration does not hear.
func TestMigrationView_KnowsWhoseFailoverItIs(t *testing.T) {
	key := karmada.BindingKey{Namespace: "shop", Name: "app"}
	for parent, want := range map[string]bool{
		ApplicationFailoverID("", key): true, ApplicationFailoverID("eu", key): true, ClusterFailoverID("eu", "m1"): false,
	} {
		st := MigrationState{Parent: parent}
		require.Equal(t, want, st.View(time.Time{}).OfApplication, parent)
	}
}
