package queue

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// PolicyIndex finds a frozen policy by its content.
func (q *Queue) PolicyIndex() map[string]int {
	index := make(map[string]int, len(q.Policy))
	for i, p := range q.Policy {
		index[policyKey(p)] = i
	}
	return index
}

func policyKey(p rules.Policy) string {
	raw, err := json.Marshal(p)
	if err != nil {
		return fmt.Sprintf("%+v", p)
	}
	return string(raw)
}

// Freeze is the index of a policy, frozen now if it is new.
func (q *Queue) Freeze(policy rules.Policy, policies map[string]int) int {
	index, known := policies[policyKey(policy)]
	if !known {
		index = len(q.Policy)
		q.Policy = append(q.Policy, policy)
		policies[policyKey(policy)] = index
	}
	return index
}

// SoftUnread reports whether an item that soft taints move has not said yet for how long it stays.
func (q *Queue) SoftUnread() bool {
	return slices.ContainsFunc(q.Items, func(i Item) bool { return !i.Permanent && !q.Policy[i.Policy].SoftRead() })
}

// PolicyOf is the frozen policy of an item, nil for one that was adopted without a policy.
func (q *Queue) PolicyOf(i *Item) *rules.Policy {
	if i.Policy < 0 || i.Policy >= len(q.Policy) {
		return nil
	}
	return &q.Policy[i.Policy]
}

// StateOf are the frozen state rules of an item.
func (q *Queue) StateOf(i *Item) []karmada.StateRule {
	if policy := q.PolicyOf(i); policy != nil {
		return policy.State
	}
	return nil
}

// FenceOf is what is known to prove the old copy of an item dead: its own fence, or an operator's
// for the whole cluster, the newer of both; nil where nothing has to be dead for it to move. Whether
// it still holds is judged where it is used.
func (q *Queue) FenceOf(i *Item, whole *proof.Fence) *proof.Fence {
	f := cmp.Or(i.Fence, whole)
	if i.Fence != nil && whole != nil && whole.At.After(i.Fence.At) {
		f = whole
	}
	dead := i.Purge == "" || i.Purge == karmada.PurgeDirectly
	if f == nil || dead || f.WithoutState && len(q.StateOf(i)) > 0 {
		return f
	}
	return nil
}

// Reread completes the frozen policy of an item with what was read of it now: whether a drain
// selects it, which is no part of what is frozen, and for how long it stays under soft taints, where
// that had not been read so far. What was frozen stays.
func (q *Queue) Reread(i *Item, read rules.Policy, policies map[string]int) {
	was := q.PolicyOf(i)
	if was == nil {
		return
	}
	soft := !was.SoftRead() && read.SoftRead()
	if was.NotDrained == read.NotDrained && !soft {
		return
	}
	frozen := *was
	frozen.NotDrained = read.NotDrained
	if soft {
		frozen.SoftSeconds, frozen.SoftMalformed = read.SoftSeconds, read.SoftMalformed
		if !read.ClusterFailover {
			// spec.failover.cluster was taken away meanwhile; it is frozen as set.
			frozen = frozen.ReadSoft("")
		}
	}
	i.Policy = q.Freeze(frozen, policies)
}
