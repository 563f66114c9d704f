package server

import (
	"context"
	"errors"
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
		"--audit-log-maxsize=16384",
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

// postgresFlag of temporal-dev.
const postgresFlag = "--postgres="

// emptyNamespace is all that stands in a Temporal that has lost its database.
const emptyNamespace = "default"

func (s *Servers) startTemporal(ctx context.Context) error {
	return s.start(ctx, launch{
		ports: 3,
		prepare: func(ports []int) (Command, probe, error) {
			s.TemporalAddress = hostPort(ports[0])
			if !s.options.NoUI {
				s.UIURL = "http://" + hostPort(ports[2])
			}
			s.temporalHTTP = hostPort(ports[1])
			return s.command("temporal", "temporal-dev", s.temporalArgs(ports)), s.serves(s.options.TemporalNamespace), nil
		},
		keep: func(p *Process) { s.temporal = p },
	})
}

// serves asks Temporal for a namespace, and its UI for a sign of life.
func (s *Servers) serves(namespace string) probe {
	return func(ctx context.Context) error {
		err := GetOK(ctx, http.DefaultClient, "http://"+s.temporalHTTP+"/api/v1/namespaces/"+namespace)
		if err != nil || s.UIURL == "" {
			return err
		}
		return GetOK(ctx, http.DefaultClient, s.UIURL+"/healthz")
	}
}

// LoseTemporal kills Temporal with -9 and starts it again on the same ports, with nothing
// of what it had stored: no workflow, nor the namespace and the search attributes that it
// was set up with.
func (s *Servers) LoseTemporal(ctx context.Context) error {
	return s.comesBack(ctx, "temporal", func(child *Command, ready *probe) error {
		files, err := filepath.Glob(filepath.Join(s.options.Dir, "temporal.db*"))
		for _, file := range files {
			err = errors.Join(err, os.Remove(file))
		}
		args := []string{"--namespace=" + emptyNamespace}
		for _, arg := range child.Args {
			if strings.HasPrefix(arg, postgresFlag) {
				arg = postgresFlag + s.postgres.url(emptyDatabase)
			}
			if !strings.HasPrefix(arg, "--namespace=") && !strings.HasPrefix(arg, "--search-attribute=") {
				args = append(args, arg)
			}
		}
		child.Args, *ready = args, s.serves(emptyNamespace)
		return err
	})
}

func (s *Servers) temporalArgs(ports []int) []string {
	args := []string{
		"--address=" + hostPort(ports[0]),
		"--http-port=" + strconv.Itoa(ports[1]),
		"--namespace=" + s.options.TemporalNamespace,
	}
	for _, name := range s.options.SearchAttributes {
		args = append(args, "--search-attribute="+name+"=Keyword")
	}
	if !s.options.NoUI {
		args = append(args, "--ui-port="+strconv.Itoa(ports[2]))
	}
	switch {
	case s.postgres != nil:
		args = append(args, postgresFlag+s.DatabaseURL())
	case s.options.Durable:
		args = append(args, "--db-file="+filepath.Join(s.options.Dir, "temporal.db"))
	}
	return args
}
