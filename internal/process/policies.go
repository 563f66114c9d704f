package process

import (
	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
)

// PolicyWindows are the windows of ClusterTaintPolicies as configured; nil where
// Karmada's policies are not honoured.
func PolicyWindows(c config.Config) *k8sadapter.PolicyWindows {
	if !c.Rules.KarmadaPolicies {
		return nil
	}
	return &k8sadapter.PolicyWindows{AddOnMatch: c.Rules.AddOnMatch, RemoveOnMismatch: c.Rules.RemoveOnMismatch}
}

// PolicyPermissions are what a process needs besides, verb by verb, for that source.
func PolicyPermissions(c config.Config, verbs ...string) []k8sadapter.Permission {
	if !c.Rules.KarmadaPolicies {
		return nil
	}
	return k8sadapter.PolicyPermissions(verbs...)
}
