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

// Pair is a certificate and its key, PEM files that are read again when they change.
type Pair struct{ files *files[*tls.Certificate] }

// NewPair reads them; the error names the files, and shows none of their content.
func NewPair(cert, key string, log *slog.Logger) (*Pair, error) {
	read := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s and key %s: %w", cert, key, err)
		}
		return &pair, nil
	}
	pair, err := open(log, read, cert, key)
	if err != nil {
		return nil, fmt.Errorf("read a certificate: %w", err)
	}
	return &Pair{pair}, nil
}

// ForClient returns the certificate for a server that requests one.
func (p *Pair) ForClient(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return p.files.newest(), nil
}

// Server is the TLS configuration of a Lifeboat server, nil without TLS (cert is empty). With
// clientCA it verifies client certificates where they are sent; the handler must demand one.
func Server(cert, key, clientCA string, log *slog.Logger) (*tls.Config, error) {
	if cert == "" {
		return nil, nil //nolint:nilnil // no TLS is a way to serve
	}
	pair, err := NewPair(cert, key, log)
	if err != nil {
		return nil, err
	}
	base := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.files.newest(), nil },
	}
	if clientCA == "" {
		return base, nil
	}
	clients, err := open(log, func() (*x509.CertPool, error) { return readPool(clientCA) }, clientCA)
	if err != nil {
		return nil, fmt.Errorf("read the authorities of clients: %w", err)
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
	key, err := open(log, read, path)
	if err != nil {
		return nil, fmt.Errorf("read the API key: %w", err)
	}
	return func(context.Context) (string, error) { return key.current(), nil }, nil
}
