package k8sadapter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
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
	RescheduleTriggeredAt *time.Time         `json:"rescheduleTriggeredAt,omitempty"`
}

// bindingEdit collects the changes of one write to a binding. Items of other producers stay
// raw JSON, so that no field of theirs is lost. A step that fails sets err; patch returns it.
type bindingEdit struct {
	binding *karmada.Binding
	cluster string // that the write is about

	clusters, tasks []json.RawMessage
	rescheduleAt    *time.Time
	err             error // the first
}

// newBindingEdit refuses a binding whose lists were not read item by item: a write would lose
// the missing items.
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

// fail records an error, unless an earlier one stands.
func (e *bindingEdit) fail(err error) { e.err = cmp.Or(e.err, err) }

func (e *bindingEdit) refuse(format string, args ...any) {
	e.fail(fmt.Errorf("%w: %s", karmada.ErrInvalid, fmt.Sprintf(format, args...)))
}

// encoded is the JSON of an item of Lifeboat's.
func (e *bindingEdit) encoded(item any) json.RawMessage {
	raw, err := encode(item)
	e.fail(err)
	return raw
}

// change replaces fields of one item of a list.
func (e *bindingEdit) change(item *json.RawMessage, fields map[string]any) {
	changed, err := withFields(*item, fields)
	e.fail(err)
	*item = changed
}

// refuseForeign refuses the write beside another producer's task for the cluster. A producer
// in beside is allowed, unless its task says Directly: then no old copy is left to hold.
func (e *bindingEdit) refuseForeign(beside ...string) {
	for _, task := range e.binding.Tasks {
		allowed := slices.Contains(beside, task.Producer) && task.PurgeMode != karmada.PurgeDirectly
		if task.FromCluster == e.cluster && !task.IsLifeboat() && !allowed {
			e.refuse("a task of producer %q for %s stands", task.Producer, e.cluster)
		}
	}
}

// removeTarget takes the cluster out of spec.clusters; removed is nil when it is no target.
func (e *bindingEdit) removeTarget() (removed *karmada.TargetCluster) {
	target, index := e.binding.Target(e.cluster)
	if target == nil {
		return nil
	}
	e.clusters = slices.Delete(e.clusters, index, index+1)
	return target
}

// addTarget puts a cluster into spec.clusters; one that is there already keeps its item.
func (e *bindingEdit) addTarget(target karmada.TargetCluster) {
	if standing, _ := e.binding.Target(target.Name); standing == nil {
		e.clusters = append(e.clusters, e.encoded(target))
	}
}

// undo removes targets and reduces the replicas of others; their other fields stay.
func (e *bindingEdit) undo(away []string, shrunk []karmada.TargetCluster) {
	for _, target := range shrunk {
		if _, index := e.binding.Target(target.Name); index >= 0 {
			e.change(&e.clusters[index], map[string]any{"replicas": target.Replicas})
		}
	}
	for index := len(e.clusters) - 1; index >= 0; index-- {
		if slices.Contains(away, e.binding.Clusters[index].Name) {
			e.clusters = slices.Delete(e.clusters, index, index+1)
		}
	}
}

// takeBack makes a former cluster a target again and drops Lifeboat's tasks for it.
func (e *bindingEdit) takeBack(former karmada.TargetCluster) {
	rest := *e.binding
	rest.Tasks, e.tasks = nil, nil
	for i, task := range e.binding.Tasks {
		if task.FromCluster != former.Name || !task.IsLifeboat() {
			rest.Tasks, e.tasks = append(rest.Tasks, task), append(e.tasks, e.binding.RawTasks[i])
		}
	}
	if len(rest.Tasks) == len(e.binding.Tasks) {
		e.refuse("no Lifeboat task for %s stands", former.Name)
	}
	e.binding = &rest
	e.addTarget(former)
}

// hold is what Lifeboat's task for the cluster should say.
type hold struct {
	owner, reason string
	now           time.Time
	// replicas is nil where unknown: a standing task keeps its own.
	replicas *int32
	// purge is the mode of a new task, or of one that the binding takes over. A task that the
	// binding owns already keeps its mode.
	purge karmada.PurgeMode
	// before are the clusters of such a task; empty means the present targets.
	before []string
	// state are labels for the new copy. Where empty, the binding's own task keeps its labels.
	state map[string]string
}

