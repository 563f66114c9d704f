package secrecy

import (
	"errors"
	"fmt"
	"log/slog"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// The metadata of an encrypted payload, named as in Temporal's samples; the UI sends payloads
// with "binary/encrypted" to the codec server.
const (
	metadataCipher = "encryption-cipher"
	metadataKey    = "encryption-key-id"

	encodingEncrypted = "binary/encrypted"
	cipherName        = "AES-256-GCM"
)

// ErrUnknownKey is returned for a payload whose key is not, or no longer, in the file.
var ErrUnknownKey = errors.New("the key is not in the key file")

// ErrClear is returned for a payload that is not encrypted, where that is refused.
var ErrClear = errors.New("it is not encrypted, and encryption.refuseClear refuses that")

// errTampered is the error for a payload that does not open.
var errTampered = errors.New("it does not open: another key of this name, or it was changed")

// Codec encrypts payloads with AES-256-GCM.
type Codec struct {
	// refuseClear refuses payloads that are not encrypted, so that only owners of a key can
	// write them. Otherwise they are returned unchanged, so that older histories can be read.
	refuseClear bool
	ring        *files[keyring]
}

var _ converter.PayloadCodec = (*Codec)(nil)

// NewCodec reads the key file: a name and 32 bytes in base64 on each line. The first
// encrypts, all decrypt. It is read again when it changes.
func NewCodec(keyFile string, refuseClear bool, log *slog.Logger) (*Codec, error) {
	ring, err := open("the keys for encryption", log, func() (keyring, error) { return readKeyring(keyFile) }, keyFile)
	return &Codec{ring: ring, refuseClear: refuseClear}, err
}

// Encode encrypts, metadata included.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	ring := c.ring.current()
	sealed := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encrypt a payload: %w", err)
		}
		sealed[i] = &commonpb.Payload{
			Metadata: map[string][]byte{
				converter.MetadataEncoding: []byte(encodingEncrypted),
				metadataCipher:             []byte(cipherName),
				metadataKey:                []byte(ring.first),
			},
			Data: ring.by[ring.first].Seal(nil, nil, plain, authenticated(ring.first)),
		}
	}
	return sealed, nil
}

// Decode fails with [ErrUnknownKey] without the key, and with [ErrClear] where clear ones are refused.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return c.decode(payloads, func(*commonpb.Payload) bool { return !c.refuseClear })
}

// decode returns a payload that is not encrypted unchanged where clear allows it.
func (c *Codec) decode(payloads []*commonpb.Payload, clear func(*commonpb.Payload) bool) ([]*commonpb.Payload, error) {
	opened := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingEncrypted {
			if !clear(p) {
				return nil, fmt.Errorf("decrypt a payload: %w", ErrClear)
			}
			opened[i] = p
			continue
		}
		var err error
		if opened[i], err = c.open(p); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

func (c *Codec) open(p *commonpb.Payload) (*commonpb.Payload, error) {
	name := string(p.GetMetadata()[metadataKey])
	key := c.ring.current().by[name]
	if key == nil { // another process rotated first
		key = c.ring.newest().by[name]
	}
	if key == nil {
		return nil, fmt.Errorf("decrypt a payload of key %q: %w", name, ErrUnknownKey)
	}
	plain, err := key.Open(nil, nil, p.GetData(), authenticated(name))
	if err != nil {
		return nil, fmt.Errorf("decrypt a payload of key %q: %w", name, errTampered)
	}
	opened := &commonpb.Payload{}
	if err := proto.Unmarshal(plain, opened); err != nil {
		return nil, fmt.Errorf("decrypt a payload of key %q: %w", name, errTampered)
	}
	return opened, nil
}

// authenticated is the additional data that an encrypted payload authenticates.
func authenticated(key string) []byte { return []byte(cipherName + " " + key) }
