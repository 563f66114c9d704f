package secrecy

import (
	"net/http"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// mostAsked bounds one request for decryption, in bytes: a page of a history is less.
const mostAsked = 64 << 20

// metadataType says of which type a search attribute is.
const metadataType = "type"

// forPeople passes search attributes on, which Temporal itself reads and no client
// encrypts: they come with the rest of a history.
type forPeople struct{ *Codec }

// Decode implements converter.PayloadCodec.
func (c forPeople) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return c.decode(payloads, func(p *commonpb.Payload) bool {
		return !c.RefuseClear || len(p.GetMetadata()[metadataType]) > 0
	})
}

// Handler decrypts for the Temporal UI and the temporal CLI, at /decode. A page of
// another origin than those listed is refused. It encrypts nothing for anybody.
func (c *Codec) Handler(origins []string) http.Handler {
	decode := converter.NewPayloadCodecHTTPHandler(forPeople{c})
	mux := http.NewServeMux()
	mux.HandleFunc("OPTIONS /decode", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /decode", func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, mostAsked)
		decode.ServeHTTP(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); origin != "" { // a page asks
			if !slices.Contains(origins, origin) {
				http.Error(w, "this origin may not ask: codec.origins does not have it", http.StatusForbidden)
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
