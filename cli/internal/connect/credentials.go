package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/skeinstream/skein/cli/internal/problem"
)

// config builds the TLS configuration, or nil when TLS is off.
func (t TLS) config() (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	cfg := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.TrustAnyone, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pool, err := readPool(t.CAFile)
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = pool
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, problem.Usage("--tls-cert and --tls-key take PEM files that belong together",
				"reading the client certificate %s and its key %s: %w", t.CertFile, t.KeyFile, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

func readPool(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, problem.Usage("", "reading the certificate authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, problem.Usage("export the authority as PEM (a text file with BEGIN CERTIFICATE); a Java key store is not read",
			"%s holds no PEM certificate", path)
	}
	return pool, nil
}

// mechanism builds the SASL mechanism, or nil when SASL is off. Files are read
// once here so that a wrong path is told before anything is dialled, and again
// for every connection so that a rotated secret is picked up.
func (s SASL) mechanism() (sasl.Mechanism, error) {
	if s.Mechanism == "" {
		return nil, nil
	}
	if _, err := s.secret(); err != nil {
		return nil, err
	}
	switch s.Mechanism {
	case Plain:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			secret, err := s.secret()
			return plain.Auth{User: s.User, Pass: secret}, err
		}), nil
	case ScramSHA256:
		return scram.Sha256(s.scram), nil
	case ScramSHA512:
		return scram.Sha512(s.scram), nil
	case OAuthBearer:
		return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			secret, err := s.secret()
			return oauth.Auth{Token: secret}, err
		}), nil
	}
	return nil, fmt.Errorf("the SASL mechanism %q is unknown", s.Mechanism)
}

func (s SASL) scram(context.Context) (scram.Auth, error) {
	secret, err := s.secret()
	return scram.Auth{User: s.User, Pass: secret}, err
}

// secret returns the password or token, from wherever it is.
func (s SASL) secret() (string, error) {
	text, path := s.Password, s.PasswordFile
	if s.Mechanism == OAuthBearer {
		text, path = s.Token, s.TokenFile
	}
	if path == "" {
		return text, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", problem.Usage("", "reading the SASL secret: %w", err)
	}
	secret := strings.TrimRight(string(b), "\r\n")
	if secret == "" {
		return "", problem.Usage("", "the SASL secret file %s is empty", path)
	}
	return secret, nil
}
