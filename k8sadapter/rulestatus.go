package k8sadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditionAccepted tells whether Lifeboat honours a rule.
const conditionAccepted = "Accepted"

// RuleStatus is what Lifeboat says about a rule. Only in enforce: in observe
// nothing is written, not even a status.
type RuleStatus struct {
	Rule rules.Rule // as judged; Malformed makes it refused, with that message
	// MatchedClusters are those whose conditions match now.
	MatchedClusters []string
}

type ruleStatusWire struct {
	ObservedGeneration int64              `json:"observedGeneration"`
	MatchedClusters    []string           `json:"matchedClusters"`
	Conditions         []metav1.Condition `json:"conditions"`
}

// UpdateRuleStatus writes a rule's status if it says something new: one merge
// patch with the resourceVersion that was read for it.
func (c *Client) UpdateRuleStatus(ctx context.Context, s RuleStatus) error {
	r := request{verb: "get", resource: ruleResource, name: s.Rule.Name}
	raw, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	var d decoding
	outline, object := d.object(raw)
	var standing ruleStatusWire
	d.into("status", outline.Status, &standing)
	next := s.status(standing, metav1.NewTime(c.now()))
	if equality.Semantic.DeepEqual(standing, next) {
		return nil
	}
	if object.Generation != s.Rule.Generation {
		return fmt.Errorf("update status of rule %s: %w", s.Rule.Name, karmada.ErrConflict)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": patchMetadata{ResourceVersion: object.ResourceVersion}, "status": next,
	})
	if err != nil {
		return fmt.Errorf("update status of rule %s: %w: %w", s.Rule.Name, karmada.ErrInvalid, err)
	}
	_, err = c.do(ctx, request{
		verb: "patch", resource: ruleResource, name: s.Rule.Name, subresource: "status", body: patch,
	})
	return err
}

// status is what the status should be, given what stands: an unchanged condition
// keeps its time.
func (s RuleStatus) status(standing ruleStatusWire, now metav1.Time) ruleStatusWire {
	accepted := metav1.Condition{
		Type: conditionAccepted, Status: metav1.ConditionTrue, Reason: "Valid",
		Message: "the rule is honoured", ObservedGeneration: s.Rule.Generation, LastTransitionTime: now,
	}
	if s.Rule.Malformed != "" {
		accepted.Status, accepted.Reason, accepted.Message = metav1.ConditionFalse, string(reason.Malformed), s.Rule.Malformed
	}
	next := ruleStatusWire{
		ObservedGeneration: s.Rule.Generation,
		MatchedClusters:    append([]string{}, s.MatchedClusters...),
		Conditions:         slices.Clone(standing.Conditions),
	}
	slices.Sort(next.MatchedClusters)
	meta.SetStatusCondition(&next.Conditions, accepted)
	return next
}
