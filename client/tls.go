package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// ErrNoPEM is a file of certificate authorities that holds none.
var ErrNoPEM = errors.New("there is no PEM certificate in it (a text file with BEGIN CERTIFICATE; a Java key store is not read)")

// TLSFiles say whom to trust, and who the client is, by files in PEM form. The zero value trusts the authorities of the system.
type TLSFiles struct {
	// CA holds the certificates of the authorities that may have signed the brokers'. "" is the system's authorities.
	CA string
	// Cert and Key are the client's certificate and its key, for brokers that ask for one (ssl.client.auth). Both or neither.
	// They are read again for every connection, so that they may be renewed while the program runs.
	Cert, Key string
	// ServerName is the name to expect in the brokers' certificates instead of the host that is dialled.
	ServerName string
}

// Config reads the files, and wants TLS 1.2 at least. Its errors name the file; one of a file without certificates is ErrNoPEM.
func (f TLSFiles) Config() (*tls.Config, error) {
	cfg := &tls.Config{ServerName: f.ServerName, MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		pool, err := readAuthorities(f.CA)
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = pool
	}
	if f.Cert == "" && f.Key == "" {
		return cfg, nil
	}
	if _, err := f.pair(nil); err != nil {
		return nil, err
	}
	cfg.GetClientCertificate = f.pair
	return cfg, nil
}

func readAuthorities(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading the certificate authorities in %s: %w", path, ErrNoPEM)
	}
	return pool, nil
}

// pair reads the client's certificate; what the broker would accept does not matter, since there is one only.
func (f TLSFiles) pair(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	if f.Cert == "" || f.Key == "" {
		return nil, errors.New("a client certificate needs its key, and a key its certificate: give both files")
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the client certificate %s and its key %s: %w", f.Cert, f.Key, err)
	}
	return &pair, nil
}
