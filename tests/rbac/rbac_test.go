package rbac

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const folder = "../../deploy/rbac"

// each has every object of the folder looked at.
func each(t *testing.T, do func(kind string, document []byte)) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, document := range bytes.Split(content, []byte("\n---\n")) {
			var object metav1.TypeMeta
			require.NoError(t, yaml.Unmarshal(document, &object), file)
			do(object.Kind, document)
		}
	}
}

// roles are the rules of every Role and ClusterRole by name; those of a Role carry
// its namespace.
func roles(t *testing.T) map[string][]k8sadapter.Permission {
	found := map[string][]k8sadapter.Permission{}
	each(t, func(kind string, document []byte) {
		var role rbacv1.Role // a ClusterRole has the same rules
		require.NoError(t, yaml.Unmarshal(document, &role))
		if kind == "Role" || kind == "ClusterRole" {
			found[role.Name] = granted(role)
		}
	})
	return found
}

// bound is who has which role: the subjects by the role's name.
func bound(t *testing.T) map[string][]string {
	found := map[string][]string{}
	each(t, func(kind string, document []byte) {
		role, is := strings.CutSuffix(kind, "Binding")
		if !is {
			return
		}
		var binding rbacv1.RoleBinding // a ClusterRoleBinding has the same fields
		require.NoError(t, yaml.UnmarshalStrict(document, &binding))
		require.Equal(t, role, binding.RoleRef.Kind, binding.Name)
		for _, s := range binding.Subjects {
			found[binding.RoleRef.Name] = append(found[binding.RoleRef.Name], s.Kind+" "+s.Namespace+"/"+s.Name)
		}
	})
	return found
}

// A role says nothing until it is somebody's. Nobody is a group, so nobody is "everybody
// who is known", and who installs, looks, orders, watches and acts are five.
func TestEachRoleIsTheirsWhoNeedIt(t *testing.T) {
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
	}, bound(t))
	for role := range roles(t) {
		require.Contains(t, bound(t), role, "nobody has it")
	}
}

// A Work holds the data of every Secret that Karmada carries to a member.
func TestWhoOnlyLooksReadsNoWorks(t *testing.T) {
	for role, permissions := range roles(t) {
		if role == "lifeboat-worker-read" || role == "lifeboat-verifier" {
			continue
		}
		for _, p := range permissions {
			if role == "lifeboat-worker-act" && p.Verb == "patch" {
				continue // the answer is the metadata that was asked for
			}
			require.NotEqual(t, "works", p.Resource, role)
		}
	}
	for _, p := range roles(t)["lifeboat-verifier"] {
		require.Equal(t, "works", p.Resource, p.String())
		require.Contains(t, []string{"get", "list"}, p.Verb, p.String())
	}
}

// granted is what a role allows, one verb on one resource each.
func granted(role rbacv1.Role) []k8sadapter.Permission {
	var all []k8sadapter.Permission
	for _, rule := range role.Rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				plain, sub, _ := strings.Cut(resource, "/")
				for _, verb := range rule.Verbs {
					for _, name := range names {
						all = append(all, k8sadapter.Permission{
							Group: group, Resource: plain, Subresource: sub, Namespace: role.Namespace, Name: name, Verb: verb,
						})
					}
				}
			}
		}
	}
	return all
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
				has = append(has, granted[role])
			}
			require.Equal(t, texts(c.needs), texts(has...))
		})
	}
}

func TestSetupMayInstallOurDefinitionAndNoOther(t *testing.T) {
	for _, p := range roles(t)["lifeboat-setup"] {
		require.Equal(t, "customresourcedefinitions", p.Resource)
		if p.Verb != "create" { // which RBAC cannot limit to a name
			require.Equal(t, "clustertaintrules.failover.lifeboat.dev", p.Name)
		}
	}
}

func TestPeopleOnlyLookAtWhatKarmadaOwns(t *testing.T) {
	found := roles(t)
	require.NotEmpty(t, found["lifeboat-viewer"])
	for _, p := range found["lifeboat-viewer"] {
		require.Contains(t, []string{"get", "list", "watch"}, p.Verb, p.String())
	}
	require.NotEmpty(t, found["lifeboat-operator"])
	for _, p := range found["lifeboat-operator"] {
		require.Equal(t, "clustertaintrules", p.Resource, p.String())
	}
}

// No role reaches further than its list says, today or after an update of Karmada, and
// none reads what is secret or lets its holder become somebody else.
func TestNoRoleIsOpenEnded(t *testing.T) {
	for role, permissions := range roles(t) {
		for _, p := range permissions {
			require.NotContains(t, []string{p.Group, p.Resource, p.Subresource, p.Verb}, "*", role)
			require.NotContains(t, []string{"secrets", "serviceaccounts", "configmaps", "clusterroles", "roles"}, p.Resource, role)
			require.NotContains(t, []string{"impersonate", "escalate", "bind", "deletecollection"}, p.Verb, role)
			require.NotContains(t, []string{"proxy", "token", "exec"}, p.Subresource, role)
		}
	}
}
