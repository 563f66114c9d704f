package secrecy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Pair reads a certificate and its key, PEM files, again when they change; the error names the files, and shows
// none of their content.
func Pair(cert, key string, log *slog.Logger) (func() *tls.Certificate, error) {
	read := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s and key %s: %w", cert, key, err)
		}
		return &pair, nil
	}
	pair, err := open("a certificate", log, read, cert, key)
	return pair.newest, err
}

// Server is the TLS configuration of a Lifeboat server, nil without TLS (cert is empty). With
// clientCA it verifies client certificates where they are sent; the handler must demand one.
func Server(cert, key, clientCA string, log *slog.Logger) (*tls.Config, error) {
	if cert == "" {
		return nil, nil //nolint:nilnil // no TLS is a way to serve
	}
	pair, err := Pair(cert, key, log)
	if err != nil {
		return nil, err
	}
	base := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair(), nil },
	}
	if clientCA == "" {
		return base, nil
	}
	read := func() (*x509.CertPool, error) { return readPool(clientCA) }
	clients, err := open("the authorities of clients", log, read, clientCA)
	if err != nil {
		return nil, err
	}
	with := func() *tls.Config {
		c := base.Clone()
		c.ClientAuth, c.ClientCAs = tls.VerifyClientCertIfGiven, clients.newest()
		return c
	}
	outer := with()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return with(), nil }
	return outer, nil
}

func readPool(path string) (*x509.CertPool, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the path is the configuration's
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s has no certificate", path)
	}
	return pool, nil
}

// APIKey reads an API key from a file, again when it changes.
func APIKey(path string, log *slog.Logger) (func(context.Context) (string, error), error) {
	read := func() (string, error) {
		content, err := os.ReadFile(path) //nolint:gosec // the path is the configuration's
		if err != nil {
			return "", err
		}
		key := strings.TrimSpace(string(content))
		if key == "" || strings.ContainsAny(key, " \t\r\n") {
			return "", errors.New(path + " does not hold one API key and nothing else")
		}
		return key, nil
	}
	key, err := open("the API key", log, read, path)
	return func(context.Context) (string, error) { return key.current(), nil }, err
}
