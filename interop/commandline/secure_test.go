// Package commandline shows the skein command as a client of real Apache
// Kafka, through every door that its connection block knows.
package commandline

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

func TestMain(m *testing.M) { report.Main(m) }

// shell runs the skein command with an environment of its own.
type shell struct {
	command string
	dir     string
	env     []string
}

func newShell(t *testing.T) shell {
	t.Helper()
	command, err := skein.Build(t.Context(), t)
	if err != nil {
		t.Fatal(err)
	}
	return shell{command: command, dir: t.TempDir()}
}

// run returns everything that was printed, and the exit code.
func (sh shell) run(t *testing.T, stdin string, env []string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, sh.command, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = sh.dir, append(sh.env, env...), strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("skein %v: %v", args, err)
	}
	return string(out), 0
}

func (sh shell) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(sh.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// unsecuredToken is a JSON web token with the algorithm none, which Kafka's
// development mode accepts.
func unsecuredToken(user string, now time.Time) string {
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, user, now.Unix(), now.Add(time.Hour).Unix())
	return encode(`{"alg":"none"}`) + "." + encode(claims) + "."
}

func secureKafka(t *testing.T) *kafka.Broker {
	t.Helper()
	b := target.Kafka(t, kafka.Options{Secure: true})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := b.AddScramUser(ctx); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEveryMechanismOpensAKafkaBehindTLS(t *testing.T) {
	b, sh := secureKafka(t), newShell(t)
	s := b.Security
	token := sh.write(t, "token", unsecuredToken("orders-app", time.Now())+"\n")
	sh.write(t, "secret", s.Password+"\n")
	profiles := sh.write(t, "profiles.yaml", fmt.Sprintf(
		"profiles:\n  kafka:\n    bootstrap: %s\n    tls: {ca: %s}\n    sasl: {mechanism: SCRAM-SHA-512, user: %s, password-env: KAFKA_PASSWORD}\n", s.Addr, s.CAFile, s.User))
	tls := []string{"SKEIN_BOOTSTRAP=" + s.Addr, "SKEIN_TLS_CA=" + s.CAFile}
	doors := []struct {
		name string
		env  []string
		args []string
	}{
		{"PLAIN", append(tls, "SKEIN_SASL_PASSWORD="+s.Password), []string{"--sasl", "PLAIN", "--sasl-user", s.User}},
		{"SCRAM-SHA-256", tls, []string{"--sasl", "scram-sha-256", "--sasl-user", s.User, "--sasl-password-file", "secret"}},
		{"SCRAM-SHA-512", append(tls, "SKEIN_SASL=SCRAM-SHA-512", "SKEIN_SASL_USER="+s.User, "SKEIN_SASL_PASSWORD_FILE=secret"), nil},
		{"OAUTHBEARER", tls, []string{"--sasl-token-file", token}},
		{"a client certificate", append(tls, "SKEIN_SASL_PASSWORD="+s.Password),
			[]string{"--sasl", "PLAIN", "--sasl-user", s.User, "--tls-cert", s.ClientCertFile, "--tls-key", s.ClientKeyFile}},
		{"a profile", []string{"SKEIN_CONFIG=" + profiles, "KAFKA_PASSWORD=" + s.Password}, []string{"--profile", "kafka"}},
		{"another server name", append(tls, "SKEIN_SASL_PASSWORD="+s.Password), []string{"--sasl", "PLAIN", "--sasl-user", s.User, "--tls-server-name", "localhost"}},
		{"anyone's certificate", []string{"SKEIN_BOOTSTRAP=" + s.Addr, "SKEIN_SASL_PASSWORD=" + s.Password}, []string{"--sasl", "PLAIN", "--sasl-user", s.User, "--tls-insecure-trust-anyone"}},
	}
	for i, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			topic := fmt.Sprintf("door-%d", i)
			steps := []struct {
				stdin string
				args  []string
				want  string
			}{
				{"", []string{"topic", "create", topic}, "created topic " + topic},
				{"behind\nthe door\n", []string{"produce", topic}, "2 records"},
				{"", []string{"consume", topic, "--exit-at-end"}, "behind\nthe door\n"},
				{"", []string{"txn", "list"}, "no transactional id"},
			}
			for _, step := range steps {
				out, code := sh.run(t, step.stdin, door.env, append(step.args, door.args...)...)
				if code != 0 || !strings.Contains(out, step.want) {
					t.Fatalf("skein %v: exit %d\n%s", step.args, code, out)
				}
			}
		})
	}
	report.Note(t, report.Run, "skein command on kafka "+kafka.V4, "%d ways through a SASL_SSL listener", len(doors))
	t.Run("wrong keys", func(t *testing.T) { refusals(t, b, sh) })
}

// refusals: what does not open says why, and what to do, and exits with 1.
func refusals(t *testing.T, b *kafka.Broker, sh shell) {
	s := b.Security
	login := []string{"--sasl", "PLAIN", "--sasl-user", s.User, "--sasl-password", s.Password}
	for _, c := range []struct {
		name, what, do string
		args           []string
	}{
		{"no TLS", "speaks TLS", "--tls", nil},
		{"unknown authority", "unknown authority", "--tls-ca", append([]string{"--tls"}, login...)},
		{"other name", "TLS handshake failed", "--tls-server-name", append([]string{"--tls-ca", s.CAFile, "--tls-server-name", "kafka.example.com"}, login...)},
		{"no SASL", "closed the connection", "--sasl", []string{"--tls-ca", s.CAFile}},
		{"wrong password", "SASL refused", "--sasl-user", []string{"--tls-ca", s.CAFile, "--sasl", "PLAIN", "--sasl-user", s.User, "--sasl-password", "x"}},
		{"wrong SCRAM password", "SASL refused", "SCRAM-SHA-256", []string{"--tls-ca", s.CAFile, "--sasl", "SCRAM-SHA-256", "--sasl-user", s.User, "--sasl-password", "x"}},
		{"wrong token", "SASL refused", "OAUTHBEARER", []string{"--tls-ca", s.CAFile, "--sasl-token", "x"}},
	} {
		out, code := sh.run(t, "", nil, append([]string{"topic", "list", "--bootstrap", s.Addr}, c.args...)...)
		if code != 1 || !strings.Contains(out, c.what) || !strings.Contains(out, c.do) {
			t.Errorf("%s: exit %d\n%s", c.name, code, out)
		}
	}
	out, code := sh.run(t, "", nil, append([]string{"topic", "list", "--bootstrap", b.Addr}, login...)...)
	if code != 1 || !strings.Contains(out, "does not authenticate with SASL") {
		t.Errorf("SASL on a plain listener: exit %d\n%s", code, out)
	}
	if out, code = sh.run(t, "", nil, append([]string{"topic", "list", "--tls", "--bootstrap", b.Addr}, login...)...); code != 1 || !strings.Contains(out, "drop the --tls options") {
		t.Errorf("TLS on a plain listener: exit %d\n%s", code, out)
	}
}
