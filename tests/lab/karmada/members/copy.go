package members

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/api"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// workCopy is one object in a member cluster, with the state a kubelet and a workload controller would give it.
type workCopy struct {
	Identity
	faults faults
	cpu    resource.Quantity // one replica's request
	timer  *time.Timer
	// observed is the generation the workload controller has seen; pods of an unseen generation do not exist yet.
	observed, generation int64
	// updated pods exist and run the current template; ready of them are ready.
	updated, ready int32
}

// Identity says what a copy is and where it came from.
type Identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Replicas   int32  `json:"replicas"`
	// Work is the Work's "namespace/name"; WorkUID tells it from an earlier Work of that name.
	Work    string `json:"work"`
	WorkUID string `json:"workUID"`
}

// faults are the misbehaviours asked for by annotations, as far as they concern one member.
type faults struct {
	never      bool
	stuckAt    int32 // -1: not stuck
	readyAfter time.Duration
	slowed     bool // readyAfter is set
}

func faultsFor(member string, annotations map[string]string) faults {
	f := faults{stuckAt: -1}
	f.never = slices.Contains(strings.Split(annotations[api.FaultNeverReadyOn], ","), member)
	for item := range strings.SplitSeq(annotations[api.FaultStuckReadyAt], ",") {
		cluster, count, _ := strings.Cut(item, "=")
		if n, err := strconv.ParseInt(count, 10, 32); err == nil && cluster == member {
			f.stuckAt = int32(n)
		}
	}
	if after, err := time.ParseDuration(annotations[api.FaultReadyAfter]); err == nil {
		f.readyAfter, f.slowed = after, true
	}
	return f
}

// reportsReplicas says whether Karmada collects replica counts from this kind and judges its health by them.
func (c *workCopy) reportsReplicas() bool {
	switch c.Kind {
	case "Deployment", "StatefulSet", "ReplicaSet":
		return strings.HasPrefix(c.APIVersion, "apps/")
	default:
		return false
	}
}

// goal is how many replicas will ever be ready.
func (c *workCopy) goal() int32 {
	switch {
	case c.faults.never:
		return 0
	case c.faults.stuckAt >= 0:
		return min(c.faults.stuckAt, c.Replicas)
	default:
		return c.Replicas
	}
}

// update takes a manifest; it returns whether anything changed.
func (c *workCopy) update(manifest *unstructured.Unstructured, f faults) bool {
	replicas := replicasOf(manifest)
	changed := c.generation == 0 || replicas != c.Replicas || f != c.faults
	if c.generation == 0 || replicas != c.Replicas {
		c.generation++
	}
	c.Replicas, c.faults, c.cpu = replicas, f, cpuOf(manifest)
	c.ready = min(c.ready, c.goal())
	if f.never {
		c.updated = 0
	}
	return changed
}

func replicasOf(manifest *unstructured.Unstructured) int32 {
	replicas, _, _ := unstructured.NestedInt64(manifest.Object, "spec", "replicas")
	return int32(replicas)
}

func cpuOf(manifest *unstructured.Unstructured) resource.Quantity {
	containers, _, _ := unstructured.NestedSlice(manifest.Object, "spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return resource.Quantity{}
	}
	container, _ := containers[0].(map[string]any)
	text, _, _ := unstructured.NestedString(container, "resources", "requests", "cpu")
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}
	}
	return quantity
}

// next says what happens next and after which delay; false when the copy is at rest.
func (c *workCopy) next(t Timing) (time.Duration, func(), bool) {
	switch {
	case c.observed < c.generation:
		return t.Report, c.observe, true
	case !c.reportsReplicas() || c.faults.never:
		return 0, nil, false
	case c.ready >= c.goal() && c.updated == c.Replicas:
		return 0, nil, false
	}
	after := t.ReadyAfter
	if c.faults.slowed {
		after = c.faults.readyAfter
	}
	if after <= 0 || c.Replicas == 0 {
		return t.Report, c.startAll, true
	}
	return after / time.Duration(c.Replicas), c.startOne, true
}

func (c *workCopy) observe() {
	c.observed = c.generation
	c.updated = min(c.updated, c.Replicas)
	c.ready = min(c.ready, c.goal())
}

// startOne creates every pod and lets one more become ready.
func (c *workCopy) startOne() {
	c.updated = c.Replicas
	c.ready = min(c.ready+1, c.goal())
}

func (c *workCopy) startAll() {
	c.updated, c.ready = c.Replicas, c.goal()
}

