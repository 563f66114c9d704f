package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/k8sadapter"
	"github.com/lifeboat-failover/lifeboat/tests/rbac"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// right is one verb on one resource, as a role grants it.
type right struct {
	role string
	k8sadapter.Permission
}

func (r right) String() string { return r.role + ": " + r.Permission.String() }

// covers: it is the right that a request needs.
func (r right) covers(a audited) bool {
	return r.Verb == a.Verb && r.Group == a.Object.Group && r.Resource == a.Object.Resource && r.Subresource == a.Object.Subresource &&
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
		// An operator who verifies with a program's kubeconfig tries more than that program does.
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
	roles, err := rbac.Read(folder)
	for name, role := range roles {
		for _, subject := range role.Subjects {
			for _, p := range role.Grants {
				if subject.Kind == rbacv1.UserKind {
					found.of[subject.Name] = append(found.of[subject.Name], right{role: name, Permission: p})
				}
			}
		}
	}
	return found, err
}

// unexercised are rights that the stories do not use, each with its reason and where
// it is exercised instead.
var unexercised = map[string]string{
	"lifeboat-setup: create customresourcedefinitions.apiextensions.k8s.io": "the API server asks for it within the patch " +
		"that applies the definition where there is none; without it the suite's own setup fails, yet the log only has the patch",
	"lifeboat-viewer: get clusters.cluster.karmada.io":                  byReview,
	"lifeboat-verifier: get works.work.karmada.io":                      byReview,
	"lifeboat-controller: list clusters.cluster.karmada.io":             relist,
	"lifeboat-controller: list resourcebindings.work.karmada.io":        relist,
	"lifeboat-controller: list clusterresourcebindings.work.karmada.io": relist,
	"lifeboat-controller-act: get events":                               sameEvent,
	"lifeboat-controller-act: patch events":                             sameEvent,
	"lifeboat-worker-act: get events":                                   sameEvent,
	"lifeboat-worker-act: patch events":                                 sameEvent,
}

const (
	// relist: the lab's API server streams its lists; a watch falls back to a list where a
	// server does not know that, as those of Karmada up to now, or where the stream breaks.
	relist = "TestAWatchTellsWhatCameChangedAndWent in k8sadapter"
	// byReview: nobody needs it to read, for plan, explain and verify list. But verify and
	// preflight ask whether whoever runs them may do what the worker does, and fail where not.
	byReview = "preflight_finds_what_is_missing: not to ask, which everybody may, but for the answer"
)

// sameEvent is for what only happens when two processes say the same, minutes apart.
const sameEvent = "TestWhatTwoWorkersSayIsOneEvent in k8sadapter, in virtual time"

// rightsUsed looks back: whatever Lifeboat did in all stories it did by the roles in
// deploy/rbac, and there is nothing in them that it did not use. Before that each of
// its people and programs tries what it may not.
func rightsUsed(s *scene) {
	from, to := s.c(1), s.c(2)
	s.rule(time.Second, time.Second)
	app := deployment(s.namespace(), "app", from, 1, oneOf(from, to))
	app.SetAnnotations(map[string]string{"propagationpolicy.karmada.io/namespace": s.namespace(), "propagationpolicy.karmada.io/name": "apps"})
	role := clusterRole("may-role", from, oneOf(from, to))
	role.SetAnnotations(map[string]string{"clusterpropagationpolicy.karmada.io/name": "roles"})
	s.run(app, role)
	s.controllerWarns(to)
	s.viewerLooks(from, keyOf(app), keyOf(role))
	s.kill(from)
	s.phase(from, "Evacuated")
	s.viewerLooks(from, keyOf(app), keyOf(role))
	s.recovers(from, map[string]string{keyOf(app): "Migrated", keyOf(role): "Migrated"})
	s.operatorKeepsRules()
	tried := s.tryWhatIsNotGranted(app)

	s.catchUp()
	_, err := s.audit.read()
	require.NoError(s, err)
	s.audit.mu.Lock()
	defer s.audit.mu.Unlock()
	r := &s.audit.rights
	for _, other := range s.beside {
		r.add(&other.rights)
	}
	require.Equal(s, tried, r.refused, "nothing but what was tried on purpose was refused")
	require.Empty(s, r.foreign, "nothing was allowed by a role that is not Lifeboat's")
	unused, unknown := r.unused(unexercised)
	require.Empty(s, unknown, "excepted and not granted at all")
	if !everything() {
		s.Logf("not used by the stories that were told: %v", unused)
		return
	}
	require.Empty(s, unused, "granted and not used: take it out of deploy/rbac, or except it with a reason")
}

// viewerLooks has somebody who may only look plan, and ask how things stand.
func (s *scene) viewerLooks(cluster string, bindings ...string) {
	asked := [][]string{{"plan", cluster}, {"status"}}
	for _, key := range bindings {
		asked = append(asked, []string{"explain", "--cluster", cluster, "--", key})
	}
	for _, args := range asked {
		cmd := s.lifeboat(args[0], s.lab.At.Kubeconfigs["viewer"], args[1:]...)
		require.NoError(s, cmd.Run(), "lifeboat %v said:\n%s", args, tail(s.logFile(args[0]), 20))
	}
}

