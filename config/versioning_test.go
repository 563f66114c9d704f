package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABuildOfADeploymentIsRead(t *testing.T) {
	alone(t)
	require.Equal(t, Versioning{}, Default().Temporal.Versioning, "off by default")
	t.Setenv("LIFEBOAT_TEMPORAL_VERSIONING_BUILD_ID", "v0.2.0-3-gabc+dirty")
	c, err := Load(Sources{File: write(t, "temporal: {versioning: {deployment: lifeboat}}\n")})
	require.NoError(t, err)
	require.Equal(t, Versioning{Deployment: "lifeboat", BuildID: "v0.2.0-3-gabc+dirty"}, c.Temporal.Versioning)
}

func TestANameThatTemporalRefusesIsRefusedFirst(t *testing.T) {
	alone(t)
	for set, want := range map[string]string{
		"temporal.versioning.deployment=life.boat":  "want nothing, or a name of up to 100 of A-Z, a-z, 0-9, - and _",
		"temporal.versioning.deployment=life:boat":  "want nothing, or a name",
		"temporal.versioning.deployment=__lifeboat": "want nothing, or a name",
		"temporal.versioning.buildId=v1 beta":       "want nothing, or up to 100 of",
		"temporal.versioning.buildId=v1":            "without temporal.versioning.deployment no build has a name: set that as well",
	} {
		_, err := Load(Sources{Set: []string{set}})
		require.ErrorContains(t, err, want, set)
	}
}
