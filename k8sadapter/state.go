package k8sadapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
)

// maxStateValue bounds what one rule may yield, in bytes; no label is as long.
const maxStateValue = 1024

// State evaluates state rules as [PreservedState] does.
func (c *Client) State(status json.RawMessage, rules []failover.StateRule) (map[string]string, error) {
	return PreservedState(status, rules)
}

// PreservedState evaluates state rules over a copy's raw status, as Karmada does: a
// key that is missing is an error, and one rule that fails fails them all. Whole
// numbers keep their digits, where Karmada writes 1e+06. It returns labels by name, or
// an ErrInvalid that names the rule.
func PreservedState(status json.RawMessage, rules []failover.StateRule) (map[string]string, error) {
	var found map[string]any
	if err := kjson.Unmarshal(status, &found); err != nil {
		return nil, fmt.Errorf("%w: the status: %w", failover.ErrInvalid, err)
	}
	labels := make(map[string]string, len(rules))
	for _, r := range rules {
		value, err := evaluate(r.Path, found)
		if err != nil {
			return nil, fmt.Errorf("%w: the jsonPath of label %s: %w", failover.ErrInvalid, r.Label, err)
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
	var out short
	if err := j.Execute(&out, status); err != nil {
		return "", err
	}
	return out.String(), nil
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
