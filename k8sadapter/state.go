package k8sadapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
)

// maxStateValue bounds the result of one rule, in bytes; no label is as long.
const maxStateValue = 1024

// State evaluates state rules as [PreservedState] does.
func (c *Client) State(status json.RawMessage, rules []karmada.StateRule) (map[string]string, error) {
	return PreservedState(status, rules)
}

// PreservedState evaluates state rules over a copy's raw status, as Karmada does: a missing key
// is an error, and one failed rule fails them all. Whole numbers keep their digits, where
// Karmada writes 1e+06. It returns labels by name, or an ErrInvalid that names the rule.
func PreservedState(status json.RawMessage, rules []karmada.StateRule) (map[string]string, error) {
	var found map[string]any
	if err := kjson.Unmarshal(status, &found); err != nil {
		return nil, fmt.Errorf("%w: the status: %w", karmada.ErrInvalid, err)
	}
	labels := make(map[string]string, len(rules))
	for _, r := range rules {
		value, err := evaluate(r.Path, found)
		if err != nil {
			return nil, fmt.Errorf("%w: the jsonPath of label %s: %w", karmada.ErrInvalid, r.Label, err)
		}
		labels[r.Label] = value
	}
	return labels, nil
}

// evaluate runs one path. It recovers, because the library panics on some invalid paths.
func evaluate(path string, status map[string]any) (value string, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%v", broken)
		}
	}()
	j := jsonpath.New("state").AllowMissingKeys(false)
	if err := j.Parse(path); err != nil {
		return "", err
	}
	if err := affordable(path); err != nil {
		return "", err
	}
	var out boundedBuffer
	if err := j.Execute(&out, status); err != nil {
		return "", err
	}
	return out.String(), nil
}

// maxMembers bounds how often one path can select the same part of a status: the product of
// the numbers of members in its brackets.
const maxMembers = 64

var errTooMuch = fmt.Errorf("it looks through the status again and again: at most one range, one .. and %d members in brackets", maxMembers)

// affordable refuses a path whose cost grows exponentially with its length. Tenants write
// policies, and a path of a few hundred characters could otherwise use unbounded time and
// memory of a worker.
func affordable(path string) error {
	parsed, err := jsonpath.Parse("state", path)
	if err != nil {
		return err
	}
	c := pathCost{members: 1}
	if c.add(parsed.Root); c.ranges > 1 || c.descents > 1 || c.members > maxMembers {
		return errTooMuch
	}
	return nil
}

// pathCost counts the parts of a path that multiply the values it visits.
type pathCost struct{ ranges, descents, members int }

func (c *pathCost) add(node jsonpath.Node) {
	switch n := node.(type) {
	case *jsonpath.ListNode:
		for _, below := range n.Nodes {
			c.add(below)
		}
	case *jsonpath.UnionNode:
		c.members = min(c.members*len(n.Nodes), maxMembers+1)
		for _, below := range n.Nodes {
			c.add(below)
		}
	case *jsonpath.FilterNode:
		c.add(n.Left)
		c.add(n.Right)
	case *jsonpath.RecursiveNode:
		c.descents++
	case *jsonpath.IdentifierNode:
		if n.Name == "range" {
			c.ranges++
		}
	}
}

// boundedBuffer is a buffer that refuses to grow beyond maxStateValue.
type boundedBuffer struct{ bytes.Buffer }

var errTooLong = errors.New("it yields more than a label holds")

// Write implements io.Writer.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxStateValue {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}
