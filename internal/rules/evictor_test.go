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
		"nothing said":                          {evicts: false, taints: false},
		"the gate alone":                        {args: []string{gate}, evicts: false, taints: true},
		"the flag alone":                        {args: []string{eviction}, evicts: false, taints: false},
		"both":                                  {args: []string{"/bin/karmada-controller-manager", gate, eviction}, evicts: true, taints: true},
		"the gate among others":                 {args: []string{"--feature-gates=A=false,Failover=true", "--enable-no-execute-taint-eviction"}, evicts: true, taints: true},
		"the gate off":                          {args: []string{"--feature-gates=Failover=false", eviction}, evicts: false, taints: false},
		"the taint manager off":                 {args: []string{gate, eviction, "--enable-taint-manager=false"}, evicts: false, taints: true},
		"the policies' controller off":          {args: []string{gate, "--controllers=*,-clustertaintpolicy"}, evicts: false, taints: false},
		"only some controllers on":              {args: []string{gate, "--controllers=cluster,clusterStatus"}, evicts: false, taints: false},
		"only some, the policies' one of those": {args: []string{gate, "--controllers=clustertaintpolicy"}, evicts: false, taints: true},
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
