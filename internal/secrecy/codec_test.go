package secrecy

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func newKey(t *testing.T) string {
	t.Helper()
	secret := make([]byte, keySize)
	require.NoError(t, fixtures.Err(rand.Read(secret)))
	return base64.StdEncoding.EncodeToString(secret)
}

// put replaces a file as kubelet and secret managers do: another file takes its name.
func put(t *testing.T, file, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file+".new", []byte(content), 0o600))
	require.NoError(t, os.Rename(file+".new", file))
}

func codecWith(t *testing.T, content string) (c *Codec, file string, log *bytes.Buffer) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "keys")
	put(t, file, content)
	log = &bytes.Buffer{}
	c = fixtures.Must(NewCodec(file, false, slog.New(slog.NewTextHandler(log, nil))))(t)
	return c, file, log
}

func payload(t *testing.T, text string) *commonpb.Payload {
	t.Helper()
	return fixtures.Must(converter.GetDefaultDataConverter().ToPayload(text))(t)
}

func sealed(t *testing.T, c *Codec, text string) *commonpb.Payload {
	t.Helper()
	return fixtures.Must(c.Encode([]*commonpb.Payload{payload(t, text)}))(t)[0]
}

func requireOpens(t *testing.T, c *Codec, p *commonpb.Payload, text string) {
	t.Helper()
	all := fixtures.Must(c.Decode([]*commonpb.Payload{p}))(t)
	require.True(t, proto.Equal(payload(t, text), all[0]), all[0])
}

func TestWhatIsEncryptedSaysNothingAndOpensUnchanged(t *testing.T) {
	c, _, _ := codecWith(t, "# of this year\n\nk1 "+newKey(t)+"\n")
	one, two := sealed(t, c, "member1 is down"), sealed(t, c, "member1 is down")
	require.NotContains(t, one.String(), "member1")
	require.NotEqual(t, one.GetData(), two.GetData(), "every payload has a nonce of its own")
	require.Equal(t, "k1", string(one.GetMetadata()[metadataKey]))
	requireOpens(t, c, one, "member1 is down")
	requireOpens(t, c, payload(t, "from before"), "from before") // what was never encrypted is read as it is
}

func TestKeysAreRotatedWithoutARestart(t *testing.T) {
	old, young := "old "+newKey(t)+"\n", "young "+newKey(t)+"\n"
	c, file, log := codecWith(t, old)
	before := sealed(t, c, "a")

	// Another process, that had the new key first, writes with it.
	other, _, _ := codecWith(t, young+old)
	after := sealed(t, other, "b")
	require.Equal(t, "young", string(after.GetMetadata()[metadataKey]), "the first encrypts")
	put(t, file, young+old)
	requireOpens(t, c, after, "b")
	requireOpens(t, c, before, "a")
	require.Equal(t, "young", string(sealed(t, c, "c").GetMetadata()[metadataKey]))

	// The old one is taken away: what it encrypted is lost, and said to be.
	put(t, file, young)
	c.ring.newest()
	_, err := c.Decode([]*commonpb.Payload{before})
	require.ErrorIs(t, err, ErrUnknownKey)
	require.ErrorContains(t, err, `"old"`)

	// A file that cannot be read changes nothing.
	put(t, file, "young nonsense")
	c.ring.newest()
	requireOpens(t, c, after, "b")
	require.Contains(t, log.String(), "the one before stays in use")
	require.NotContains(t, log.String(), "nonsense")
	require.NotContains(t, log.String(), strings.Fields(young)[1])
}

func TestWhatWasChangedOnItsWayDoesNotOpen(t *testing.T) {
	c, file, _ := codecWith(t, "k1 "+newKey(t)+"\nk2 "+newKey(t)+"\n")
	for name, change := range map[string]func(*commonpb.Payload){
		"a bit of it":    func(p *commonpb.Payload) { p.Data[len(p.Data)/2] ^= 1 },
		"cut short":      func(p *commonpb.Payload) { p.Data = p.Data[:len(p.Data)-1] },
		"nothing in it":  func(p *commonpb.Payload) { p.Data = nil },
		"another's name": func(p *commonpb.Payload) { p.Metadata[metadataKey] = []byte("k2") },
		"of no name":     func(p *commonpb.Payload) { delete(p.Metadata, metadataKey) },
	} {
		t.Run(name, func(t *testing.T) {
			p := sealed(t, c, "member1")
			change(p)
			require.Error(t, fixtures.Err(c.Decode([]*commonpb.Payload{p})))
		})
	}
	same := "k1 " + newKey(t) + "\n" // another key under the same name
	p := sealed(t, c, "member1")
	put(t, file, same)
	c.ring.newest()
	require.ErrorIs(t, fixtures.Err(c.Decode([]*commonpb.Payload{p})), errTampered)
}