// controllerWarns garbles a cluster for a while, of which the controller tells by an Event.
func (s *scene) controllerWarns(cluster string) {
	s.noteByHand(cluster, "garbled")
	s.await("the controller warns of "+cluster, func() (bool, string) {
		list, err := s.api.Resource(events).Namespace("default").List(s.ctx, metav1.ListOptions{})
		require.NoError(s, err)
		return slices.ContainsFunc(list.Items, func(u unstructured.Unstructured) bool {
			e, err := decode[announced](&u)
			return err == nil && e.Source.Component != "lifeboat-worker" && e.About.Name == cluster && e.Reason == "Malformed"
		}), ""
	})
	s.noteByHand(cluster, "")
}

func (s *scene) as(who string) dynamic.Interface {
	api, err := apiAs(s.lab.At.Kubeconfigs[who])
	require.NoError(s, err)
	return api
}

// operatorKeepsRules writes, changes and removes a rule as an operator does.
func (s *scene) operatorKeepsRules() {
	mine := s.as("operator").Resource(rules)
	rule, err := mine.Create(s.ctx, s.idleRule(), metav1.CreateOptions{})
	require.NoError(s, err)
	_, err = mine.Patch(s.ctx, rule.GetName(), types.MergePatchType, []byte(`{"metadata":{"labels":{"by":"patch"}}}`), metav1.PatchOptions{})
	require.NoError(s, err)
	s.awaitQuietly("the rule is updated", func() (bool, string) { // its status is written meanwhile
		rule, err := mine.Get(s.ctx, rule.GetName(), metav1.GetOptions{})
		require.NoError(s, err)
		rule.SetLabels(map[string]string{"by": "update"})
		_, err = mine.Update(s.ctx, rule, metav1.UpdateOptions{})
		return err == nil, ""
	})
	require.NoError(s, mine.Delete(s.ctx, rule.GetName(), metav1.DeleteOptions{}))
}

// idleRule matches nothing that ever happens.
func (s *scene) idleRule() *unstructured.Unstructured {
	return taintRule(s.story.short+"-idle", "NeverSeen", time.Hour, time.Hour, s.c(1))
}

// tryWhatIsNotGranted has everybody reach beyond their roles, and counts it.
func (s *scene) tryWhatIsNotGranted(u *unstructured.Unstructured) map[string]int {
	tried := map[string]int{}
	refused := func(err error, request string) {
		require.True(s, apierrors.IsForbidden(err), "%s: %v", request, err)
		tried[request]++
	}
	for _, who := range []string{"viewer", "operator", "controller"} {
		_, err := s.as(who).Resource(resourceBindings).Namespace(u.GetNamespace()).
			Patch(s.ctx, u.GetName(), types.MergePatchType, []byte(`{"spec":{"clusters":[]}}`), metav1.PatchOptions{})
		refused(err, "lifeboat-"+who+" patch resourcebindings")
		_, err = s.as(who).Resource(clusters).
			Patch(s.ctx, s.c(1), types.MergePatchType, []byte(`{"spec":{"taints":[]}}`), metav1.PatchOptions{})
		refused(err, "lifeboat-"+who+" patch clusters")
	}
	for _, who := range []string{"viewer", "worker", "controller"} {
		_, err := s.as(who).Resource(rules).Create(s.ctx, s.idleRule(), metav1.CreateOptions{})
		refused(err, "lifeboat-"+who+" create clustertaintrules")
	}
	for _, who := range []string{"viewer", "worker", "controller", "operator"} {
		err := s.as(who).Resource(resourceBindings).Namespace(u.GetNamespace()).Delete(s.ctx, u.GetName(), metav1.DeleteOptions{})
		refused(err, "lifeboat-"+who+" delete resourcebindings")
		secrets := resourceBindings
		secrets.Group, secrets.Version, secrets.Resource = "", "v1", "secrets"
		_, err = s.as(who).Resource(secrets).Namespace("default").List(s.ctx, metav1.ListOptions{})
		refused(err, "lifeboat-"+who+" list secrets")
	}
	for _, who := range []string{"viewer", "controller", "setup"} { // a Work holds Secrets
		_, err := s.as(who).Resource(works).Namespace("karmada-es-"+s.c(1)).List(s.ctx, metav1.ListOptions{})
		refused(err, "lifeboat-"+who+" list works")
	}
	definitions := rules
	definitions.Group, definitions.Version, definitions.Resource = "apiextensions.k8s.io", "v1", "customresourcedefinitions"
	_, err := s.as("operator").Resource(definitions).Get(s.ctx, "clustertaintrules.failover.lifeboat.dev", metav1.GetOptions{})
	refused(err, "lifeboat-operator get customresourcedefinitions")
	return tried
}
