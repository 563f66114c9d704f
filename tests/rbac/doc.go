// Package rbac holds the roles in deploy/rbac against what the code says it needs:
// nothing less, nothing more. It contains no code of the product.
package rbac

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// Role is what a role grants, one verb on one resource each, and who has it.
type Role struct {
	Grants   []k8sadapter.Permission
	Subjects []rbacv1.Subject
}

// Read reads the roles of a folder of manifests, by name.
func Read(folder string) (map[string]Role, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	found := map[string]Role{}
	for _, file := range files {
		content, readErr := os.ReadFile(file) //nolint:gosec // of this repository
		err = errors.Join(err, readErr)
		for _, document := range bytes.Split(content, []byte("\n---\n")) {
			var role rbacv1.Role           // a ClusterRole has the same rules
			var binding rbacv1.RoleBinding // a ClusterRoleBinding has the same fields
			err = errors.Join(err, yaml.Unmarshal(document, &role), yaml.Unmarshal(document, &binding))
			of, is := strings.CutSuffix(role.Kind, "Binding")
			name := role.Name
			if is {
				name = binding.RoleRef.Name
			}
			if is && of != binding.RoleRef.Kind {
				err = errors.Join(err, fmt.Errorf("%s: %s binds a %s", file, binding.Name, binding.RoleRef.Kind))
			}
			r := found[name]
			r.Grants, r.Subjects = append(r.Grants, granted(role)...), append(r.Subjects, binding.Subjects...)
			found[name] = r
		}
	}
	return found, err
}

func granted(role rbacv1.Role) (all []k8sadapter.Permission) {
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
