package k8sadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var _ activities.EventRecorder = (*Recorder)(nil)

// posted answers POSTs with what was sent, and keeps it.
type posted struct {
	mutex  sync.Mutex
	bodies []map[string]any
	code   int
}

func (p *posted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	raw, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	body["path"] = r.URL.Path
	p.bodies = append(p.bodies, body)
	if p.code != 0 {
		answer(w, p.code, "Whatever")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(raw)
}

func TestKarmada2835AnEventIsWrittenOnceAndStandsWithItsObject(t *testing.T) {
	var server posted
	recorder := NewRecorder(connect(t, &server, Options{}), "lifeboat-worker")
	record := func(ctx context.Context, e activities.Event) {
		recorder.Record(ctx, e)
		recorder.client.Close()
	}
	binding := activities.Event{
		Binding: &karmada.BindingKey{Namespace: "shop", Name: "cart"}, UID: "u1",
		Reason: "EvictWorkloadFromClusterSucceed", Message: "moved by workflow w",
	}
	cluster := activities.Event{Cluster: "m1", UID: "u2", Warning: true, Reason: "TaintClusterFailed", Message: strings.Repeat("ü", 2000)}
	// The caller's deadline has passed: what was done is told all the same.
	late, cancel := context.WithCancel(t.Context())
	cancel()
	record(late, binding)
	require.Len(t, server.bodies, 1)
	record(t.Context(), binding)
	record(t.Context(), cluster)
	record(t.Context(), activities.Event{Binding: &karmada.BindingKey{Name: "role"}, Reason: "R", Message: "m"})

	require.Len(t, server.bodies, 3, "the repeat is not written")
	first, second, third := server.bodies[0], server.bodies[1], server.bodies[2]
	assert.Equal(t, "/api/v1/namespaces/shop/events", first["path"])
	assert.Equal(t, "Normal", first["type"])
	assert.Equal(t, object{
		"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "namespace": "shop", "name": "cart", "uid": "u1",
	}, first["involvedObject"])
	assert.Equal(t, "/api/v1/namespaces/default/events", second["path"], "a cluster has no namespace")
	assert.Equal(t, "Warning", second["type"])
	assert.Len(t, second["message"], maxEventMessage)
	assert.Equal(t, "ClusterResourceBinding", part(third, "involvedObject")["kind"])
}

// Karmada, too, tells of an eviction on the resource template.
//
// Rules: R4.16-10.
func TestRecord_EventOfABinding_IsOnItsWorkloadAsWell(t *testing.T) {
	var server posted
	recorder := NewRecorder(connect(t, &server, Options{}), "lifeboat-worker")
	for _, workload := range []karmada.Resource{
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "cart", UID: "u2"},
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "reader"},
		{}, // a binding that cannot be read
	} {
		recorder.Record(t.Context(), activities.Event{
			Binding: &karmada.BindingKey{Namespace: workload.Namespace, Name: "b-" + workload.Name}, UID: "u1", Workload: &workload,
			Reason: "EvictWorkloadFromClusterSucceed", Message: "evicted",
		})
		recorder.client.Close()
	}
	require.Len(t, server.bodies, 5)
	assert.Equal(t, "ResourceBinding", part(server.bodies[0], "involvedObject")["kind"])
	assert.Equal(t, "/api/v1/namespaces/shop/events", server.bodies[1]["path"])
	assert.Equal(t, object{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "cart", "uid": "u2"}, server.bodies[1]["involvedObject"])
	assert.Equal(t, "EvictWorkloadFromClusterSucceed", server.bodies[1]["reason"])
	assert.Equal(t, "/api/v1/namespaces/default/events", server.bodies[3]["path"])
	assert.Equal(t, "reader", part(server.bodies[3], "involvedObject")["name"])
}

