package k8sadapter

import (
	"context"
	"fmt"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// Holders sets who holds a dependent's task for a cluster.
func (c *Client) Holders(ctx context.Context, w activities.HoldersWrite) (karmada.Binding, error) {
	patch, err := holdersPatch(w)
	return c.patchBinding(ctx, "set the holders on "+w.Cluster, w.Binding, patch, err)
}

// holdersPatch changes the message of Lifeboat's task and nothing else of it. Without holders
// the task goes; without a task one is appended.
func holdersPatch(w activities.HoldersWrite) ([]byte, error) {
	edit, err := newBindingEdit(w.Binding, w.Cluster)
	if err != nil {
		return nil, err
	}
	if err := edit.refuseForeign(); err != nil {
		return nil, err
	}
	message, fits := karmada.HoldersMessage(w.Holders)
	if !fits {
		return nil, fmt.Errorf("%w: %d holders do not fit into a task's message", karmada.ErrInvalid, len(w.Holders))
	}
	ours := edit.ours()
	switch {
	case len(w.Holders) == 0:
		edit.dropTask()
	case len(ours) == 0:
		err = edit.appendTask(hold{owner: message, reason: karmada.TaskReasonDependent, now: w.Now})
	default:
		err = edit.changeTask(ours, map[string]any{"message": message})
	}
	if err != nil {
		return nil, err
	}
	return edit.patch()
}

// owner is the message of Lifeboat's task when a binding's own migration takes it, or has it:
// whoever else holds stays.
func (e *bindingEdit) owner(own string) (string, error) {
	task, _ := e.binding.TaskFor(e.cluster)
	if task == nil || !task.Ours() || len(task.Others()) == 0 {
		return cut(own), nil
	}
	message, fits := karmada.HoldersMessage(append([]string{own}, task.Others()...))
	if !fits {
		return "", fmt.Errorf("%w: %s does not fit beside the other holders", karmada.ErrInvalid, own)
	}
	return message, nil
}

// letGo takes the binding's own migration out of Lifeboat's task. Where parents of the
// binding hold it too, it stands on for their sake.
func (e *bindingEdit) letGo() error {
	ours := e.ours()
	if len(ours) == 0 {
		return nil
	}
	task := e.binding.Tasks[ours[0]]
	if task.ForDependent() {
		return nil
	}
	others := task.Others()
	if len(others) == 0 {
		e.dropTask()
		return nil
	}
	message, _ := karmada.HoldersMessage(others)
	return e.changeTask(ours, map[string]any{"message": message, "reason": karmada.TaskReasonDependent})
}
