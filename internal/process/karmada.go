package process

import (
	"context"
	"log/slog"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
)

// Karmada is a client of the configured Karmada; program is for its user agent.
func Karmada(program string, c config.Config, log *slog.Logger, readOnly bool) (*k8sadapter.Client, error) {
	return k8sadapter.NewClient(c.Kubernetes.Kubeconfig, c.Kubernetes.Context, k8sadapter.Options{
		QPS: float32(c.Kubernetes.QPS), Burst: c.Kubernetes.Burst, ReadOnly: readOnly,
		UserAgent: program + "/" + telemetry.Version, Logger: log, Policies: PolicyWindows(c),
	})
}

// Serve serves health and metrics of a program that goes by two servers, those of its credentials among them.
func (t *Temporal) Serve(ctx context.Context, c config.Config, registry telemetry.Registry, karmada *k8sadapter.Client, log *slog.Logger) (*telemetry.Server, error) {
	secure, err := ServerTLS(c, log)
	if err != nil {
		return nil, err
	}
	telemetry.PublishCredentials(registry, append(credentialsOf("karmada", karmada.Credentials()), credentialsOf("temporal", t.Credentials)...))
	server := &telemetry.Server{Address: c.Listen.Address, Registry: registry, Log: log, TLS: secure, Ready: []telemetry.Check{
		{Name: "temporal", Run: t.Healthy},
		{Name: "karmada", Run: karmada.Healthy},
	}}
	return server, server.Start(ctx)
}
