package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/server"
)

// stopGrace is how long a program may take to stop before it is killed.
const stopGrace = 20 * time.Second

// stop asks a program to end, and kills it when it does not; nil when it was never started.
func stop(p *server.Process) error {
	if p == nil {
		return nil
	}
	return p.Stop(stopGrace)
}

// environment is the caller's without anything that would send Lifeboat elsewhere.
func environment(extra ...string) []string {
	var kept []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "TEMPORAL_") || strings.HasPrefix(name, "LIFEBOAT_") || name == "KUBECONFIG" {
			continue
		}
		kept = append(kept, variable)
	}
	return append(kept, extra...)
}

func binary(dir, name string) string { return filepath.Join(dir, name) }
