package activities

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"

	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// packAbove is the number of bindings above which a page is compressed: a list of
// tens of thousands stands in the workflow's history, page by page.
const packAbove = 50

// packedPage is a TargetingPage in its encoded form.
type packedPage struct {
	Policies []rules.Policy `json:"policies,omitempty"`
	Items    []Targeting    `json:"items,omitempty"`
	Packed   []byte         `json:"packed,omitempty"` // Items, compressed
	Next     *Page          `json:"next,omitempty"`

	Evicted []proof.BindingFact `json:"evicted,omitempty"`
}

// MarshalJSON compresses a long page.
func (p TargetingPage) MarshalJSON() ([]byte, error) {
	out := packedPage{Policies: p.Policies, Items: p.Items, Next: p.Next, Evicted: p.Evicted}
	if len(p.Items) > packAbove {
		raw, err := json.Marshal(p.Items)
		if err != nil {
			return nil, fmt.Errorf("write a page of bindings: %w", err)
		}
		var packed bytes.Buffer
		w, err := flate.NewWriter(&packed, flate.DefaultCompression)
		if err != nil {
			return nil, fmt.Errorf("compress a page of bindings: %w", err)
		}
		if _, err := w.Write(raw); err != nil {
			return nil, fmt.Errorf("compress a page of bindings: %w", err)
		}
		if err := w.Close(); err != nil {
			return nil, fmt.Errorf("compress a page of bindings: %w", err)
		}
		out.Items, out.Packed = nil, packed.Bytes()
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *TargetingPage) UnmarshalJSON(data []byte) error {
	var in packedPage
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read a page of bindings: %w", err)
	}
	if len(in.Packed) > 0 {
		raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(in.Packed)))
		if err != nil {
			return fmt.Errorf("read a page of bindings: %w", err)
		}
		if err := json.Unmarshal(raw, &in.Items); err != nil {
			return fmt.Errorf("read a page of bindings: %w", err)
		}
	}
	*p = TargetingPage{Policies: in.Policies, Items: in.Items, Next: in.Next, Evicted: in.Evicted}
	return nil
}
