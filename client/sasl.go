package client

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Names of SASL mechanisms, as brokers have them in sasl.enabled.mechanisms.
const (
	MechanismPlain       = "PLAIN"
	MechanismScramSHA256 = "SCRAM-SHA-256"
	MechanismScramSHA512 = "SCRAM-SHA-512"
	MechanismOAuthBearer = "OAUTHBEARER"
)

// Secret gives a password or a token. It is asked for every connection that is opened, and again whenever the broker wants a
// connection to authenticate anew (KIP-368), so that a secret may change while the program runs; one that is dear to get is kept by the
// Secret itself. It may be called by several goroutines at once.
type Secret func(context.Context) (string, error)

// Text is a secret that the program has already.
func Text(secret string) Secret {
	return func(context.Context) (string, error) { return secret, nil }
}

// SecretFile is a secret in a file, read again each time. Line ends behind the secret do not belong to it; an empty file is an error.
func SecretFile(path string) Secret {
	return func(context.Context) (string, error) {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("reading the SASL secret: %w", err)
		}
		secret := strings.TrimRight(string(b), "\r\n")
		if secret == "" {
			return "", fmt.Errorf("the SASL secret file %s is empty", path)
		}
		return secret, nil
	}
}

// Plain sends user and password as they are: only over TLS.
func Plain(user string, password Secret) sasl.Mechanism {
	return plain.Plain(func(ctx context.Context) (plain.Auth, error) {
		pass, err := password(ctx)
		return plain.Auth{User: user, Pass: pass}, err
	})
}

// ScramSHA256 proves to know the password without sending it (RFC 5802, KIP-84).
func ScramSHA256(user string, password Secret) sasl.Mechanism {
	return scram.Sha256(scramAuth(user, password))
}

// ScramSHA512 proves to know the password without sending it (RFC 5802, KIP-84).
func ScramSHA512(user string, password Secret) sasl.Mechanism {
	return scram.Sha512(scramAuth(user, password))
}

func scramAuth(user string, password Secret) func(context.Context) (scram.Auth, error) {
	return func(ctx context.Context) (scram.Auth, error) {
		pass, err := password(ctx)
		return scram.Auth{User: user, Pass: pass}, err
	}
}

// OAuthBearer presents a token (RFC 7628, KIP-255): only over TLS. Extensions go with it to brokers that want some (KIP-342); nil
// is none.
func OAuthBearer(token Secret, extensions map[string]string) sasl.Mechanism {
	return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		text, err := token(ctx)
		return oauth.Auth{Token: text, Extensions: extensions}, err
	})
}
