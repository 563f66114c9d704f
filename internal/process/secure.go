package process

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/secrecy"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// connection is Temporal's own configuration. A client certificate in files is read with every
// handshake, an API key in a file again when it changes, and payloads are encrypted where
// configured. The second result reads the credentials that the client sends.
func connection(c config.Config, log *slog.Logger) (client.Options, []func() ([]byte, error), error) {
	var options client.Options
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	if err == nil {
		options, err = profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	}
	if err != nil {
		return client.Options{}, nil, fmt.Errorf("read Temporal's configuration (temporal.toml and TEMPORAL_… variables): %w", err)
	}
	if err := identify(&options, profile, c, log); err != nil {
		return client.Options{}, nil, err
	}
	return options, shown(profile, c), encrypt(&options, c, log)
}

// shown reads the credentials in a profile and in the configuration; a file wins over a value.
func shown(profile envconfig.ClientConfigProfile, c config.Config) []func() ([]byte, error) {
	var all []func() ([]byte, error)
	if t := profile.TLS; t != nil {
		all = append(all, kept(t.ClientCertPath, t.ClientCertData)...)
	}
	return append(all, kept(c.Temporal.APIKeyFile, []byte(profile.APIKey))...)
}

// kept reads a credential from its file, or returns the value; none where both are empty.
func kept(file string, value []byte) []func() ([]byte, error) {
	switch {
	case file != "":
		return []func() ([]byte, error){func() ([]byte, error) { return os.ReadFile(file) }} //nolint:gosec // the operator names it
	case len(value) > 0:
		return []func() ([]byte, error){func() ([]byte, error) { return value, nil }}
	}
	return nil
}

// credentialsOf are the credentials for a server, for their metrics.
func credentialsOf(server string, read []func() ([]byte, error)) []telemetry.Credential {
	var all []telemetry.Credential
	for _, r := range read {
		all = append(all, telemetry.Credential{Server: server, Read: r})
	}
	return all
}

// errBare: an API key is a password, and must not be sent unencrypted.
var errBare = errors.New("there is an API key for Temporal (temporal.apiKeyFile, TEMPORAL_API_KEY or api_key in temporal.toml) " +
	"and TLS is disabled: the key would be sent in the clear")

// isBare reports whether an API key would be sent without TLS.
func isBare(profile envconfig.ClientConfigProfile, c config.Config) bool {
	return (c.Temporal.APIKeyFile != "" || profile.APIKey != "") && profile.TLS != nil && profile.TLS.Disabled
}

// identify sets the client certificate, the API key, or both.
func identify(options *client.Options, profile envconfig.ClientConfigProfile, c config.Config, log *slog.Logger) error {
	if t := profile.TLS; t != nil && t.ClientCertPath != "" && t.ClientKeyPath != "" && options.ConnectionOptions.TLS != nil {
		pair, err := secrecy.Pair(t.ClientCertPath, t.ClientKeyPath, log)
		if err != nil {
			return err
		}
		options.ConnectionOptions.TLS.Certificates = nil
		options.ConnectionOptions.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return pair(), nil
		}
	}
	if isBare(profile, c) {
		return errBare
	}
	if c.Temporal.APIKeyFile == "" {
		return nil
	}
	key, err := secrecy.APIKey(c.Temporal.APIKeyFile, log)
	if err != nil {
		return err
	}
	if options.ConnectionOptions.TLS == nil {
		options.ConnectionOptions.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	options.Credentials = client.NewAPIKeyDynamicCredentials(key)
	return nil
}

// encrypt makes the client encrypt arguments, results, memos, pages and errors.
func encrypt(options *client.Options, c config.Config, log *slog.Logger) error {
	if c.Encryption.KeyFile == "" {
		return nil
	}
	codec, err := Codec(c, log)
	if err != nil {
		return err
	}
	plain := options.DataConverter
	if plain == nil {
		plain = converter.GetDefaultDataConverter()
	}
	options.DataConverter = converter.NewCodecDataConverter(plain, codec)
	options.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: options.DataConverter, EncodeCommonAttributes: true,
	})
	return nil
}

// Codec is the configured codec.
func Codec(c config.Config, log *slog.Logger) (*secrecy.Codec, error) {
	return secrecy.NewCodec(c.Encryption.KeyFile, c.Encryption.RefuseClear, log)
}

// ServerTLS is the TLS configuration of Lifeboat's servers, nil without TLS.
func ServerTLS(c config.Config, log *slog.Logger) (*tls.Config, error) {
	return secrecy.Server(c.Listen.TLS.CertFile, c.Listen.TLS.KeyFile, c.Listen.TLS.ClientCAFile, log)
}
