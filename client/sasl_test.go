package client

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/sasl"
)

func TestMechanismsHaveTheirNames(t *testing.T) {
	secret := Text("s3cret")
	for name, m := range map[string]sasl.Mechanism{
		MechanismPlain:       Plain("app", secret),
		MechanismScramSHA256: ScramSHA256("app", secret),
		MechanismScramSHA512: ScramSHA512("app", secret),
		MechanismOAuthBearer: OAuthBearer(secret, nil),
	} {
		if m.Name() != name {
			t.Errorf("%s calls itself %s", name, m.Name())
		}
	}
}

// TestEveryConnectionAsksForTheSecret: one that was renewed meanwhile is the one that is sent.
func TestEveryConnectionAsksForTheSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := func(m sasl.Mechanism) string {
		_, sent, err := m.Authenticate(t.Context(), "kafka:9092")
		if err != nil {
			t.Fatal(err)
		}
		return string(sent)
	}
	password, token := Plain("app", SecretFile(path)), OAuthBearer(SecretFile(path), map[string]string{"pool": "blue"})
	for _, secret := range []string{"old", "new"} {
		write(secret + "\r\n")
		if got := first(password); got != "\x00app\x00"+secret {
			t.Errorf("PLAIN sent %q", got)
		}
		if got := first(token); !strings.Contains(got, "Bearer "+secret) || !strings.Contains(got, "pool=blue") {
			t.Errorf("OAUTHBEARER sent %q", got)
		}
	}
}

func TestASecretThatCannotBeHadOpensNothing(t *testing.T) {
	broken := errors.New("the vault is shut")
	vault := func(context.Context) (string, error) { return "", broken }
	for _, m := range []sasl.Mechanism{Plain("app", vault), ScramSHA256("app", vault), ScramSHA512("app", vault), OAuthBearer(vault, nil)} {
		if _, _, err := m.Authenticate(t.Context(), "kafka:9092"); !errors.Is(err, broken) {
			t.Errorf("%s: %v", m.Name(), err)
		}
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := SecretFile(empty)(t.Context()); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := SecretFile(empty + ".none")(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
