package activities

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
		var err error
		if out.Packed, err = Pack(p.Items); err != nil {
			return nil, fmt.Errorf("compress a page of bindings: %w", err)
		}
		out.Items = nil
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *TargetingPage) UnmarshalJSON(data []byte) error {
	var in packedPage
	err := json.Unmarshal(data, &in)
	if err == nil && len(in.Packed) > 0 {
		err = Unpack(in.Packed, &in.Items)
	}
	if err != nil {
		return fmt.Errorf("read a page of bindings: %w", err)
	}
	*p = TargetingPage(in.page)
	return nil
}

// Pack is a value as JSON, compressed.
func Pack(value any) ([]byte, error) {
	var packed bytes.Buffer
	raw, err := json.Marshal(value)
	w, opened := flate.NewWriter(&packed, flate.DefaultCompression)
	if err = errors.Join(err, opened); err == nil {
		_, err = w.Write(raw)
		err = errors.Join(err, w.Close())
	}
	return packed.Bytes(), err
}

// Unpack reads what Pack wrote.
func Unpack(packed []byte, into any) error {
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
