package k8sadapter

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxTaskMessage is how many characters a task's message may have.
const maxTaskMessage = 1024

// patchMetadata makes a patch fail with a conflict when the object changed since
// it was read.
type patchMetadata struct {
	ResourceVersion string             `json:"resourceVersion"`
	Annotations     map[string]*string `json:"annotations,omitempty"` // nil removes one
}

// bindingPatch is everything that Lifeboat ever writes to a binding. What does
// not change is left out.
type bindingPatch struct {
	Metadata patchMetadata     `json:"metadata"`
	Spec     *bindingSpecPatch `json:"spec,omitempty"`
}

type bindingSpecPatch struct {
	Clusters              *[]json.RawMessage `json:"clusters,omitempty"`
	Tasks                 *[]json.RawMessage `json:"gracefulEvictionTasks,omitempty"`
	RescheduleTriggeredAt *metav1.Time       `json:"rescheduleTriggeredAt,omitempty"`
}

// bindingEdit collects the changes of one write to a binding. Items of others are
// moved around as raw JSON and never decoded into something smaller.
type bindingEdit struct {
	binding *karmada.Binding
	cluster string // that the write is about

	clusters, tasks               []json.RawMessage
	clustersChanged, tasksChanged bool
	rescheduleAt                  *metav1.Time
}

// newBindingEdit refuses a binding of which the lists to be written are not known
// item by item: a write would lose what was not read.
func newBindingEdit(b *karmada.Binding, cluster string) (*bindingEdit, error) {
	if b == nil || cluster == "" {
		return nil, fmt.Errorf("%w: no binding or no cluster given", karmada.ErrInvalid)
	}
	if b.ResourceVersion == "" {
		return nil, fmt.Errorf("%w: the binding has no resourceVersion", karmada.ErrInvalid)
	}
	if len(b.RawClusters) != len(b.Clusters) || len(b.RawTasks) != len(b.Tasks) {
		return nil, fmt.Errorf("%w: the binding's own JSON items are missing", karmada.ErrInvalid)
	}
	return &bindingEdit{
		binding: b, cluster: cluster,
		clusters: slices.Clone(b.RawClusters), tasks: slices.Clone(b.RawTasks),
	}, nil
}

// refuseForeign fails when another producer's task for the cluster stands. That of a producer
// beside which Lifeboat's may stand fails where it says Directly: there is nothing left to hold.
func (e *bindingEdit) refuseForeign(beside ...string) error {
	for _, task := range e.binding.Tasks {
		allowed := slices.Contains(beside, task.Producer) && task.PurgeMode != karmada.PurgeDirectly
		if task.FromCluster == e.cluster && !task.Ours() && !allowed {
			return fmt.Errorf("%w: a task of producer %q for %s stands", karmada.ErrInvalid, task.Producer, e.cluster)
		}
	}
	return nil
}

// removeTarget takes the cluster out of spec.clusters; removed is nil when it is no target.
func (e *bindingEdit) removeTarget() (removed *karmada.TargetCluster) {
	target, index := e.binding.Target(e.cluster)
	if target == nil {
		return nil
	}
	e.clusters = slices.Delete(e.clusters, index, index+1)
	e.clustersChanged = true
	return target
}

// addTarget puts a cluster into spec.clusters; one that stands there stays as it is.
func (e *bindingEdit) addTarget(target karmada.TargetCluster) error {
	if standing, _ := e.binding.Target(target.Name); standing != nil {
		return nil
	}
	raw, err := encode(target)
	if err != nil {
		return err
	}
	e.clusters = append(e.clusters, raw)
	e.clustersChanged = true
	return nil
}

