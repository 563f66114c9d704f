package rbac

import (
	"slices"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/stretchr/testify/require"
)

const folder = "../../deploy/rbac"

// roles are those of the folder.
func roles(t *testing.T) map[string]Role {
	all, err := Read(folder)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// A role says nothing until it is somebody's. Nobody is a group, so nobody is "everybody
// who is known", and who installs, looks, orders, watches and acts are five.
func TestEachRoleIsTheirsWhoNeedIt(t *testing.T) {
	bound := map[string][]string{}
	for name, role := range roles(t) {
		require.NotEmpty(t, role.Grants, name)
		for _, s := range role.Subjects {
			bound[name] = append(bound[name], s.Kind+" "+s.Namespace+"/"+s.Name)
		}
		require.Contains(t, bound, name, "nobody has it")
	}
	program := func(name string) []string { return []string{"User /" + name, "ServiceAccount lifeboat-system/" + name} }
	require.Equal(t, map[string][]string{
		"lifeboat-worker-read":      program("lifeboat-worker"),
		"lifeboat-worker-act":       program("lifeboat-worker"),
		"lifeboat-controller":       program("lifeboat-controller"),
		"lifeboat-controller-act":   program("lifeboat-controller"),
		"lifeboat-controller-lease": program("lifeboat-controller"),
		"lifeboat-viewer":           {"User /lifeboat-viewer", "User /lifeboat-operator"},
		"lifeboat-verifier":         {"User /lifeboat-operator"},
		"lifeboat-operator":         {"User /lifeboat-operator"},
		"lifeboat-setup":            {"User /lifeboat-setup"},
	}, bound)
}

// A Work holds the data of every Secret that Karmada carries to a member.
func TestWhoOnlyLooksReadsNoWorks(t *testing.T) {
	for role, of := range roles(t) {
		if role == "lifeboat-worker-read" || role == "lifeboat-verifier" {
			continue
		}
		for _, p := range of.Grants {
			if role == "lifeboat-worker-act" && p.Verb == "patch" {
				continue // the answer is the metadata that was asked for
			}
			require.NotEqual(t, "works", p.Resource, role)
		}
	}
	for _, p := range roles(t)["lifeboat-verifier"].Grants {
		require.Equal(t, "works", p.Resource, p.String())
		require.Contains(t, []string{"get", "list"}, p.Verb, p.String())
	}
}

func texts(permissions ...[]k8sadapter.Permission) []string {
	var all []string
	for _, p := range slices.Concat(permissions...) {
		all = append(all, p.String())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestEachProcessIsGrantedExactlyWhatItNeeds(t *testing.T) {
	granted := roles(t)
	controller := func(mode rules.Mode) []k8sadapter.Permission {
		return k8sadapter.ControllerPermissions(mode, "default", "lifeboat-controller")
	}
	for name, c := range map[string]struct {
		roles []string
		needs []k8sadapter.Permission
	}{
		"a worker that observes": {roles: []string{"lifeboat-worker-read"}, needs: k8sadapter.WorkerPermissions(rules.ModeObserve)},
		"a worker that enforces": {
			roles: []string{"lifeboat-worker-read", "lifeboat-worker-act"}, needs: slices.Concat(
				k8sadapter.WorkerPermissions(rules.ModeEnforce), k8sadapter.ManagerPermissions(rules.ModeEnforce, "", "karmada-controller-manager"),
				k8sadapter.ControllerLeasePermissions(rules.ModeEnforce, "", "lifeboat-controller")),
		},
		"a controller that observes": {roles: []string{"lifeboat-controller", "lifeboat-controller-lease"}, needs: controller(rules.ModeObserve)},
		"a controller that enforces": {
			roles: []string{"lifeboat-controller", "lifeboat-controller-lease", "lifeboat-controller-act"}, needs: controller(rules.ModeEnforce),
		},
	} {
		t.Run(name, func(t *testing.T) {
			// As configured by default: Karmada's policies are honoured.
			verbs := []string{"list"}
			if strings.Contains(name, "controller") {
				verbs = append(verbs, "watch")
			}
			c.needs = append(c.needs, k8sadapter.PolicyPermissions(verbs...)...)
			var has [][]k8sadapter.Permission
			for _, role := range c.roles {
				require.Contains(t, granted, role)
				has = append(has, granted[role].Grants)
			}
			require.Equal(t, texts(c.needs), texts(has...))
		})
	}
}

func TestSetupMayInstallItsDefinitionAndNoOther(t *testing.T) {
	for _, p := range roles(t)["lifeboat-setup"].Grants {
		require.Equal(t, "customresourcedefinitions", p.Resource)
		if p.Verb != "create" { // which RBAC cannot limit to a name
			require.Equal(t, "clustertaintrules.failover.lifeboat.dev", p.Name)
		}
	}
}

func TestPeopleOnlyLookAtWhatKarmadaOwns(t *testing.T) {
	found := roles(t)
	require.NotEmpty(t, found["lifeboat-viewer"].Grants)
	for _, p := range found["lifeboat-viewer"].Grants {
		require.Contains(t, []string{"get", "list", "watch"}, p.Verb, p.String())
	}
	require.NotEmpty(t, found["lifeboat-operator"].Grants)
	for _, p := range found["lifeboat-operator"].Grants {
		require.Equal(t, "clustertaintrules", p.Resource, p.String())
	}
}

// No role reaches further than its list says, today or after an update of Karmada, and
// none reads what is secret or lets its holder become somebody else.
func TestNoRoleIsOpenEnded(t *testing.T) {
	for role, of := range roles(t) {
		for _, p := range of.Grants {
			require.NotContains(t, []string{p.Group, p.Resource, p.Subresource, p.Verb}, "*", role)
			require.NotContains(t, []string{"secrets", "serviceaccounts", "configmaps", "clusterroles", "roles"}, p.Resource, role)
			require.NotContains(t, []string{"impersonate", "escalate", "bind", "deletecollection"}, p.Verb, role)
			require.NotContains(t, []string{"proxy", "token", "exec"}, p.Subresource, role)
		}
	}
}
