package secrecy

import (
	"net/http"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// maxRequest bounds one request for decryption, in bytes: a page of a history is smaller.
const maxRequest = 64 << 20

// metadataType is the type of a search attribute.
const metadataType = "type"

// historyCodec returns search attributes unchanged: they are part of a history, and no client
// encrypts them because Temporal reads them.
type historyCodec struct{ *Codec }

// Decode implements converter.PayloadCodec.
func (c historyCodec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return c.decode(payloads, func(p *commonpb.Payload) bool {
		return !c.refuseClear || len(p.GetMetadata()[metadataType]) > 0
	})
}

// Handler decrypts for the Temporal UI and the temporal CLI, at /decode. It refuses pages of
// other origins than those listed, and never encrypts.
func (c *Codec) Handler(origins []string) http.Handler {
	decode := converter.NewPayloadCodecHTTPHandler(historyCodec{c})
	mux := http.NewServeMux()
	mux.HandleFunc("OPTIONS /decode", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /decode", func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
		decode.ServeHTTP(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); origin != "" { // the request comes from a page
			if !slices.Contains(origins, origin) {
				http.Error(w, "this origin is refused: codec.origins does not have it", http.StatusForbidden)
				return
			}
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Credentials", "true")
			w.Header().Set("Access-Control-Allow-Methods", "POST, OPTIONS")
			w.Header().Set("Access-Control-Allow-Headers", "Authorization, Authorization-Extras, Content-Type, X-Namespace")
		}
		w.Header().Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}