// undo takes targets out and gives others fewer replicas; what else their items
// carry stays.
func (e *bindingEdit) undo(away []string, shrunk []karmada.TargetCluster) error {
	for _, target := range shrunk {
		_, index := e.binding.Target(target.Name)
		if index < 0 {
			continue
		}
		changed, err := withFields(e.clusters[index], map[string]any{"replicas": target.Replicas})
		if err != nil {
			return err
		}
		e.clusters[index], e.clustersChanged = changed, true
	}
	for index := len(e.clusters) - 1; index >= 0; index-- {
		if slices.Contains(away, e.binding.Clusters[index].Name) {
			e.clusters = slices.Delete(e.clusters, index, index+1)
			e.clustersChanged = true
		}
	}
	return nil
}

// takeBack makes a former cluster a target again and drops Lifeboat's tasks for it.
func (e *bindingEdit) takeBack(former karmada.TargetCluster) error {
	rest := *e.binding
	rest.Tasks, e.tasks = nil, nil
	for i, task := range e.binding.Tasks {
		if task.FromCluster == former.Name && task.Ours() {
			e.tasksChanged = true
			continue
		}
		rest.Tasks, e.tasks = append(rest.Tasks, task), append(e.tasks, e.binding.RawTasks[i])
	}
	if !e.tasksChanged {
		return fmt.Errorf("%w: no Lifeboat task for %s stands", karmada.ErrInvalid, former.Name)
	}
	e.binding = &rest
	return e.addTarget(former)
}

// hold is what Lifeboat's task for the cluster should say.
type hold struct {
	owner, reason string
	now           time.Time
	// replicas are written when known: nil leaves those of a standing task.
	replicas *int32
	// purge is the mode of a new task, or of one taken over; the binding's own keeps its own.
	purge karmada.PurgeMode
	// before are the clusters of such a task; empty takes the present targets.
	before []string
	// state are labels for the new copy; none leaves those of the binding's own task.
	state map[string]string
}

// putTask makes Lifeboat's one task for the cluster stand: a standing one is refreshed,
// otherwise a new one is appended.
func (e *bindingEdit) putTask(h hold) error {
	ours := e.ours()
	if len(ours) == 0 {
		return e.appendTask(h)
	}
	fields := map[string]any{
		"reason": orDefault(h.reason, karmada.TaskReason), "suppressDeletion": true,
	}
	if h.owner != "" {
		message, err := e.owner(h.owner)
		if err != nil {
			return err
		}
		fields["message"] = message
	}
	if h.replicas != nil {
		fields["replicas"] = nil
		if *h.replicas > 0 {
			fields["replicas"] = *h.replicas
		}
	}
	if len(h.state) > 0 {
		fields["preservedLabelState"] = h.state
	}
	if task := e.binding.Tasks[ours[0]]; !task.Owned() {
		if err := e.takeOver(task, h, fields); err != nil {
			return err
		}
	}
	if err := e.changeTask(ours, fields); err != nil {
		return err
	}
	if len(h.state) > 0 {
		e.moveLast(ours[0])
	}
	return nil
}

// moveLast makes a task the last one: Karmada hands on the state of no other.
func (e *bindingEdit) moveLast(index int) {
	task := e.tasks[index]
	e.tasks = append(slices.Delete(e.tasks, index, index+1), task)
}

// takeOver makes a task that stood for parents, or as a ban, say what a new one of
// this hold would: its mode was theirs, and so were its clusters and its time.
func (e *bindingEdit) takeOver(task karmada.Task, h hold, fields map[string]any) error {
	purge := h.mode()
	if purge == karmada.PurgeDirectly && len(task.Others()) > 0 {
		return fmt.Errorf("%w: parents hold it on %s, and Directly would delete it under them", karmada.ErrInvalid, e.cluster)
	}
	fields["purgeMode"], fields["clustersBeforeFailover"] = purge, nil
	if len(h.state) == 0 {
		fields["preservedLabelState"] = nil
	}
	if before := e.before(h); len(before) > 0 {
		fields["clustersBeforeFailover"] = before
	}
	if at := timestamp(h.now); at != nil {
		fields["creationTimestamp"] = at
	}
	return nil
}

