package members

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

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
