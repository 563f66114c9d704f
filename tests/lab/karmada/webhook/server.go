package webhook

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// Server is the running webhook.
type Server struct {
	http   *http.Server
	url    string
	bundle []byte
	log    *slog.Logger
}

// Start serves, registers with the API server, and returns when the API server calls it.
func Start(ctx context.Context, cfg *rest.Config, log *slog.Logger) (*Server, error) {
	s, err := serve(ctx, log, map[string]Admit{"/clusters": admitCluster, "/bindings": admitBinding})
	if err != nil {
		return nil, err
	}
	if err := s.register(ctx, cfg); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// StartForBindings serves a webhook for new bindings alone, beside Karmada's own.
func StartForBindings(ctx context.Context, cfg *rest.Config, log *slog.Logger, decide Admit) (*Server, error) {
	s, err := serve(ctx, log, map[string]Admit{"/bindings": decide})
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err == nil {
		err = s.installMutating(ctx, client, s.bindingsHook())
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// serve listens and answers admission requests.
func serve(ctx context.Context, log *slog.Logger, routes map[string]Admit) (*Server, error) {
	certificate, bundle, err := selfSigned()
	if err != nil {
		return nil, fmt.Errorf("prepare webhook: %w", err)
	}
	config := net.ListenConfig{}
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for admission requests: %w", err)
	}
	s := &Server{url: "https://" + listener.Addr().String(), bundle: bundle, log: log}
	mux := http.NewServeMux()
	for path, decide := range routes {
		mux.HandleFunc("POST "+path, answer(decide))
	}
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ErrorLog:  slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() { _ = s.http.ServeTLS(listener, "", "") }()
	return s, nil
}

// Close stops serving. Writes to clusters fail from then on, as with a Karmada that is down.
func (s *Server) Close() { _ = s.http.Close() }

func (s *Server) register(ctx context.Context, cfg *rest.Config) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	if err := s.installMutating(ctx, client, s.clustersHook(), s.bindingsHook()); err != nil {
		return err
	}
	return awaitStamping(ctx, cfg)
}

// Admit returns a JSON patch for an object, or nil.
type Admit func(ctx context.Context, request *admissionv1.AdmissionRequest) ([]Patch, error)

// Patch is one operation of a JSON patch.
type Patch struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func answer(decide Admit) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		review := admissionv1.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "not an AdmissionReview", http.StatusBadRequest)
			return
		}
		response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		operations, err := decide(r.Context(), review.Request)
		if err == nil && len(operations) > 0 {
			jsonPatch := admissionv1.PatchTypeJSONPatch
			response.PatchType = &jsonPatch
			response.Patch, err = json.Marshal(operations)
		}
		if err != nil {
			response.Allowed, response.Result = false, &metav1.Status{Message: err.Error()}
		}
		review.Request, review.Response = nil, response
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review) // the caller is gone when this fails
	}
}

// selfSigned makes a certificate for 127.0.0.1 and the PEM bundle that trusts it.
func selfSigned() (tls.Certificate, []byte, error) {
	bundle, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	certificate, err := tls.X509KeyPair(bundle, key)
	return certificate, bundle, err
}
