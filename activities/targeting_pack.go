package activities

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
)

// packAbove is the number of bindings above which a page is compressed: a list of
// tens of thousands stands in the workflow's history, page by page.
const packAbove = 50

// page is a TargetingPage without its encoding.
type page TargetingPage

// packedPage is a TargetingPage in its encoded form.
type packedPage struct {
	page
	Packed []byte `json:"packed,omitempty"` // Items, compressed
}

// MarshalJSON compresses a long page.
func (p TargetingPage) MarshalJSON() ([]byte, error) {
	out := packedPage{page: page(p)}
	if len(p.Items) > packAbove {
		var packed bytes.Buffer
		w, err := flate.NewWriter(&packed, flate.DefaultCompression)
		if err == nil {
			err = errors.Join(json.NewEncoder(w).Encode(p.Items), w.Close())
		}
		if err != nil {
			return nil, fmt.Errorf("compress a page of bindings: %w", err)
		}
		out.Items, out.Packed = nil, packed.Bytes()
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *TargetingPage) UnmarshalJSON(data []byte) error {
	var in packedPage
	err := json.Unmarshal(data, &in)
	if err == nil && len(in.Packed) > 0 {
		err = json.NewDecoder(flate.NewReader(bytes.NewReader(in.Packed))).Decode(&in.Items)
	}
	if err != nil {
		return fmt.Errorf("read a page of bindings: %w", err)
	}
	*p = TargetingPage(in.page)
	return nil
}
