package k8sadapter

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// encode writes JSON without escaping <, > and &, so that what is copied from an
// object stays as it stands.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode: %w: %w", karmada.ErrInvalid, err)
	}
	return bytes.TrimRight(buffer.Bytes(), "\n"), nil
}

// withFields replaces fields of a JSON object and leaves every other as it stands.
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
