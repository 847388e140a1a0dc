package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pair makes a certificate that vouches for itself, and writes both halves as PEM.
func pair(t *testing.T, dir, name string) (cert, key string, server tls.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}

// handshake opens a connection as c says to a server in this process, and returns the name that the client proved.
func handshake(t *testing.T, c Config, server *tls.Config) (string, error) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	named := make(chan string, 1)
	go func() {
		defer close(named)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		secure := conn.(*tls.Conn)
		if secure.Handshake() == nil && len(secure.ConnectionState().PeerCertificates) > 0 {
			named <- secure.ConnectionState().PeerCertificates[0].Subject.CommonName
		}
	}()
	c.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
	}
	conn, err := c.Dialer()(t.Context(), "tcp", "kafka.example.com:9093")
	if err == nil {
		defer conn.Close()
	}
	l.Close()
	return <-named, err
}

func trust(t *testing.T, f TLSFiles) Config {
	t.Helper()
	cfg, err := f.Config()
	if err != nil {
		t.Fatal(err)
	}
	return Config{TLS: cfg}
}

func TestTheHostThatIsDialledHasToProveItsName(t *testing.T) {
	ca, _, server := pair(t, t.TempDir(), "kafka.example.com")
	other, _, stranger := pair(t, t.TempDir(), "elsewhere.example.com")
	for _, c := range []struct {
		name   string
		files  TLSFiles
		server tls.Certificate
		ok     bool
	}{
		{"the host's own", TLSFiles{CA: ca}, server, true},
		{"another's", TLSFiles{CA: other}, stranger, false},
		{"another's that is expected", TLSFiles{CA: other, ServerName: "elsewhere.example.com"}, stranger, true},
		{"one that nobody has signed", TLSFiles{CA: other}, server, false},
		{"one that the system does not know", TLSFiles{}, server, false},
	} {
		_, err := handshake(t, trust(t, c.files), &tls.Config{Certificates: []tls.Certificate{c.server}})
		if dial, ok := errors.AsType[*DialError](err); (err == nil) != c.ok || err != nil && (!ok || !dial.TLS) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestARenewedClientCertificateIsShown: nobody starts a program again for it.
func TestARenewedClientCertificateIsShown(t *testing.T) {
	ca, _, server := pair(t, t.TempDir(), "kafka.example.com")
	dir := t.TempDir()
	cert, key, _ := pair(t, dir, "monday")
	c := trust(t, TLSFiles{CA: ca, Cert: cert, Key: key})
	asks := &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAnyClientCert}
	for _, day := range []string{"monday", "tuesday"} {
		pair(t, dir, day)
		if name, err := handshake(t, c, asks); name != day || err != nil {
			t.Errorf("%s's certificate: the broker saw %q, %v", day, name, err)
		}
	}
}

func TestFilesThatDoNotServeAreNamed(t *testing.T) {
	cert, key, _ := pair(t, t.TempDir(), "a")
	_, stranger, _ := pair(t, t.TempDir(), "b")
	for _, c := range []struct {
		files TLSFiles
		is    error
		says  string
	}{
		{TLSFiles{CA: key}, ErrNoPEM, key},
		{TLSFiles{CA: "/none.pem"}, os.ErrNotExist, "certificate authorities"},
		{TLSFiles{Cert: cert, Key: "/none.pem"}, os.ErrNotExist, cert},
		{TLSFiles{Cert: cert, Key: stranger}, nil, stranger},
		{TLSFiles{Cert: cert}, nil, "both files"},
		{TLSFiles{Key: key}, nil, "both files"},
	} {
		_, err := c.files.Config()
		if err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%+v: %v", c.files, err)
		}
	}
}