// putTask makes sure that there is exactly one Lifeboat task for the cluster: it refreshes a
// standing one, or appends a new one.
func (e *bindingEdit) putTask(h hold) {
	indexes := e.lifeboatTasks()
	if len(indexes) == 0 {
		e.appendTask(h)
		return
	}
	fields := map[string]any{"reason": cmp.Or(h.reason, karmada.TaskReason), "suppressDeletion": true}
	if h.owner != "" {
		fields["message"] = e.owner(h.owner)
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
	if task := e.binding.Tasks[indexes[0]]; !task.Owned() {
		e.takeOver(task, h, fields)
	}
	e.changeTask(indexes, fields)
	if len(h.state) > 0 { // Karmada passes on the state of the last task only
		task := e.tasks[indexes[0]]
		e.tasks = append(slices.Delete(e.tasks, indexes[0], indexes[0]+1), task)
	}
}

// takeOver gives a task that held for parents, or as a ban, the mode, clusters and time of
// this hold: those that it had were not the binding's own.
func (e *bindingEdit) takeOver(task karmada.Task, h hold, fields map[string]any) {
	purge := h.mode()
	if purge == karmada.PurgeDirectly && len(task.Others()) > 0 {
		e.refuse("parents hold it on %s, and Directly would delete it under them", e.cluster)
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
}

func (h hold) mode() karmada.PurgeMode { return cmp.Or(h.purge, karmada.PurgeGracefully) }

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
func (e *bindingEdit) changeTask(indexes []int, fields map[string]any) {
	e.change(&e.tasks[indexes[0]], fields)
	e.dropTasks(indexes[1:])
}

func (e *bindingEdit) appendTask(h hold) {
	task := karmada.Task{
		FromCluster: e.cluster, PurgeMode: h.mode(),
		Reason: cmp.Or(h.reason, karmada.TaskReason), Message: cut(h.owner), Producer: karmada.Producer,
		SuppressDeletion:  new(true),
		CreationTimestamp: timestamp(h.now), ClustersBeforeFailover: e.before(h),
		State: h.state,
	}
	if h.replicas != nil && *h.replicas > 0 {
		task.Replicas = h.replicas
	}
	e.tasks = append(e.tasks, e.encoded(task))
}

func (e *bindingEdit) dropTasks(indexes []int) {
	for _, index := range slices.Backward(indexes) {
		e.tasks = slices.Delete(e.tasks, index, index+1)
	}
}

// lifeboatTasks are the indexes of Lifeboat's tasks for the cluster: one, unless another writer added
// more.
func (e *bindingEdit) lifeboatTasks() (indexes []int) {
	for i, task := range e.binding.Tasks {
		if task.FromCluster == e.cluster && task.IsLifeboat() {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// owner is the message of Lifeboat's task for a binding's own migration; parents that hold it
// too stay in the message.
func (e *bindingEdit) owner(own string) string {
	task, _ := e.binding.TaskFor(e.cluster)
	if task == nil || !task.IsLifeboat() || len(task.Others()) == 0 {
		return cut(own)
	}
	message, fits := karmada.HoldersMessage(append([]string{own}, task.Others()...))
	if !fits {
		e.refuse("%s does not fit beside the other holders", own)
	}
	return message
}

// letGo removes the binding's own migration from Lifeboat's task. The task stays while parents
// of the binding hold it.
func (e *bindingEdit) letGo() {
	indexes := e.lifeboatTasks()
	if len(indexes) == 0 {
		return
	}
	e.endReschedule()
	task := e.binding.Tasks[indexes[0]]
	others := task.Others()
	switch {
	case task.ForDependent():
	case len(others) == 0:
		e.dropTasks(indexes)
	default:
		message, _ := karmada.HoldersMessage(others)
		e.changeTask(indexes, map[string]any{"message": message, "reason": karmada.TaskReasonDependent})
	}
}

// reschedule triggers one scheduling from scratch. The scheduler schedules from scratch for as long as the trigger is later
// than its last decision, and compares whole seconds. Where replicas are divided, the trigger is one second after that
// decision: the next one ends it. Anything else the scheduler decides at each look, and a look may have begun
// before this write: there the trigger is not earlier than now, so that such a look does not end it.
func (e *bindingEdit) reschedule(wanted bool, now time.Time) {
	if !wanted {
		return
	}
	at := now.Add(time.Second - time.Nanosecond)
	if last := e.binding.Status.LastScheduled; last != nil && (e.binding.Divides() || !at.Truncate(time.Second).After(*last)) {
		at = last.Add(time.Second)
	}
	e.rescheduleAt = timestamp(at)
}

// endReschedule ends a trigger that is later than the scheduler's last decision: after a write that drops a hold
// it would divide from scratch, and might delete the only copies.
func (e *bindingEdit) endReschedule() {
	if e.binding.RescheduleRequired() {
		e.rescheduleAt = timestamp(*e.binding.Status.LastScheduled)
	}
}

// patch is the merge patch of all changes. Without any it still carries the
// resourceVersion, so that the server confirms the version that was read.
func (e *bindingEdit) patch() ([]byte, error) {
	if e.err != nil {
		return nil, e.err
	}
	patch := bindingPatch{Metadata: patchMetadata{ResourceVersion: e.binding.ResourceVersion}}
	spec := bindingSpecPatch{RescheduleTriggeredAt: e.rescheduleAt}
	if !reflect.DeepEqual(e.clusters, e.binding.RawClusters) {
		spec.Clusters = &e.clusters
	}
	if !reflect.DeepEqual(e.tasks, e.binding.RawTasks) {
		spec.Tasks = &e.tasks
	}
	if spec != (bindingSpecPatch{}) {
		patch.Spec = &spec
	}
	return encode(patch)
}

// timestamp is a time as Kubernetes writes it, in whole seconds; nil where none is given.
func timestamp(now time.Time) *time.Time {
	if now.IsZero() {
		return nil
	}
	return new(now.UTC().Truncate(time.Second))
}

func cut(message string) string {
	if characters := []rune(message); len(characters) > maxTaskMessage {
		return string(characters[:maxTaskMessage])
	}
	return message
}

// encode writes JSON without escaping <, > and &, so that text copied from an object stays as
// it is.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode: %w: %w", karmada.ErrInvalid, err)
	}
	return bytes.TrimRight(buffer.Bytes(), "\n"), nil
}

// withFields replaces fields of a JSON object and keeps every other as it is.
// A nil value removes its field.
func withFields(object json.RawMessage, fields map[string]any) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", object, karmada.ErrInvalid, err)
	}
	for name, value := range fields {
		if value == nil {
			delete(all, name)
			continue
		}
		raw, err := encode(value)
		if err != nil {
			return nil, err
		}
		all[name] = raw
	}
	return encode(all)
}