// shelf keeps Events as an API server does: a name is taken once.
type shelf struct {
	mutex   sync.Mutex
	objects map[string]map[string]any
	version int
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	path := r.URL.Path
	if r.Method == http.MethodPost {
		name, _ := part(body, "metadata")["name"].(string)
		path += "/" + name
	}
	standing := s.objects[path]
	switch {
	case r.Method == http.MethodPost && standing != nil:
		answer(w, http.StatusConflict, "AlreadyExists")
		return
	case r.Method == http.MethodPost:
		standing = body
	case standing == nil:
		answer(w, http.StatusNotFound, "NotFound")
		return
	case r.Method == http.MethodPatch && part(body, "metadata")["resourceVersion"] != part(standing, "metadata")["resourceVersion"]:
		answer(w, http.StatusConflict, "Conflict")
		return
	case r.Method == http.MethodPatch:
		standing["count"], standing["lastTimestamp"] = body["count"], body["lastTimestamp"]
	}
	if r.Method != http.MethodGet {
		s.version++
		part(standing, "metadata")["resourceVersion"] = strconv.Itoa(s.version)
		s.objects[path] = standing
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(standing)
}

// A retried activity may run on another worker: what it says again is one Event all the
// same, counted up only when it is news.
func TestWhatTwoWorkersSayIsOneEvent(t *testing.T) {
	server := &shelf{objects: map[string]map[string]any{}}
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var workers []*Recorder
	clocks := make([]time.Time, 3)
	for n := range clocks {
		client := connect(t, server, Options{})
		client.now = func() time.Time { return clocks[n] }
		workers = append(workers, NewRecorder(client, "lifeboat-worker"))
	}
	told := activities.Event{
		Binding: &karmada.BindingKey{Namespace: "shop", Name: "cart"}, UID: "u1",
		Reason: "EvictWorkloadFromClusterSucceed", Message: "evicted from m1 by workflow binding-migration/m1/shop/cart",
	}
	say := func(worker int, after time.Duration, e activities.Event) {
		clocks[worker] = start.Add(after)
		workers[worker].Record(t.Context(), e)
		workers[worker].client.Close()
	}
	counts := func() (n []any) {
		for _, e := range server.objects {
			n = append(n, e["count"])
		}
		return n
	}
	say(0, 0, told)
	say(1, time.Second, told)
	require.Equal(t, []any{1.0}, counts(), "the other worker retries the activity")
	say(2, sameEventPause+time.Second, told)
	require.Equal(t, []any{2.0}, counts(), "it happened again")

	other := told
	other.UID = "u2"
	say(0, 0, other)
	require.Len(t, server.objects, 2, "another object of that name")
	other.Message = "evicted from m2 by workflow binding-migration/m2/shop/cart"
	say(0, 0, other)
	require.Len(t, server.objects, 3, "something else is said")
}

func TestALostEventHarmsNothingAndIsToldAtDebug(t *testing.T) {
	var log lockedBuffer
	server := posted{code: http.StatusForbidden}
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	recorder := NewRecorder(connect(t, &server, Options{Logger: logger}), "x")
	recorder.Record(t.Context(), activities.Event{Cluster: "m1", Reason: "R", Message: "m"})
	recorder.client.Close()
	assert.Contains(t, log.String(), "level=DEBUG")
	assert.Contains(t, log.String(), "may not create events")
}

// No eviction waits for its Event; a program that stops does. Behind a server that is too slow an Event is lost in the end.
func TestRecord_ServerIsSlow_CallerGoesOn(t *testing.T) {
	var written atomic.Int64
	answers := make(chan struct{})
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-answers
		written.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	})
	recorder := NewRecorder(connect(t, server, Options{}), "lifeboat-worker")
	record := func(message string) {
		recorder.Record(t.Context(), activities.Event{Cluster: "m1", Reason: "R", Message: message})
	}
	for n := range eventsAtOnce {
		record(strconv.Itoa(n)) // nothing is answered yet
	}
	recorder.timeout = time.Millisecond
	record("one too many")
	close(answers)
	recorder.client.Close()
	require.EqualValues(t, eventsAtOnce, written.Load())
}

func isGranted(f Finding) bool { return f.Allowed }

// Rules: R4.15-15.
func TestPreflightAnswersEveryPermission(t *testing.T) {
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if strings.Contains(string(raw), `"verb":"update"`) {
			answer(w, http.StatusInternalServerError, "InternalError")
			return
		}
		allowed := !strings.Contains(string(raw), `"verb":"patch"`)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","status":{"allowed":%t}}`, allowed)
	})
	client := connect(t, server, Options{})
	for mode, missing := range map[rules.Mode][]string{
		rules.ModeObserve: nil,
		rules.ModeEnforce: {
			"patch clusters.cluster.karmada.io", "patch resourcebindings.work.karmada.io",
			"patch clusterresourcebindings.work.karmada.io",
			"patch works.work.karmada.io", "patch events",
		},
	} {
		permissions := WorkerPermissions(mode)
		findings := client.Preflight(t.Context(), permissions)
		assert.Len(t, findings, len(permissions))
		var names []string
		for _, f := range slices.DeleteFunc(findings, isGranted) {
			require.NoError(t, f.Err)
			assert.NotEmpty(t, f.Permission.Why)
			names = append(names, f.Permission.String())
		}
		assert.Equal(t, missing, names)
	}
	findings := client.Preflight(t.Context(), ControllerPermissions(rules.ModeObserve, "karmada-system", "lifeboat"))
	findings = slices.DeleteFunc(findings, isGranted)
	require.Len(t, findings, 1)
	require.ErrorIs(t, findings[0].Err, karmada.ErrUnreachable, "not answered is not granted")
	assert.Equal(t, "update leases.coordination.k8s.io named lifeboat in namespace karmada-system", findings[0].Permission.String())
}

