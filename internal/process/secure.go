package process

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"

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
func connection(c config.Config, log *slog.Logger) (client.Options, []telemetry.Credential, error) {
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

// shown are the credentials in a profile and in the configuration.
func shown(profile envconfig.ClientConfigProfile, c config.Config) []telemetry.Credential {
	all := []telemetry.Credential{{Server: "temporal", File: c.Temporal.APIKeyFile, Value: []byte(profile.APIKey)}}
	if t := profile.TLS; t != nil {
		all = append(all, telemetry.Credential{Server: "temporal", File: t.ClientCertPath, Value: t.ClientCertData})
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
