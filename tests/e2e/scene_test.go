package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

// scene is one story's part of the world: clusters, a namespace and a rule of its own.
type scene struct {
	*testing.T
	*world
	story    story
	ctx      context.Context
	bindings []*unstructured.Unstructured
	asked    map[string]bool // clusters whose failover was waited for
	marks    int             // left in the audit log
	emptied  string          // a binding that the story's own hand, as the scheduler, leaves bare
	victim   string          // of the cell that it plays, "" for none
	between  func()          // done between two looks at a condition, nil: nothing
	pause    time.Duration   // between two looks at a condition, 0: 50 ms at first, then up to 250 ms
}

// patience bounds a wait. It says nothing about how quick Lifeboat is: a busy
// machine only makes a story slower.
var patience time.Duration

func init() {
	flag.DurationVar(&patience, "patience", 10*time.Minute, "how long a story waits for anything")
}

// await waits until look says yes, and tells what it last saw when it never does.
func (s *scene) await(what string, look func() (ok bool, seen string)) {
	s.Helper()
	s.awaitQuietly(what, look)
	s.Logf("%s  %s", time.Now().Format("15:04:05.0"), what)
}

// awaitQuietly is await for what is no news.
func (s *scene) awaitQuietly(what string, look func() (ok bool, seen string)) {
	s.Helper()
	begun := time.Now()
	seen := ""
	pause := 50 * time.Millisecond
	for ok := false; !ok; pause = min(pause*5/4, 250*time.Millisecond) { // a look costs the worker and Temporal a query
		if s.between != nil {
			s.between()
		}
		if ok, seen = look(); ok {
			break
		}
		for _, p := range []*process{s.lab.process, s.controller, s.worker} {
			if p != nil {
				require.NoError(s, p.ended(), "while waiting until %s", what)
			}
		}
		if time.Since(begun) > patience {
			require.Fail(s, "never happened: "+what, "last seen after %s:\n%s", patience, seen)
		}
		time.Sleep(cmp.Or(s.pause, pause)) //nolint:forbidigo // between two looks at a condition
	}
}

// c names one of the story's own clusters, from 1.
func (s *scene) c(n int) string { return s.story.cluster(n) }

func (s *scene) all() []string { return s.story.clusters() }

// namespace of the story's bindings.
func (s *scene) namespace() string {
	return cmp.Or(s.story.space, strings.ReplaceAll(s.story.name, "_", "-"))
}

// begin makes the namespace and registers the checks that every story ends with.
func (s *scene) begin() { s.createNamespace(s.namespace()) }

func (s *scene) createNamespace(name string) {
	s.exists(namespaces, "", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}})
}

// rule makes the story's rule: its clusters fail while they are not Ready.
func (s *scene) rule(add, remove time.Duration) {
	s.create(taintRule(s.story.short, "Ready", add, remove, s.all()...))
}

// ruledPair makes the story's rule with windows of a second, and names the story's first two clusters.
func (s *scene) ruledPair() (from, to string) {
	s.rule(time.Second, time.Second)
	return s.c(1), s.c(2)
}

// create puts a rule into the API server, until the story ends.
func (s *scene) create(rule *unstructured.Unstructured) {
	_, err := s.api.Resource(rules).Create(s.ctx, rule, metav1.CreateOptions{})
	require.NoError(s, err)
	s.Cleanup(func() {
		// The story's own context has ended by then.
		err := s.api.Resource(rules).Delete(context.Background(), rule.GetName(), metav1.DeleteOptions{})
		require.NoError(s, err)
	})
}

// run puts bindings into the API server and waits until their workloads run.
func (s *scene) run(bindings ...*unstructured.Unstructured) {
	s.put(bindings...)
	for _, u := range bindings {
		s.runs(keyOf(u))
	}
}

// runs waits until a binding's workload runs in full.
func (s *scene) runs(key string) {
	s.awaitQuietly("runs: "+key, func() (bool, string) {
		b := s.find(key)
		return b != nil && b.settled(), fmt.Sprintf("%+v", b)
	})
}

