package connect

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/cli/internal/problem"
)

const profiles = `
profile: local
profiles:
  local:
    bootstrap: 127.0.0.1:19092
  prod.eu:
    bootstrap: [kafka-1.example.com:9093, kafka-2.example.com]
    timeout: 3s
    tls: {ca: /etc/ca.pem}
    sasl:
      mechanism: scram-sha-512
      user: orders-app
      password-env: PROD_PASSWORD
  flat:
    tls: true
    sasl: PLAIN
    sasl-user: billing-app
    sasl-password: hidden
  typo:
    bootstrp: x
`

func writeProfiles(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func resolve(t *testing.T, env map[string]string, args ...string) (Options, error) {
	t.Helper()
	f := NewFlags()
	if err := f.FlagSet().Parse(args); err != nil {
		t.Fatal(err)
	}
	return f.Resolve(func(name string) string { return env[name] })
}

func TestResolveWithoutAnythingIsTheLocalBroker(t *testing.T) {
	o, err := resolve(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := Defaults(); !reflect.DeepEqual(o, want) {
		t.Errorf("got %+v, want %+v", o, want)
	}
}

func TestResolveTakesTheFlagOverTheEnvironmentOverTheProfile(t *testing.T) {
	path := writeProfiles(t, profiles)
	env := map[string]string{"SKEIN_CONFIG": path}
	steps := []struct {
		change func()
		args   []string
		want   string
	}{
		{func() {}, nil, "127.0.0.1:19092"},
		{func() { env["SKEIN_PROFILE"] = "flat" }, nil, DefaultBootstrap},
		{func() { env["SKEIN_BOOTSTRAP"] = "env:1" }, nil, "env:1"},
		{func() {}, []string{"--bootstrap", "flag:2"}, "flag:2"},
	}
	for _, s := range steps {
		s.change()
		o, err := resolve(t, env, s.args...)
		if err != nil {
			t.Fatal(err)
		}
		if o.Bootstrap[0] != s.want {
			t.Errorf("%v: bootstrap %v, want %s", s.args, o.Bootstrap, s.want)
		}
	}
}

func TestResolveReadsNestedAndFlatProfiles(t *testing.T) {
	path := writeProfiles(t, profiles)
	o, err := resolve(t, map[string]string{"PROD_PASSWORD": "s3cret"}, "--config", path, "--profile", "prod.eu")
	if err != nil {
		t.Fatal(err)
	}
	want := Defaults()
	want.Bootstrap = []string{"kafka-1.example.com:9093", "kafka-2.example.com:9092"}
	want.Timeout = 3 * time.Second
	want.TLS = TLS{Enabled: true, CAFile: "/etc/ca.pem"}
	want.SASL = SASL{Mechanism: ScramSHA512, User: "orders-app", Password: "s3cret"}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("got %+v, want %+v", o, want)
	}

	o, err = resolve(t, nil, "--config", path, "--profile", "flat")
	if err != nil {
		t.Fatal(err)
	}
	if !o.TLS.Enabled || o.SASL != (SASL{Mechanism: Plain, User: "billing-app", Password: "hidden"}) {
		t.Errorf("got %+v", o)
	}
}

func TestResolveLetsAStrongerLayerReplaceASecret(t *testing.T) {
	path := writeProfiles(t, profiles)
	o, err := resolve(t, nil, "--config", path, "--profile", "flat", "--sasl-password-file", "/run/secret")
	if err != nil {
		t.Fatal(err)
	}
	if o.SASL.Password != "" || o.SASL.PasswordFile != "/run/secret" {
		t.Errorf("got %+v", o.SASL)
	}
}

func TestResolveLetsTLSBeTurnedOff(t *testing.T) {
	o, err := resolve(t, map[string]string{"SKEIN_TLS_CA": "/ca.pem"}, "--tls=false")
	if err != nil || o.TLS.Enabled {
		t.Errorf("TLS %+v, error %v", o.TLS, err)
	}
}

func TestResolveRefusesWithAdvice(t *testing.T) {
	path := writeProfiles(t, profiles)
	for _, c := range []struct {
		env      map[string]string
		args     []string
		what, do string
	}{
		{args: []string{"--bootstrap", "kafka://a:1"}, what: "has a scheme", do: "host:port"},
		{args: []string{"--bootstrap", "a:b"}, what: "no port", do: "host:port"},
		{args: []string{"--bootstrap", "a:1:2"}, what: "cannot read", do: "[::1]:9092"},
		{args: []string{"--bootstrap", ","}, what: "no bootstrap", do: "--bootstrap"},
		{args: []string{"--timeout", "5"}, what: `--timeout: "5" is not a duration`},
		{args: []string{"--timeout", "-5s"}, what: "not positive"},
		{args: []string{"--tls-cert", "c.pem"}, what: "needs its key", do: "--tls-key"},
		{args: []string{"--tls-ca", "c", "--tls-insecure-trust-anyone"}, what: "not to care"},
		{args: []string{"--sasl", "GSSAPI"}, what: `"GSSAPI"`, do: "SCRAM-SHA-512"},
		{args: []string{"--sasl", "PLAIN"}, what: "needs a user", do: "--sasl-user"},
		{args: []string{"--sasl", "PLAIN", "--sasl-user", "a"}, what: "needs a password", do: "SKEIN_SASL_PASSWORD"},
		{args: []string{"--sasl-user", "a", "--sasl-password", "b"}, what: "no mechanism", do: "--sasl"},
		{args: []string{"--sasl", "oauthbearer"}, what: "needs a token"},
		{args: []string{"--client-log", "loud"}, what: "log level", do: "debug"},
		{args: []string{"--config", "/does/not/exist.yaml"}, what: "no configuration file"},
		{args: []string{"--config", path, "--profile", "lokal"}, what: `no profile "lokal"`, do: `"local"`},
		{args: []string{"--config", path, "--profile", "typo"}, what: `key "bootstrp" is unknown`, do: `"bootstrap"`},
		{args: []string{"--config", path, "--profile", "prod.eu"}, what: "PROD_PASSWORD, which is not set", do: "export"},
		{args: []string{"--profile", "x"}, what: `no profile "x"`},
		{env: map[string]string{"SKEIN_TLS": "yes please"}, what: "SKEIN_TLS"},
	} {
		_, err := resolve(t, c.env, c.args...)
		if err == nil {
			t.Errorf("%v: no error", c.args)
			continue
		}
		if !strings.Contains(err.Error(), c.what) || !strings.Contains(problem.Hint(err), c.do) || problem.ExitCode(err) != problem.ExitUsage {
			t.Errorf("%v: %v (hint %q, exit %d)", c.args, err, problem.Hint(err), problem.ExitCode(err))
		}
	}
}

func TestAddressesGetAPort(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a:9092", "a:1": "a:1", "::1": "[::1]:9092", "[::1]": "[::1]:9092", "[::1]:7": "[::1]:7", ":9093": "localhost:9093",
	} {
		if got, err := withPort(in); err != nil || got != want {
			t.Errorf("withPort(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestUnknownTopLevelKeyIsRefused(t *testing.T) {
	path := writeProfiles(t, "bootstrap: a:1\n")
	if _, err := resolve(t, nil, "--config", path); err == nil || !strings.Contains(err.Error(), `unknown key "bootstrap"`) {
		t.Errorf("got %v", err)
	}
}

func TestBrokenConfigurationFileIsNamed(t *testing.T) {
	path := writeProfiles(t, "profiles: [\n")
	if _, err := resolve(t, nil, "--config", path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

func TestTOMLProfilesAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte("profile = \"a\"\n[profiles.a]\nbootstrap = [\"x:1\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := resolve(t, nil, "--config", path)
	if err != nil || o.Bootstrap[0] != "x:1" {
		t.Errorf("%v, %v", o.Bootstrap, err)
	}
}

// TestTheSameClusterIsReachedByWhatWasGiven: for commands that are shown. Secrets are not.
func TestTheSameClusterIsReachedByWhatWasGiven(t *testing.T) {
	f := NewFlags()
	args := []string{"--bootstrap", "a:1,b:2", "--tls", "--sasl-password=hidden", "--sasl-token", "hidden", "--profile", "prod", "--timeout=3s"}
	if err := f.FlagSet().Parse(args); err != nil {
		t.Fatal(err)
	}
	got := f.Given()
	if want := []string{"--bootstrap", "a:1,b:2", "--timeout", "3s", "--tls=true", "--profile", "prod"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}
