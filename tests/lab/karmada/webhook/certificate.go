package webhook

import (
	"crypto/tls"

	"k8s.io/client-go/util/cert"
)

// selfSigned makes a certificate for 127.0.0.1 and the PEM bundle that trusts it.
func selfSigned() (tls.Certificate, []byte, error) {
	bundle, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	certificate, err := tls.X509KeyPair(bundle, key)
	return certificate, bundle, err
}
