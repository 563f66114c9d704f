package config

import (
	"strings"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/stretchr/testify/require"
)

func TestPluginsAreReadAndPrinted(t *testing.T) {
	alone(t)
	file := write(t, `
evictPlugins:
- ResourceHealth
- name: dns
  taskQueue: ops-checks
  activity: CheckDNS
  timeout: 10s
evictPluginsMode: all
fencePlugins:
- {name: bmc, taskQueue: ops-checks, activity: PoweredOff}
`)
	c, err := Load(Sources{File: file})
	require.NoError(t, err)
	require.Equal(t, proof.Plugins{Mode: proof.PluginsAll, List: []proof.Plugin{
		{Name: "ResourceHealth"}, {Name: "dns", TaskQueue: "ops-checks", Activity: "CheckDNS", Timeout: 10 * time.Second},
	}}, c.Plugins())
	require.Equal(t, proof.PluginTimeout, c.FencePlugins[0].Timeout)

	var printed strings.Builder
	require.NoError(t, c.PrintYAML(&printed))
	again, err := Load(Sources{File: write(t, printed.String())})
	require.NoError(t, err)
	require.Equal(t, c.Plugins(), again.Plugins(), "what is printed can be read")
	require.Equal(t, c.FencePlugins, again.FencePlugins)
}

func TestPluginsThatCannotWorkAreRefused(t *testing.T) {
	for _, pair := range []string{
		"evictPlugins=", "evictPlugins=[]", "evictPlugins=Wish", "evictPlugins=[{name: dns, taskQueue: q}]",
		"evictPlugins=[{name: dns, taskQueue: q, activity: A, timeout: 2h}]", "evictPlugins=[{name: dns, taskQueue: q, activity: A, timeout: 0s}]",
		"evictPlugins=[{name: dns, taskQueue: q, activity: A, tiemout: 2s}]", "evictPlugins=[ResourceHealth, ResourceHealth]",
		"fencePlugins=ResourceHealth", "evictPlugins={name: dns}",
	} {
		t.Run(pair, func(t *testing.T) {
			alone(t)
			_, err := Load(Sources{Set: []string{pair}})
			require.ErrorContains(t, err, "want a list of {name, taskQueue, activity")
		})
	}
	alone(t)
	c, err := Load(Sources{Set: []string{"evictPlugins=ResourceHealth", "evictPluginsMode=all"}})
	require.NoError(t, err)
	require.Equal(t, proof.PluginsAll, c.EvictPluginsMode)
}