// Rules: R4.15-19.
func TestASecondEvictorIsFoundByItsTasks(t *testing.T) {
	const rbs, crbs = "/apis/work.karmada.io/v1alpha2/resourcebindings", "/apis/work.karmada.io/v1alpha2/clusterresourcebindings"
	task := func(namespace, producer string) string {
		return fmt.Sprintf(`{"metadata":{"name":"b","namespace":%q},"spec":{"gracefulEvictionTasks":[{"fromCluster":"m1","producer":%q}]}}`, namespace, producer)
	}
	server, client := serving(t, map[string]string{
		rbs:  `{"items":["garbage",` + task("n", karmada.Producer) + `,` + task("n", "TaintManager") + `]}`,
		crbs: `{"items":[` + task("", "TaintManager") + `]}`,
	})
	evidence := fixtures.Must(client.SecondEvictor(t.Context()))(t)
	assert.Equal(t, "ResourceBinding n/b carries a task of producer TaintManager for cluster m1, and 1 more such tasks stand", evidence)

	server.objects = map[string]string{rbs: `{"items":[` + task("n", karmada.Producer) + `]}`, crbs: `{"items":[]}`}
	evidence = fixtures.Must(client.SecondEvictor(t.Context()))(t)
	assert.Empty(t, evidence)
}

func TestHealthIsWhatTheAPIServerSaysOfItself(t *testing.T) {
	code := http.StatusOK
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/readyz", r.URL.Path)
		w.WriteHeader(code)
	}), Options{})
	require.NoError(t, client.Healthy(t.Context()))
	code = http.StatusInternalServerError
	assert.ErrorIs(t, client.Healthy(t.Context()), karmada.ErrUnreachable)
}

func TestARulesStatusIsWrittenOnlyWhenItSaysSomethingNew(t *testing.T) {
	const path = "/apis/failover.lifeboat.dev/v1alpha1/clustertaintrules/r"
	standing := `{"metadata":{"name":"r","uid":"u","resourceVersion":"5","generation":2},"spec":{"taints":[]}}`
	server := &apiServer{objects: map[string]string{path: standing, path + "/status": standing}}
	now := at
	client := connect(t, server, Options{})
	client.now = func() time.Time { return now }
	write := func(rule rules.Rule, matched ...string) error {
		rule.Name = "r"
		err := client.UpdateRuleStatus(t.Context(), RuleStatus{Rule: rule, MatchedClusters: matched})
		server.objects[path] = server.objects[path+"/status"]
		return err
	}
	require.NoError(t, write(rules.Rule{Generation: 2}, "m2", "m1"))
	assert.Contains(t, server.objects[path], `"matchedClusters":["m1","m2"]`)
	assert.Contains(t, server.objects[path], `"lastTransitionTime":"2026-11-21T10:00:00Z"`)

	requests := len(server.requests)
	now = now.Add(time.Hour)
	require.NoError(t, write(rules.Rule{Generation: 2}, "m1", "m2"))
	assert.Len(t, server.requests, requests+1, "nothing new: only the read")

	require.NoError(t, write(rules.Rule{Generation: 2, Malformed: "spec.taints: odd"}))
	assert.Contains(t, server.objects[path], `"message":"spec.taints: odd"`)
	assert.Contains(t, server.objects[path], `"lastTransitionTime":"2026-11-21T11:00:00Z"`)
	assert.ErrorIs(t, write(rules.Rule{Generation: 1}), karmada.ErrConflict, "judged on an older rule")
}

func TestTheRuleDefinitionHasTheShapeThatIsDecoded(t *testing.T) {
	all, err := Definitions()
	require.NoError(t, err)
	require.Len(t, all, 1)
	versions, _, err := unstructured.NestedSlice(all[0].Object, "spec", "versions")
	require.NoError(t, err)
	require.Len(t, versions, 1)
	version, isObject := versions[0].(map[string]any)
	require.True(t, isObject)
	assert.Equal(t, ruleResource.Resource+"."+ruleResource.Group, all[0].GetName())
	assert.Equal(t, ruleResource.Version, version["name"])
	taint, found, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "spec", "properties",
		"taints", "items", "properties")
	require.NoError(t, err)
	require.True(t, found)
	seconds := func(field string) time.Duration {
		byDefault, isNumber := part(taint, field)["default"].(float64)
		require.True(t, isNumber, field)
		return time.Duration(byDefault) * time.Second
	}
	assert.Equal(t, rules.DefaultAddOnMatch, seconds("addOnMatchSeconds"))
	assert.Equal(t, rules.DefaultRemoveOnMismatch, seconds("removeOnMismatchSeconds"))
}