func (h hold) mode() karmada.PurgeMode {
	return karmada.PurgeMode(orDefault(string(h.purge), string(karmada.PurgeGracefully)))
}

// before are the clusters that a task of this hold names.
func (e *bindingEdit) before(h hold) []string {
	names := slices.Clone(h.before)
	if len(names) > 0 {
		return names
	}
	for _, target := range e.binding.Clusters {
		names = append(names, target.Name)
	}
	return names
}

// changeTask sets fields of the first of Lifeboat's tasks and drops any further one.
func (e *bindingEdit) changeTask(ours []int, fields map[string]any) error {
	changed, err := withFields(e.tasks[ours[0]], fields)
	if err != nil {
		return err
	}
	e.tasks[ours[0]] = changed
	e.dropTasks(ours[1:])
	e.tasksChanged = true
	return nil
}

func (e *bindingEdit) appendTask(h hold) error {
	task := taskWire{
		FromCluster: e.cluster, PurgeMode: h.mode(),
		Reason: orDefault(h.reason, karmada.TaskReason), Message: cut(h.owner), Producer: karmada.Producer,
		SuppressDeletion:  new(true),
		CreationTimestamp: timestamp(h.now), ClustersBeforeFailover: e.before(h),
		PreservedLabelState: h.state,
	}
	if h.replicas != nil && *h.replicas > 0 {
		task.Replicas = h.replicas
	}
	return e.appendRaw(task)
}

func (e *bindingEdit) appendRaw(task taskWire) error {
	raw, err := encode(task)
	if err != nil {
		return err
	}
	e.tasks = append(e.tasks, raw)
	e.tasksChanged = true
	return nil
}

// dropTask drops Lifeboat's tasks for the cluster; there may be none.
func (e *bindingEdit) dropTask() { e.dropTasks(e.ours()) }

func (e *bindingEdit) dropTasks(indexes []int) {
	for _, index := range slices.Backward(indexes) {
		e.tasks = slices.Delete(e.tasks, index, index+1)
		e.tasksChanged = true
	}
}

// Lifeboat's are the indexes of Lifeboat's tasks for the cluster: one, unless somebody meddled.
func (e *bindingEdit) ours() []int {
	var indexes []int
	for i, task := range e.binding.Tasks {
		if task.FromCluster == e.cluster && task.Ours() {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// reschedule asks the scheduler to look again from scratch. It compares whole
// seconds and wants a later one than that of its last answer: one truncated to the
// second of that answer would be ignored.
func (e *bindingEdit) reschedule(wanted bool, now time.Time) {
	if !wanted {
		return
	}
	at := now.Truncate(time.Second)
	if at.Before(now) {
		at = at.Add(time.Second)
	}
	if last := e.binding.Status.LastScheduled; last != nil && !at.After(*last) {
		at = last.Truncate(time.Second).Add(time.Second)
	}
	e.rescheduleAt = timestamp(at)
}

// patch is the merge patch of all changes. Without any it still carries the
// resourceVersion, so that the server confirms what was read.
func (e *bindingEdit) patch() ([]byte, error) {
	patch := bindingPatch{Metadata: patchMetadata{ResourceVersion: e.binding.ResourceVersion}}
	spec := bindingSpecPatch{RescheduleTriggeredAt: e.rescheduleAt}
	if e.clustersChanged {
		spec.Clusters = &e.clusters
	}
	if e.tasksChanged {
		spec.Tasks = &e.tasks
	}
	if spec != (bindingSpecPatch{}) {
		patch.Spec = &spec
	}
	return encode(patch)
}

func timestamp(now time.Time) *metav1.Time {
	if now.IsZero() {
		return nil
	}
	return &metav1.Time{Time: now.UTC().Truncate(time.Second)}
}

func cut(message string) string {
	if characters := []rune(message); len(characters) > maxTaskMessage {
		return string(characters[:maxTaskMessage])
	}
	return message
}

func orDefault(value, byDefault string) string {
	if value == "" {
		return byDefault
	}
	return value
}
