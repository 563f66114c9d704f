package rules_test

import (
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/stretchr/testify/require"
)

// "I set everything and nothing happened", and its contrary, "I switched it off and it
// moved all the same", are both answered by three flags together.
//
// Rules: R4.15-20.
func TestKarmada6925WhatTheControllerManagersFlagsAddUpTo(t *testing.T) {
	const gate, eviction = "--feature-gates=Failover=true", "--enable-no-execute-taint-eviction=true"
	for name, tc := range map[string]struct {
		args           []string
		evicts, taints bool
	}{
		"nothing said":                          {nil, false, false},
		"the gate alone":                        {[]string{gate}, false, true},
		"the flag alone":                        {[]string{eviction}, false, false},
		"both":                                  {[]string{"/bin/karmada-controller-manager", gate, eviction}, true, true},
		"the gate among others":                 {[]string{"--feature-gates=A=false,Failover=true", "--enable-no-execute-taint-eviction"}, true, true},
		"the gate off":                          {[]string{"--feature-gates=Failover=false", eviction}, false, false},
		"the taint manager off":                 {[]string{gate, eviction, "--enable-taint-manager=false"}, false, true},
		"the policies' controller off":          {[]string{gate, "--controllers=*,-clustertaintpolicy"}, false, false},
		"only some controllers on":              {[]string{gate, "--controllers=cluster,clusterStatus"}, false, false},
		"only some, the policies' one of those": {[]string{gate, "--controllers=clustertaintpolicy"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := rules.ReadControllerManager(tc.args)
			require.Equal(t, tc.evicts, got.Evicts != "", got.Evicts)
			require.Equal(t, tc.taints, got.Taints)
		})
	}
}

// Rules: R4.15-17.
func TestPurgeModesOfAnOldKarmadaAreNamed(t *testing.T) {
	require.Empty(t, rules.OldPurgeModes(nil), "not told is not old")
	require.Empty(t, rules.OldPurgeModes([]string{"Directly", "Gracefully", "Never"}))
	require.Empty(t, rules.OldPurgeModes([]string{"Immediately", "Directly", "Graciously", "Gracefully", "Never"}))
	require.Contains(t, rules.OldPurgeModes([]string{"Immediately", "Graciously", "Never"}), "Immediately, Graciously, Never")
}
