package queue

import (
	"encoding/json"
	"fmt"
	"slices"

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

// SoftUnread tells whether an item that soft taints move has not said yet for how long it bears them.
func (q *Queue) SoftUnread() bool {
	return slices.ContainsFunc(q.Items, func(i Item) bool { return !i.Permanent && !q.Policy[i.Policy].SoftRead() })
}

// LearnSoft completes the frozen policy of an item with the one thing that had not been read of
// it; what was frozen stays.
func (q *Queue) LearnSoft(i *Item, read rules.Policy, policies map[string]int) {
	frozen := q.Policy[i.Policy]
	if frozen.SoftRead() || !read.SoftRead() {
		return
	}
	frozen.SoftSeconds, frozen.SoftMalformed = read.SoftSeconds, read.SoftMalformed
	if !read.ClusterFailover {
		// spec.failover.cluster was taken away meanwhile; it is frozen as set.
		frozen = frozen.ReadSoft("")
	}
	i.Policy = q.Freeze(frozen, policies)
}
