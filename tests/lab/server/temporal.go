package server

import (
	"context"
	"net/http"
	"path/filepath"
	"strconv"
)

func (s *Servers) startTemporal(ctx context.Context) error {
	return s.start(ctx, launch{
		ports: 3,
		prepare: func(ports []int) (command, func(context.Context) error, error) {
			s.TemporalAddress = hostPort(ports[0])
			if !s.options.NoUI {
				s.UIURL = "http://" + hostPort(ports[2])
			}
			namespaceURL := "http://" + hostPort(ports[1]) + "/api/v1/namespaces/" + s.options.TemporalNamespace
			ready := func(ctx context.Context) error {
				if err := getOK(ctx, http.DefaultClient, namespaceURL); err != nil || s.UIURL == "" {
					return err
				}
				return getOK(ctx, http.DefaultClient, s.UIURL+"/healthz")
			}
			return s.command("temporal", "temporal-dev", s.temporalArgs(ports)), ready, nil
		},
		keep: func(p *Process) { s.temporal = p },
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
	if s.options.Durable {
		args = append(args, "--db-file="+filepath.Join(s.options.Dir, "temporal.db"))
	}
	return args
}