// put puts bindings into the API server.
func (s *scene) put(bindings ...*unstructured.Unstructured) {
	for _, b := range bindings {
		s.bindings = append(s.bindings, b)
		_, err := s.api.Resource(resourceOf(b)).Namespace(b.GetNamespace()).Create(s.ctx, b, metav1.CreateOptions{})
		require.NoError(s, err)
	}
}

// deploy is run for a Deployment of one or more replicas at home.
func (s *scene) deploy(name, home string, replicas int64, placement object, faults ...string) string {
	u := deployment(s.namespace(), name, home, replicas, placement)
	for _, fault := range faults {
		annotation, value, _ := strings.Cut(fault, "=")
		annotate(u, annotation, value)
	}
	s.run(u)
	return keyOf(u)
}

// annotate changes an annotation of a binding; an empty value removes it.
func (s *scene) annotate(key, annotation, value string) {
	s.patch(s.named(key), annotated(annotation, value))
}

func (s *scene) named(key string) *unstructured.Unstructured {
	at := slices.IndexFunc(s.bindings, func(u *unstructured.Unstructured) bool { return keyOf(u) == key })
	require.GreaterOrEqual(s, at, 0, "the story has no binding %s", key)
	return s.bindings[at]
}

func (s *scene) patch(u *unstructured.Unstructured, change object) {
	raw, err := json.Marshal(change)
	require.NoError(s, err)
	// The API server itself tries again a few times, which is not enough while controllers are busy with the object.
	require.NoError(s, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		_, err := s.api.Resource(resourceOf(u)).Namespace(u.GetNamespace()).Patch(s.ctx, u.GetName(), types.MergePatchType, raw, metav1.PatchOptions{})
		return err
	}))
}

// versions are all states of a binding so far.
func (s *scene) versions(key string) []version {
	resource := resourceBindings
	if strings.HasPrefix(key, "-/") {
		resource = clusterResourceBindings
	}
	versions, err := s.chronicle.of(resource, key)
	require.NoError(s, err)
	return versions
}

// find is a binding as it stands, nil when there is none.
func (s *scene) find(key string) *binding {
	versions := s.versions(key)
	if len(versions) == 0 {
		return nil
	}
	return s.binding(versions[len(versions)-1])
}

func (s *scene) binding(v version) *binding {
	b, err := decode[binding](v.Object)
	require.NoError(s, err)
	return b
}

// clusterVersions are all states of a cluster so far.
func (s *scene) clusterVersions(name string) []version {
	versions, err := s.chronicle.of(clusters, "-/"+name)
	require.NoError(s, err)
	require.NotEmpty(s, versions, "there is no cluster %s", name)
	return versions
}

func (s *scene) cluster(name string) *cluster {
	versions := s.clusterVersions(name)
	return s.clusterIn(versions[len(versions)-1])
}

func (s *scene) clusterIn(v version) *cluster {
	c, err := decode[cluster](v.Object)
	require.NoError(s, err)
	return c
}

// work is the Work of a binding on a cluster, nil when there is none.
func (s *scene) work(key, on string) *work {
	all, err := s.chronicle.latest(works)
	require.NoError(s, err)
	namespace, name, _ := strings.Cut(key, "/")
	for _, u := range all {
		a := u.GetAnnotations()
		mine := a["resourcebinding.karmada.io/namespace"] == namespace && a["resourcebinding.karmada.io/name"] == name ||
			namespace == "-" && a["clusterresourcebinding.karmada.io/name"] == name
		if mine && u.GetNamespace() == "karmada-es-"+on {
			w, err := decode[work](u)
			require.NoError(s, err)
			return w
		}
	}
	return nil
}

// purged: the old Work of a binding has gone.
func (s *scene) purged(key, on string) {
	s.awaitQuietly("the old Work of "+key+" is gone", func() (bool, string) { return s.work(key, on) == nil, "" })
}

// kill stops a member and waits until Karmada has noticed.
func (s *scene) kill(name string) { s.member("kill", name, false) }

// revive lets a member answer again and waits until Karmada has noticed.
func (s *scene) revive(name string) { s.member("revive", name, true) }

// member does something to a member and waits until its cluster is Ready, or is not.
func (s *scene) member(verb, name string, ready bool) {
	s.control(verb, name, nil)
	s.await(fmt.Sprintf("Ready is %t: %s", ready, name), func() (bool, string) { return s.cluster(name).ready() == ready, "" })
}

