package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
)

func TestWorkNamesAreThoseOfTheRecordedKarmada(t *testing.T) {
	names := map[string]api.ObjectReference{
		"div-696d69898d":         {Kind: "Deployment", Namespace: "default", Name: "div"},
		"one-8fd8696fc":          {Kind: "Deployment", Namespace: "default", Name: "one"},
		"onecfg-f86b9df46":       {Kind: "ConfigMap", Namespace: "default", Name: "onecfg"},
		"demo-reader-7f4ff6bcbf": {Kind: "ClusterRole", Name: "demo-reader"},
	}
	for want, resource := range names {
		require.Equal(t, want, api.WorkName(resource))
	}
}
