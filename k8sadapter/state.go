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

// maxStateValue bounds what one rule may yield, in bytes; no label is as long.
const maxStateValue = 1024

// State evaluates state rules as [PreservedState] does.
func (c *Client) State(status json.RawMessage, rules []karmada.StateRule) (map[string]string, error) {
	return PreservedState(status, rules)
}

// PreservedState evaluates state rules over a copy's raw status, as Karmada does: a
// key that is missing is an error, and one rule that fails fails them all. Whole
// numbers keep their digits, where Karmada writes 1e+06. It returns labels by name, or
// an ErrInvalid that names the rule.
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

// evaluate runs one path. The library may panic on a path that makes no sense; that
// must harm nobody else.
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
	var out short
	if err := j.Execute(&out, status); err != nil {
		return "", err
	}
	return out.String(), nil
}

// maxMembers bounds how often one path takes the same part of a status, by what it lists
// between brackets.
const maxMembers = 64

var errTooMuch = fmt.Errorf("it looks through the status again and again: at most one range, one .. and %d members in brackets", maxMembers)

// affordable refuses a path whose work would grow with every repetition of what it says:
// whoever writes a policy writes paths, and one of a few hundred characters could keep a
// worker busy, and take its memory, for ever.
func affordable(path string) error {
	parsed, err := jsonpath.Parse("state", path)
	if err != nil {
		return err
	}
	w := effort{members: 1}
	if w.add(parsed.Root); w.ranges > 1 || w.descents > 1 || w.members > maxMembers {
		return errTooMuch
	}
	return nil
}

// effort is what multiplies the values that a path goes through.
type effort struct{ ranges, descents, members int }

func (w *effort) add(node jsonpath.Node) {
	switch n := node.(type) {
	case *jsonpath.ListNode:
		for _, below := range n.Nodes {
			w.add(below)
		}
	case *jsonpath.UnionNode:
		w.members = min(w.members*len(n.Nodes), maxMembers+1)
		for _, below := range n.Nodes {
			w.add(below)
		}
	case *jsonpath.FilterNode:
		w.add(n.Left)
		w.add(n.Right)
	case *jsonpath.RecursiveNode:
		w.descents++
	case *jsonpath.IdentifierNode:
		if n.Name == "range" {
			w.ranges++
		}
	}
}

// short is a buffer that refuses to grow beyond maxStateValue.
type short struct{ bytes.Buffer }

var errTooLong = errors.New("it yields more than a label holds")

// Write implements io.Writer.
func (s *short) Write(p []byte) (int, error) {
	if s.Len()+len(p) > maxStateValue {
		return 0, errTooLong
	}
	return s.Buffer.Write(p)
}