// health is the judgement of a Karmada that is easily content: for Deployments and StatefulSets it looks at
// updated replicas and at the observed generation, never at ready ones: with three pods created and two ready
// it is Healthy. Today's Karmada wants them available as well; Lifeboat must not depend on that.
// Kinds without a rule are healthy once applied.
func (c *workCopy) health() string {
	if !c.reportsReplicas() {
		return "Healthy"
	}
	pods := c.updated
	if c.Kind == "ReplicaSet" {
		pods = c.ready
	}
	if c.observed == c.generation && pods == c.Replicas {
		return "Healthy"
	}
	return "Unhealthy"
}

const jobTime = "2026-01-01T00:00:00Z"

// status is what Karmada collects from the copy, field by field as its interpreter reflects the kind;
// zero fields are left out, as in Kubernetes. Nil for kinds without replicas. A Job
// completes at once, but one that is said to be ready after some time runs for ever.
func (c *workCopy) status() map[string]any {
	switch {
	case c.Kind == "Job" && !c.faults.slowed:
		return map[string]any{
			"startTime": jobTime, "completionTime": jobTime,
			"conditions": []any{map[string]any{"type": "Complete", "status": "True", "lastTransitionTime": jobTime, "lastProbeTime": jobTime}},
		}
	case c.Kind == "Job":
		return map[string]any{"startTime": jobTime, "active": int64(1)}
	case !c.reportsReplicas():
		return nil
	}
	counts := map[string]int64{
		"generation": c.generation, "resourceTemplateGeneration": 1,
		"replicas": int64(c.updated), "readyReplicas": int64(c.ready), "availableReplicas": int64(c.ready),
	}
	status := map[string]any{}
	switch c.Kind {
	case "Deployment":
		counts["observedGeneration"], counts["updatedReplicas"] = c.observed, int64(c.updated)
		if c.observed == c.generation {
			counts["unavailableReplicas"] = int64(c.Replicas - c.ready)
		}
	case "ReplicaSet":
		counts["observedGeneration"] = c.observed
	case "StatefulSet": // never its observedGeneration
		counts["updatedReplicas"], counts["currentReplicas"] = int64(c.updated), int64(c.updated)
		status["availableReplicas"] = int64(0)
	}
	for name, count := range counts {
		if count != 0 {
			status[name] = count
		}
	}
	return status
}

// Workload is one copy as it stands in a member, whatever Karmada believes.
type Workload struct {
	Identity
	ReadyReplicas int32 `json:"readyReplicas"`
	// Running: every replica is ready; for kinds without replicas, it exists.
	Running bool `json:"running"`
}

// Workloads lists the copies the member has, dead or alive, sorted by kind, namespace and name.
func (m *Member) Workloads() []Workload {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Workload, 0, len(m.copies))
	for _, c := range m.copies {
		running := !c.reportsReplicas() || (c.observed == c.generation && c.ready == c.Replicas)
		list = append(list, Workload{Identity: c.Identity, ReadyReplicas: c.ready, Running: running})
	}
	slices.SortFunc(list, func(a, b Workload) int {
		return strings.Compare(a.Kind+"/"+a.Namespace+"/"+a.Name, b.Kind+"/"+b.Namespace+"/"+b.Name)
	})
	return list
}

// Allocated is what the pods on the member take.
func (m *Member) Allocated() corev1.ResourceList {
	m.mu.Lock()
	defer m.mu.Unlock()
	var pods int64
	var cpu resource.Quantity
	for _, c := range m.copies {
		pods += int64(c.updated)
		taken := c.cpu.DeepCopy()
		taken.Mul(int64(c.updated))
		cpu.Add(taken)
	}
	return corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI), corev1.ResourceCPU: cpu}
}

// CPUs is the member's size; 0 means plenty.
func (m *Member) CPUs() int64 { return m.config.CPUs }

// saved is a copy at rest on disk.
type saved struct {
	Identity
	Generation int64 `json:"generation"`
	Observed   int64 `json:"observed"`
	Updated    int32 `json:"updated"`
	Ready      int32 `json:"ready"`
}

// Save writes the member's copies to a file.
func (m *Member) Save(file string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]saved, 0, len(m.copies))
	for _, c := range m.copies {
		all = append(all, saved{c.Identity, c.generation, c.observed, c.updated, c.ready})
	}
	data, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode copies of %s: %w", m.config.Name, err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("save copies of %s: %w", m.config.Name, err)
	}
	return nil
}

// Load brings back the copies that Save wrote; without a file there are none.
func (m *Member) Load(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var all []saved
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return fmt.Errorf("load copies of %s: %w", m.config.Name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range all {
		m.copies[copyKey{s.Kind, s.Namespace, s.Name}] = &workCopy{
			Identity: s.Identity, faults: faults{stuckAt: -1},
			generation: s.Generation, observed: s.Observed, updated: s.Updated, ready: s.Ready,
		}
	}
	return nil
}