// control changes the lab.
func (s *scene) control(verb, name string, body any) {
	require.NoError(s, s.lab.control(s.ctx, verb, name, body))
}

// failover waits until the failover of a cluster is in a state.
func (s *scene) awaitFailover(cluster, what string, is func(*clusterFailover) bool) *clusterFailover {
	s.asked[cluster] = true
	var found *clusterFailover
	s.await(cluster+": "+what, func() (bool, string) {
		e, err := query[clusterFailover](s.ctx, s.temporal, failoverID(cluster))
		if err != nil {
			return false, err.Error()
		}
		found = e
		return is(e), e.String()
	})
	s.abreast()
	return found
}

// abreast waits until the chronicle has everything of the story as it stands now: a
// watch lags a moment behind what a workflow knows.
func (s *scene) abreast() {
	type place struct {
		resource        schema.GroupVersionResource
		namespace, only string
	}
	places := []place{{resource: resourceBindings, namespace: s.namespace()}}
	for _, name := range s.all() {
		places = append(places, place{clusters, "", name}, place{works, "karmada-es-" + name, ""})
	}
	for _, u := range s.bindings {
		if u.GetNamespace() == "" {
			places = append(places, place{clusterResourceBindings, "", u.GetName()})
		}
	}
	for _, at := range places {
		options := metav1.ListOptions{}
		if at.only != "" {
			options.FieldSelector = "metadata.name=" + at.only
		}
		list, err := s.api.Resource(at.resource).Namespace(at.namespace).List(s.ctx, options)
		require.NoError(s, err)
		for i := range list.Items {
			s.sees(at.resource, &list.Items[i])
		}
	}
}

// sees waits until the chronicle has seen this version of an object, or a later one.
func (s *scene) sees(resource schema.GroupVersionResource, u *unstructured.Unstructured) {
	revision, err := strconv.ParseInt(u.GetResourceVersion(), 10, 64)
	require.NoError(s, err)
	s.awaitQuietly("the chronicle has "+resource.Resource+" "+keyOf(u), func() (bool, string) {
		versions, err := s.chronicle.of(resource, keyOf(u))
		require.NoError(s, err)
		return len(versions) > 0 && versions[len(versions)-1].Revision >= revision, ""
	})
}

// phase waits until the failover of a cluster is in a phase.
func (s *scene) phase(cluster, phase string) *clusterFailover {
	return s.awaitFailover(cluster, phase, func(e *clusterFailover) bool { return e.Phase == phase })
}

// blocked waits until a binding is: for a moment at a time it is due again, to be looked at once more.
func (s *scene) blocked(cluster, key, reason string) {
	s.awaitFailover(cluster, key+" is blocked: "+reason, func(e *clusterFailover) bool {
		return e.waits(key, "blocked", reason)
	})
}

// ends waits until the failover of a cluster has ended so, and returns its report.
func (s *scene) ends(cluster, phase string) report {
	s.phase(cluster, phase)
	var r report
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	require.NoError(s, s.temporal.GetWorkflow(ctx, failoverID(cluster), "").Get(ctx, &r))
	require.Equal(s, phase, r.Ended)
	require.Equal(s, cluster, r.Cluster)
	return r
}

// became asserts what a report says of every binding, and that it names no other.
func (s *scene) became(r report, want map[string]string) {
	got := map[string]string{}
	for _, attempt := range r.Attempts {
		for _, o := range attempt.Results {
			require.NotContains(s, got, o.Key.String(), "it has one outcome, not two: %+v", r)
			got[o.Key.String()] = o.Outcome
		}
	}
	require.Equal(s, want, got)
}

// recovers lets a cluster answer again, and asserts what its failover reports of every binding.
func (s *scene) recovers(cluster string, want map[string]string) {
	s.revive(cluster)
	s.became(s.ends(cluster, "Recovered"), want)
}

// evictions are the versions in which a Lifeboat task for a cluster first stands.
func (s *scene) evictions(key, cluster string) []version {
	return s.held(key, cluster, func(before, now int) bool { return now > before })
}

// releases are the versions in which a Lifeboat task for a cluster has gone.
func (s *scene) releases(key, cluster string) []version {
	return s.held(key, cluster, func(before, now int) bool { return now < before })
}

