package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/client"
)

// config builds the TLS configuration, or nil when TLS is off.
func (t TLS) config() (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	cfg, err := client.TLSFiles{CA: t.CAFile, Cert: t.CertFile, Key: t.KeyFile, ServerName: t.ServerName}.Config()
	switch {
	case errors.Is(err, client.ErrNoPEM):
		return nil, problem.Usage("export the authority as PEM", "%w", err)
	case err != nil:
		return nil, problem.Usage("--tls-ca takes a PEM file, --tls-cert and --tls-key PEM files that belong together", "%w", err)
	}
	cfg.InsecureSkipVerify = t.TrustAnyone
	return cfg, nil
}

// mechanism builds the SASL mechanism, or nil when SASL is off. The secret is had once here, so that a wrong path is told before
// anything is dialled, and again for every connection, so that a rotated one is picked up.
func (s SASL) mechanism() (sasl.Mechanism, error) {
	if s.Mechanism == "" {
		return nil, nil
	}
	secret := s.secret()
	if _, err := secret(context.Background()); err != nil {
		return nil, problem.Usage("", "%w", err)
	}
	switch s.Mechanism {
	case Plain:
		return client.Plain(s.User, secret), nil
	case ScramSHA256:
		return client.ScramSHA256(s.User, secret), nil
	case ScramSHA512:
		return client.ScramSHA512(s.User, secret), nil
	case OAuthBearer:
		return client.OAuthBearer(secret, nil), nil
	}
	return nil, fmt.Errorf("the SASL mechanism %q is unknown", s.Mechanism)
}

// secret is the password or token, from wherever it is.
func (s SASL) secret() client.Secret {
	text, path := s.Password, s.PasswordFile
	if s.Mechanism == OAuthBearer {
		text, path = s.Token, s.TokenFile
	}
	if path == "" {
		return client.Text(text)
	}
	return client.SecretFile(path)
}
