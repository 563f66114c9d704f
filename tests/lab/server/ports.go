package server

import (
	"fmt"
	"net"
	"strings"
)

// freePorts returns n different free TCP ports of 127.0.0.1. All are held until
// the last is found. Another process may still take one before its server binds
// it: callers start again with new ports when that happens.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// worthAnotherTry reports whether a server that died at its start may do better on
// other ports: somebody else took its port between Lifeboat's finding it free and the
// server binding it, or it died without a word, before it had come to serving.
func worthAnotherTry(log string) bool {
	return strings.TrimSpace(log) == "" || strings.Contains(log, "address already in use")
}

func hostPort(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
