package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

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
	if s.options.Durable {
		args = append(args, "--db-file="+filepath.Join(s.options.Dir, "temporal.db"))
	}
	return args
}