func TestAKeyFileThatIsWrongIsRefusedWithoutSayingWhatIsInIt(t *testing.T) {
	secret := newKey(t)
	for name, content := range map[string]string{
		"empty":           "# nothing\n",
		"no name":         secret,
		"too short a key": "k1 " + base64.StdEncoding.EncodeToString([]byte("short")),
		"no base64":       "k1 ~" + secret,
		"twice":           "k1 " + secret + "\nk1 " + secret,
		"too many words":  "k1 " + secret + " more",
		"a key as a name": "NDQ0NDQ0 " + secret[1:],
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "keys")
			put(t, file, content)
			_, err := NewCodec(file, false, slog.New(slog.DiscardHandler))
			require.ErrorContains(t, err, file)
			require.NotContains(t, err.Error(), secret)
			require.NotContains(t, err.Error(), "NDQ0NDQ0")
			require.NotContains(t, err.Error(), base64.StdEncoding.EncodeToString([]byte("short")))
		})
	}
	_, err := NewCodec(filepath.Join(t.TempDir(), "absent"), false, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestTheCodecServerAnswersOnlyPagesThatItKnows(t *testing.T) {
	c, _, _ := codecWith(t, "k1 "+newKey(t))
	const ui = "http://127.0.0.1:8233"
	server := httptest.NewServer(c.Handler([]string{ui}))
	defer server.Close()
	body := fixtures.Must(protojson.Marshal(&commonpb.Payloads{Payloads: []*commonpb.Payload{sealed(t, c, "member1")}}))(t)
	ask := func(method, path, origin string) *http.Response {
		request := fixtures.Must(http.NewRequestWithContext(t.Context(), method, server.URL+path, bytes.NewReader(body)))(t)
		if origin != "" {
			request.Header.Set("Origin", origin)
		}
		response := fixtures.Must(http.DefaultClient.Do(request))(t)
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	for _, origin := range []string{ui, ""} { // no page, but the temporal CLI
		response := ask(http.MethodPost, "/decode", origin)
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, origin, response.Header.Get("Access-Control-Allow-Origin"))
		var opened struct{ Payloads []*commonpb.Payload }
		require.NoError(t, json.NewDecoder(response.Body).Decode(&opened))
		require.JSONEq(t, `"member1"`, string(opened.Payloads[0].GetData()))
	}
	before := ask(http.MethodOptions, "/decode", ui)
	require.Equal(t, http.StatusNoContent, before.StatusCode)
	require.Contains(t, before.Header.Get("Access-Control-Allow-Headers"), "X-Namespace")

	for _, origin := range []string{"http://evil.example", "null", ui + ".evil.example"} {
		response := ask(http.MethodPost, "/decode", origin)
		require.Equal(t, http.StatusForbidden, response.StatusCode)
		require.Empty(t, response.Header.Get("Access-Control-Allow-Origin"))
	}
	require.Equal(t, http.StatusNotFound, ask(http.MethodPost, "/encode", "").StatusCode, "it encrypts nothing for anybody")
}

func TestWhatIsNotEncryptedIsRefusedWhereThatIsSaid(t *testing.T) {
	c, _, _ := codecWith(t, "k1 "+newKey(t))
	clear := payload(t, "resume, says nobody")
	c.refuseClear = true
	for _, all := range [][]*commonpb.Payload{{clear}, {sealed(t, c, "member1"), clear}, {{}}, {nil}} {
		_, err := c.Decode(all)
		require.ErrorIs(t, err, ErrClear)
		require.ErrorContains(t, err, "encryption.refuseClear")
	}
	requireOpens(t, c, sealed(t, c, "member1"), "member1")

	// Nothing, and what has no content, is encrypted like anything else.
	by := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)
	require.NoError(t, by.FromPayloads(fixtures.Must(by.ToPayloads())(t)))
	require.NoError(t, by.FromPayloads(&commonpb.Payloads{}))
	empty := fixtures.Must(by.ToPayloads(nil, []byte{}, ""))(t)
	var pointer *string
	var blob []byte
	var text string
	require.NoError(t, by.FromPayloads(empty, &pointer, &blob, &text))
	require.Nil(t, pointer)
}

// A history that a page shows has search attributes as well, which nobody encrypts.
func TestTheCodecServerRefusesWhatIsNotEncryptedButSearchAttributes(t *testing.T) {
	c, _, _ := codecWith(t, "k1 "+newKey(t))
	c.refuseClear = true
	clear, attribute := payload(t, "forged"), payload(t, "member1")
	attribute.Metadata[metadataType] = []byte("Keyword")
	handler := c.Handler(nil)
	for _, told := range []struct {
		payloads []*commonpb.Payload
		status   int
	}{{payloads: []*commonpb.Payload{sealed(t, c, "member1"), attribute}, status: http.StatusOK}, {payloads: []*commonpb.Payload{sealed(t, c, "member1"), clear}, status: http.StatusBadRequest}} {
		body := fixtures.Must(protojson.Marshal(&commonpb.Payloads{Payloads: told.payloads}))(t)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/decode", bytes.NewReader(body)))
		require.Equal(t, told.status, answer.Code, answer.Body.String())
		require.Equal(t, told.status != http.StatusOK, strings.Contains(answer.Body.String(), "encryption.refuseClear"))
	}
}

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
		c, err := NewCodec(file, false, slog.New(slog.DiscardHandler))
		if err != nil {
			for _, word := range strings.Fields(string(content)) {
				require.False(t, len(word) >= 40 && strings.Contains(err.Error(), word), "a key is told: %v", err)
			}
			return
		}
		plain := &commonpb.Payload{Data: data}
		require.True(t, proto.Equal(plain, fixtures.Must(c.Decode(fixtures.Must(c.Encode([]*commonpb.Payload{plain}))(t)))(t)[0]))
		_, err = c.Decode([]*commonpb.Payload{{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingEncrypted), metadataKey: []byte(name)}, Data: data,
		}})
		require.Error(t, err)
	})
}
