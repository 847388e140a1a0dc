package kafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// makeKeys makes a certificate authority (ca.pem) and two keys signed by it,
// server and client: NAME.pem the certificate, NAME.key the private key,
// NAME.both.pem the two in one file, which is Kafka's PEM key store.
func makeKeys(dir string) error {
	authority, err := newIdentity("interop authority", nil)
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, "ca.pem"), authority.certificatePEM()); err != nil {
		return err
	}
	for _, name := range []string{"server", "client"} {
		id, err := newIdentity(name, authority)
		if err != nil {
			return err
		}
		keyPEM, err := id.keyPEM()
		if err != nil {
			return err
		}
		base := filepath.Join(dir, name)
		if err := writePEM(base+".pem", id.certificatePEM()); err != nil {
			return err
		}
		if err := writePEM(base+".key", keyPEM); err != nil {
			return err
		}
		if err := writePEM(base+".both.pem", keyPEM, id.certificatePEM()); err != nil {
			return err
		}
	}
	return nil
}

type identity struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

// newIdentity makes a key and its certificate, signed by authority, or by
// itself when authority is nil.
func newIdentity(name string, authority *identity) (*identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(30 * 24 * time.Hour),
		BasicConstraintsValid: true,
		IsCA:                  authority == nil,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	id := &identity{key: key}
	parent, signer := template, key
	if authority == nil {
		template.KeyUsage |= x509.KeyUsageCertSign
		template.ExtKeyUsage, template.DNSNames, template.IPAddresses = nil, nil, nil
	} else {
		parent, signer = authority.certificate, authority.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	id.certificate, err = x509.ParseCertificate(der)
	return id, err
}

func (id *identity) certificatePEM() *pem.Block {
	return &pem.Block{Type: "CERTIFICATE", Bytes: id.certificate.Raw}
}

func (id *identity) keyPEM() (*pem.Block, error) {
	der, err := x509.MarshalPKCS8PrivateKey(id.key)
	if err != nil {
		return nil, err
	}
	return &pem.Block{Type: "PRIVATE KEY", Bytes: der}, nil
}

func writePEM(name string, blocks ...*pem.Block) error {
	var text []byte
	for _, b := range blocks {
		text = append(text, pem.EncodeToMemory(b)...)
	}
	return os.WriteFile(name, text, 0o600)
}
