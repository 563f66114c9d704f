package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unreachable drops every connection.
func unreachable(http.ResponseWriter, *http.Request, []byte) bool { panic(http.ErrAbortHandler) }

// silentUntil takes requests and never answers, as a network that drops packets.
func silentUntil(over <-chan struct{}) trouble {
	return func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		select {
		case <-over:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
}

// silentWatches opens every watch and says nothing on it, as a server that hangs.
func silentWatches(over <-chan struct{}) trouble {
	return func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if r.URL.Query().Get("watch") == "" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // whoever asked may be gone
		return silentUntil(over)(w, r, nil)
	}
}

// shortWatches cuts every watch off when it has stood for so long.
func shortWatches(after time.Duration) trouble {
	return func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if r.URL.Query().Get("watch") != "" {
			ctx, cancel := context.WithTimeout(r.Context(), after)
			context.AfterFunc(ctx, cancel)
			*r = *r.WithContext(ctx)
		}
		return false
	}
}

// exhausted is a Temporal that has reached one of its limits.
var exhausted = errs(serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT, "namespace rate limit exceeded"))

// errs answers every call to Temporal with an error of its service.
func errs(err error) trouble {
	how := serviceerror.ToStatus(err)
	details, err := proto.Marshal(how.Proto())
	if err != nil {
		panic(err)
	}
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
		w.Header().Set("Content-Type", "application/grpc")
		w.WriteHeader(http.StatusOK)
		for name, value := range map[string]string{
			"Grpc-Status": strconv.Itoa(int(how.Code())), "Grpc-Message": how.Message(),
			"Grpc-Status-Details-Bin": base64.RawStdEncoding.EncodeToString(details),
		} {
			w.Header().Set(http.TrailerPrefix+name, value)
		}
		return true
	}
}

// slow answers late.
func slow(by time.Duration) trouble {
	return func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		select {
		case <-time.After(by):
		case <-r.Context().Done():
		}
		return false
	}
}

// refusal is how an API server says no.
type refusal struct {
	code    int
	reason  metav1.StatusReason
	message string
	retry   string // Retry-After, seconds
	only    func(*http.Request) bool
}

// refuse answers what a refusal is about; everything, where it does not say.
func refuse(how refusal) trouble {
	return func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if how.only != nil && !how.only(r) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		if how.retry != "" {
			w.Header().Set("Retry-After", how.retry)
		}
		w.WriteHeader(how.code)
		// Whoever asked may be gone.
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Code: int32(how.code), Reason: how.reason, Message: how.message, //nolint:gosec // three digits
		})
		return true
	}
}

func isWrite(r *http.Request) bool {
	_, effect := apiEffect(r, nil)
	return effect
}

func isBindingWrite(r *http.Request) bool {
	return isWrite(r) && strings.Contains(r.URL.Path, "/resourcebindings/")
}

// staleReads answers every read as the first time, like a replica that lags behind.
type staleReads struct {
	mu     sync.Mutex
	bodies map[string][]byte
}

func isRead(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Get("watch") == "" && strings.HasPrefix(r.URL.Path, "/api")
}

func (s *staleReads) answer(w http.ResponseWriter, r *http.Request, _ []byte) bool {
	s.mu.Lock()
	body := s.bodies[r.URL.String()]
	s.mu.Unlock()
	if body == nil || !isRead(r) {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // whoever asked may be gone
	return true
}

func (s *staleReads) learn(r *http.Response) error {
	if !isRead(r.Request) || r.StatusCode != http.StatusOK || r.Header.Get("Content-Encoding") != "" ||
		!strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := r.Request.URL.RequestURI(); s.bodies[at] == nil {
		s.bodies[at] = body
	}
	return nil
}