// held are the versions in which the number of Lifeboat's tasks for a cluster changed so.
func (s *scene) held(key, cluster string, so func(before, now int) bool) []version {
	var found []version
	before := 0
	for _, v := range s.versions(key) {
		now := len(s.binding(v).held(cluster))
		if so(before, now) {
			found = append(found, v)
		}
		before = now
	}
	return found
}

// evicted is the one eviction of a binding from a cluster.
func (s *scene) evicted(key, cluster string) version {
	found := s.evictions(key, cluster)
	require.Len(s, found, 1, "%s is evicted from %s once", key, cluster)
	return found[0]
}

// released is the one version in which the hold task of a binding has gone.
func (s *scene) released(key, cluster string) version {
	found := s.releases(key, cluster)
	require.Len(s, found, 1, "%s is let go on %s once", key, cluster)
	return found[0]
}

// writes are those of Lifeboat's users to the story's clusters and bindings, Events
// included. The status of a rule, which says whom it matches, is not among them.
func (s *scene) writes() []audited {
	all, err := s.audit.read()
	require.NoError(s, err)
	return slices.DeleteFunc(all, func(a audited) bool {
		return !a.byLifeboat() || !s.concerns(a) || a.Object.Resource == "clustertaintrules"
	})
}

// catchUp waits until the audit log has every write that was answered before now:
// until it has one of the story's own.
func (s *scene) catchUp() {
	s.marks++
	name := fmt.Sprintf("%s-mark-%d", s.namespace(), s.marks)
	s.createNamespace(name)
	s.await("the audit log has caught up", func() (bool, string) {
		all, err := s.audit.read()
		require.NoError(s, err)
		return slices.ContainsFunc(all, func(a audited) bool { return a.Object.Resource == "namespaces" && a.Object.Name == name }), ""
	})
}

// wroteTwice: by the audit log Lifeboat wrote one eviction and one release of a binding.
func (s *scene) wroteTwice(key string) {
	s.catchUp()
	require.Len(s, s.writesTo(key), 2, "one eviction and one release: %v", s.writesTo(key))
}

// leftAlone: by the audit log Lifeboat wrote nothing to a binding.
func (s *scene) leftAlone(keys ...string) {
	s.catchUp()
	for _, key := range keys {
		require.Empty(s, s.writesTo(key), "%s is left alone", key)
	}
}

// remains asserts that something holds for so long, look after look.
func (s *scene) remains(d time.Duration, what string, holds func() bool) {
	s.Helper()
	for begun := time.Now(); time.Since(begun) < d; {
		require.True(s, holds(), "ended too early: %s", what)
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // between two looks at a condition
	}
	s.Logf("%s  %s, for %s", time.Now().Format("15:04:05.0"), what, d)
}

// reaches waits until the worker's request stands at the gate.
func (s *scene) reaches(at *stop, what string) {
	s.Cleanup(at.letGo)
	s.await(what, func() (bool, string) { return at.reached(), "no such request yet" })
}

// untaintedAt is the first version of a cluster without the rule's taint after the last with it.
func (s *scene) untaintedAt(name string) version {
	versions := s.clusterVersions(name)
	for at := len(versions) - 1; at > 0; at-- {
		if s.clusterIn(versions[at-1]).taint(failedTaint, "NoExecute") != nil {
			return versions[at]
		}
	}
	require.Fail(s, "never tainted: "+name)
	return version{}
}

func (s *scene) concerns(a audited) bool {
	if a.Object.Namespace == s.namespace() {
		return true
	}
	return slices.ContainsFunc(append(s.all(), s.story.short), func(name string) bool {
		return a.Object.Name == name || strings.HasPrefix(a.Object.Name, name+".") || strings.HasPrefix(a.Object.Name, name+"-")
	})
}

// writesTo are the writes of Lifeboat to one binding.
func (s *scene) writesTo(key string) []audited {
	namespace, name, _ := strings.Cut(key, "/")
	if namespace == "-" {
		namespace = ""
	}
	return slices.DeleteFunc(s.writes(), func(a audited) bool {
		return !strings.HasSuffix(a.Object.Resource, "bindings") || a.Object.Namespace != namespace || a.Object.Name != name
	})
}
