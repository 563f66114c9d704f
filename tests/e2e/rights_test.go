package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// right is one verb on one resource, as a role grants it. Namespace and Name are
// empty where any will do.
type right struct{ Role, Group, Resource, Namespace, Name, Verb string }

func (r right) String() string {
	text := fmt.Sprintf("%s: %s %s", r.Role, r.Verb, r.Resource)
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	return text
}

// covers: it is the right that a request needs.
func (r right) covers(a audited) bool {
	return r.Verb == a.Verb && r.Group == a.Object.Group && r.Resource == a.resource() &&
		(r.Namespace == "" || r.Namespace == a.Object.Namespace) && (r.Name == "" || r.Name == a.Object.Name)
}

// resource is with its subresource, as a role names it.
func (a audited) resource() string {
	if a.Object.Subresource == "" {
		return a.Object.Resource
	}
	return a.Object.Resource + "/" + a.Object.Subresource
}

// rights are what Lifeboat's users were granted, and what they did.
type rights struct {
	of   map[string][]right // by user
	used map[right]int
	// refused and foreign count requests that were not allowed, and those that were by a
	// role that is not Lifeboat's: "user verb resource".
	refused, foreign map[string]int
}

// everybodys are Kubernetes' own roles of whoever is known at all: to ask what one may.
var everybodys = []string{`"system:basic-user"`, `"system:discovery"`, `"system:public-info-viewer"`}

// note books a request.
func (r *rights) note(a audited) {
	if !a.byLifeboat() || a.Object.Resource == "" {
		return
	}
	request := fmt.Sprintf("%s %s %s", a.User.Username, a.Verb, a.resource())
	if a.Annotations["authorization.k8s.io/decision"] != "allow" {
		// A human who verifies with a program's kubeconfig tries more than that program does.
		if !strings.HasPrefix(a.Agent, "lifeboat-verify/") {
			r.refused[request]++
		}
		return
	}
	known := slices.ContainsFunc(everybodys, func(role string) bool {
		return strings.Contains(a.Annotations["authorization.k8s.io/reason"], "of ClusterRole "+role)
	})
	for _, granted := range r.of[a.User.Username] {
		if granted.covers(a) {
			r.used[granted]++
			known = true
		}
	}
	if !known {
		r.foreign[request]++
	}
}

// add books what was done on another lab.
func (r *rights) add(other *rights) {
	for one, n := range other.used {
		r.used[one] += n
	}
	for request, n := range other.refused {
		r.refused[request] += n
	}
	for request, n := range other.foreign {
		r.foreign[request] += n
	}
}

// unused are the rights that nobody has used who has them, but for the exceptions;
// and those exceptions that nobody has.
func (r *rights) unused(but map[string]string) (unused, unknown []string) {
	granted := map[string]bool{}
	for _, all := range r.of {
		for _, one := range all {
			granted[one.String()] = true
			if _, excepted := but[one.String()]; r.used[one] == 0 && !excepted {
				unused = append(unused, one.String())
			}
		}
	}
	for one := range but {
		if !granted[one] {
			unknown = append(unknown, one)
		}
	}
	slices.Sort(unused)
	slices.Sort(unknown)
	return slices.Compact(unused), unknown
}

// readRights reads roles and who has them from the manifests in a folder.
func readRights(folder string) (rights, error) {
	found := rights{of: map[string][]right{}, used: map[right]int{}, refused: map[string]int{}, foreign: map[string]int{}}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return found, err
	}
	granted := map[string][]right{} // by "Kind name"
	var bindings []rbacv1.RoleBinding
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return found, err
		}
		for _, document := range bytes.Split(content, []byte("\n---\n")) {
			var role rbacv1.Role // a ClusterRole has the same rules
			var binding rbacv1.RoleBinding
			if err := yaml.Unmarshal(document, &role); err != nil {
				return found, fmt.Errorf("read %s: %w", file, err)
			}
			if !strings.HasSuffix(role.Kind, "Binding") {
				granted[role.Kind+" "+role.Name] = grants(role)
				continue
			}
			if err := yaml.Unmarshal(document, &binding); err != nil {
				return found, fmt.Errorf("read %s: %w", file, err)
			}
			bindings = append(bindings, binding)
		}
	}
	for _, binding := range bindings {
		for _, subject := range binding.Subjects {
			if subject.Kind == rbacv1.UserKind {
				found.of[subject.Name] = append(found.of[subject.Name], granted[binding.RoleRef.Kind+" "+binding.RoleRef.Name]...)
			}
		}
	}
	return found, nil
}

// grants are the rights of one role.
func grants(role rbacv1.Role) []right {
	var all []right
	for _, rule := range role.Rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						all = append(all, right{role.Name, group, resource, role.Namespace, name, verb})
					}
				}
			}
		}
	}
	return all
}
