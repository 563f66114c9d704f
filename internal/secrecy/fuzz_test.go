package secrecy

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// FuzzKeys: whatever a key file says, it is a set of keys that open what they sealed, or an
// error that tells nothing of what stands there; and what no key sealed does not open.
func FuzzKeys(f *testing.F) {
	key := strings.Repeat("QUFB", 10) + "QUE="
	for _, content := range []string{
		"k1 " + key, "# a comment\n\nk1 " + key + "\r\nk2 " + key, "k1 " + key + "\nk1 " + key, "k1 QUFB", key, "k1", "", "k1 " + key + " more", "-k " + key, "k1\t" + key + "\x00",
	} {
		f.Add([]byte(content), "k1", []byte("not sealed at all"))
	}
	f.Fuzz(func(t *testing.T, content []byte, name string, data []byte) {
		file := filepath.Join(t.TempDir(), "keys")
		require.NoError(t, os.WriteFile(file, content, 0o600))
		c, err := NewCodec(file, slog.New(slog.DiscardHandler))
		if err != nil {
			for _, word := range strings.Fields(string(content)) {
				require.False(t, len(word) >= 40 && strings.Contains(err.Error(), word), "a key is told: %v", err)
			}
			return
		}
		plain := &commonpb.Payload{Data: data}
		closed, err := c.Encode([]*commonpb.Payload{plain})
		require.NoError(t, err)
		again, err := c.Decode(closed)
		require.NoError(t, err)
		require.True(t, proto.Equal(plain, again[0]))
		_, err = c.Decode([]*commonpb.Payload{{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingEncrypted), metadataKey: []byte(name)}, Data: data,
		}})
		require.Error(t, err)
	})
}
