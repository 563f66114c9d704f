package server

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
)

func (s *Servers) startAPIServer(ctx context.Context) error {
	policy := filepath.Join(s.options.Dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy(s.options.AuditReads)), 0o600); err != nil {
		return fmt.Errorf("write audit policy: %w", err)
	}
	return s.start(ctx, launch{
		ports: 1,
		prepare: func(ports []int) (Command, probe, error) {
			s.APIServerURL = "https://" + hostPort(ports[0])
			var err error
			s.Kubeconfigs, err = s.credentials.writeKubeconfigs(s.options.Dir, s.APIServerURL)
			if err != nil {
				return Command{}, nil, err
			}
			client, err := s.adminClient()
			if err != nil {
				return Command{}, nil, err
			}
			ready := func(ctx context.Context) error { return GetOK(ctx, client, s.APIServerURL+"/readyz") }
			return s.command("kube-apiserver", "kube-apiserver", s.apiServerArgs(ports[0], policy)), ready, nil
		},
		keep: func(p *Process) { s.api = p },
	})
}

func (s *Servers) adminClient() (*http.Client, error) {
	config, err := s.RESTConfig(s.options.Users[0].Name)
	if err != nil {
		return nil, err
	}
	return rest.HTTPClientFor(config)
}

func (s *Servers) apiServerArgs(port int, auditPolicy string) []string {
	return []string{
		"--etcd-servers=" + strings.Join(s.etcdURLs(), ","),
		"--secure-port=" + strconv.Itoa(port),
		"--bind-address=127.0.0.1",
		// Otherwise it looks for a network interface, and there may be none.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + s.credentials.path("service-account.key"),
		"--service-account-signing-key-file=" + s.credentials.path("service-account.key"),
		"--client-ca-file=" + s.credentials.path("ca.crt"),
		"--tls-cert-file=" + s.credentials.path("apiserver.crt"),
		"--tls-private-key-file=" + s.credentials.path("apiserver.key"),
		"--token-auth-file=" + s.credentials.path("tokens.csv"),
		"--authorization-mode=RBAC",
		"--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection",
		"--requestheader-client-ca-file=" + s.credentials.path("ca.crt"),
		"--requestheader-allowed-names=" + frontProxy,
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + s.credentials.path(frontProxy+".crt"),
		"--proxy-client-key-file=" + s.credentials.path(frontProxy+".key"),
		"--audit-log-path=" + s.AuditLog,
		"--audit-policy-file=" + auditPolicy,
		"--audit-log-format=json",
		// Each line is written before the next request of that connection is
		// served, not in batches seconds later.
		"--audit-log-mode=blocking",
		// In megabytes: whoever follows it does not look for rotated ones.
		"--audit-log-maxsize=1024",
	}
}

// auditPolicy returns a policy that records who wrote what, one line per
// request, after it was answered. Reads would bury the writes and are recorded
// only when asked for, and never those of who may do everything.
func auditPolicy(reads bool) string {
	var policy strings.Builder
	policy.WriteString(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    users: ["system:apiserver"]
  - level: None
    nonResourceURLs: ["*"]
`)
	policy.WriteString("  - level: None\n    verbs: [get, list, watch]\n")
	if reads {
		policy.WriteString("    userGroups: [\"system:masters\"]\n")
	}
	policy.WriteString("  - level: Metadata\n")
	return policy.String()
}
