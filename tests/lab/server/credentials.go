package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// certificateLife is far longer than any lab lives.
const certificateLife = 30 * 24 * time.Hour

// frontProxy is the user under which the API server speaks to aggregated API servers.
const frontProxy = "front-proxy-client"

// User is somebody the API server knows by a bearer token. A token, unlike a
// client certificate, also works through a plain HTTP proxy.
type User struct {
	// Name as RBAC sees it, e.g. "lifeboat-worker".
	Name string
	// Groups as RBAC sees them; "system:masters" may do everything.
	Groups []string

	token string
}

// credentials are the files that the API server is started with.
type credentials struct {
	folder string
	users  []User
	caPEM  []byte
}

func (c *credentials) path(name string) string { return filepath.Join(c.folder, name) }

// newCredentials writes a new certificate authority, a serving certificate for
// 127.0.0.1, a service account key and one token per user into folder.
func newCredentials(folder string, users []User) (*credentials, error) {
	c := &credentials{folder: folder, users: users}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("create credentials folder: %w", err)
	}
	if err := c.writeCertificates(); err != nil {
		return nil, fmt.Errorf("create certificates: %w", err)
	}
	if err := c.writeTokens(); err != nil {
		return nil, fmt.Errorf("create tokens: %w", err)
	}
	return c, nil
}

func (c *credentials) writeCertificates() error {
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "lab-ca"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	serving := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames: []string{
			"localhost", "kubernetes.default.svc",
			// Behind the API server, where a real Karmada runs.
			"karmada-aggregated-apiserver.karmada-system.svc", "karmada-webhook.karmada-system.svc",
		},
	}
	// The API server proves with it to an aggregated one that it speaks for a user.
	proxy := &x509.Certificate{
		SerialNumber: big.NewInt(3),
		Subject:      pkix.Name{CommonName: frontProxy},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	caKey, err := c.writeKey("ca.key")
	if err != nil {
		return err
	}
	servingKey, err := c.writeKey("apiserver.key")
	if err != nil {
		return err
	}
	proxyKey, err := c.writeKey(frontProxy + ".key")
	if err != nil {
		return err
	}
	if _, err := c.writeKey("service-account.key"); err != nil {
		return err
	}
	if c.caPEM, err = c.writeCertificate("ca.crt", certificateRequest{ca, ca, caKey, caKey}); err != nil {
		return err
	}
	if _, err := c.writeCertificate(frontProxy+".crt", certificateRequest{proxy, ca, proxyKey, caKey}); err != nil {
		return err
	}
	_, err = c.writeCertificate("apiserver.crt", certificateRequest{serving, ca, servingKey, caKey})
	return err
}

// certificateRequest says what is certified, by whom, and with which keys.
type certificateRequest struct {
	subject, issuer       *x509.Certificate
	subjectKey, issuerKey *ecdsa.PrivateKey
}

func (c *credentials) writeCertificate(name string, r certificateRequest) ([]byte, error) {
	// An hour of slack: the clock may be set back while the lab runs.
	r.subject.NotBefore = time.Now().Add(-time.Hour)
	r.subject.NotAfter = time.Now().Add(certificateLife)
	der, err := x509.CreateCertificate(rand.Reader, r.subject, r.issuer, &r.subjectKey.PublicKey, r.issuerKey)
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", name, err)
	}
	encoded := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return encoded, os.WriteFile(c.path(name), encoded, 0o600)
}

func (c *credentials) writeKey(name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate %s: %w", name, err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	encoded := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return key, os.WriteFile(c.path(name), encoded, 0o600)
}

// writeTokens gives every user a token and writes the API server's list: token,
// name, uid, "groups".
func (c *credentials) writeTokens() error {
	var list strings.Builder
	for i := range c.users {
		user := &c.users[i]
		secret := make([]byte, 16)
		if _, err := rand.Read(secret); err != nil {
			return fmt.Errorf("generate a token: %w", err)
		}
		user.token = hex.EncodeToString(secret)
		fmt.Fprintf(&list, "%s,%s,%s", user.token, user.Name, user.Name)
		if len(user.Groups) > 0 {
			fmt.Fprintf(&list, ",%q", strings.Join(user.Groups, ","))
		}
		list.WriteByte('\n')
	}
	return os.WriteFile(c.path("tokens.csv"), []byte(list.String()), 0o600)
}

// writeKubeconfigs writes one kubeconfig per user into folder and returns their
// files by user name.
func (c *credentials) writeKubeconfigs(folder, serverURL string) (map[string]string, error) {
	files := make(map[string]string, len(c.users))
	for _, user := range c.users {
		config := clientcmdapi.NewConfig()
		config.Clusters["lab"] = &clientcmdapi.Cluster{Server: serverURL, CertificateAuthorityData: c.caPEM}
		config.AuthInfos[user.Name] = &clientcmdapi.AuthInfo{Token: user.token}
		config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: user.Name}
		config.CurrentContext = "lab"
		file := filepath.Join(folder, user.Name+".kubeconfig")
		if err := clientcmd.WriteToFile(*config, file); err != nil {
			return nil, fmt.Errorf("write kubeconfig of %s: %w", user.Name, err)
		}
		files[user.Name] = file
	}
	return files, nil
}
