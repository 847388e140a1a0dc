package cli

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/skeinstream/skein/cli/internal/connect"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/internal/settings"
)

// planFor puts a serve command line together as the verb does.
func planFor(t *testing.T, env []string, args ...string) (servePlan, string, error) {
	t.Helper()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	registerServe(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	var notices bytes.Buffer
	world := Env{Stderr: &notices, Environ: func() []string { return env }, Getenv: func(name string) string {
		for _, pair := range env {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}}
	plan, err := planServe(world, flags)
	return plan, notices.String(), err
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServeWithoutAnythingHasTheDefaults(t *testing.T) {
	plan, _, err := planFor(t, nil)
	want := servePlan{data: "./skein-data", http: "127.0.0.1:8080", logFormat: "text", settings: map[string]string{}}
	if err != nil || !reflect.DeepEqual(plan, want) {
		t.Errorf("got %+v, %v", plan, err)
	}
}

func TestServeTakesFlagsOverEnvironmentOverFile(t *testing.T) {
	file := writeFile(t, "s.properties", "num.partitions=2\nlog.dirs=/file\nhttp=\nlog-level=warn\n")
	env := []string{"SKEIN_SERVE_CONFIG=" + file}
	steps := []struct {
		env              string
		args             []string
		partitions, data string
	}{
		{"", nil, "2", "/file"},
		{"SKEIN_NUM_PARTITIONS=3", nil, "3", "/file"},
		{"SKEIN_DATA=/env", []string{"--set", "num.partitions=4"}, "4", "/env"},
		{"", []string{"--set", "num.partitions=4", "--num-partitions=5", "--data", "/flag"}, "5", "/flag"},
	}
	for _, s := range steps {
		if s.env != "" {
			env = append(env, s.env)
		}
		plan, _, err := planFor(t, env, s.args...)
		if err != nil {
			t.Fatal(err)
		}
		if plan.settings["num.partitions"] != s.partitions || plan.data != s.data || plan.http != "" || !plan.httpGiven || plan.logLevel != slog.LevelWarn {
			t.Errorf("%v %v: %+v", env, s.args, plan)
		}
	}
}

func TestServeReadsEveryFormOfFile(t *testing.T) {
	want := map[string]string{
		"num.partitions": "6", "log.retention.hours": "24", "auto.create.topics.enable": "false",
		"listeners": "IN://127.0.0.1:1,OUT://0.0.0.0:2", "advertised.listeners": "OUT://b:3",
	}
	for name, text := range map[string]string{
		"a.properties": "num.partitions = 6\n# comment\nlog.retention.hours: 24\nauto.create.topics.enable=false\nlisteners=IN://127.0.0.1:1,OUT://0.0.0.0:2\nadvertised.listeners=OUT://b:3\n",
		"a.yaml":       "num.partitions: 6\nlog:\n  retention:\n    hours: 24\nauto.create.topics.enable: false\nlisten: ['in://127.0.0.1:1', 'OUT://0.0.0.0:2,advertised=b:3']\n",
		"a.toml":       "\"num.partitions\" = 6\nlisten = [\"IN://127.0.0.1:1\", \"OUT://0.0.0.0:2,advertised=b:3\"]\n[log.retention]\nhours = 24\n[auto.create]\ntopics.enable = false\n",
	} {
		plan, _, err := planFor(t, nil, "--config", writeFile(t, name, text))
		if err != nil || !reflect.DeepEqual(plan.settings, want) {
			t.Errorf("%s: got %v, %v", name, plan.settings, err)
		}
	}
}

func TestServeKeepsDollarSignsInProperties(t *testing.T) {
	plan, _, err := planFor(t, nil, "--config", writeFile(t, "a.properties", "broker.rack=${rack}\n"))
	if err != nil || plan.settings["broker.rack"] != "${rack}" {
		t.Errorf("got %v, %v", plan.settings, err)
	}
}

func TestListenPlaces(t *testing.T) {
	for _, c := range []struct {
		places                []string
		listeners, advertised string
	}{
		{[]string{"127.0.0.1:9092"}, "PLAINTEXT://127.0.0.1:9092", ""},
		{[]string{"[::1]:9092"}, "PLAINTEXT://[::1]:9092", ""},
		{[]string{":0"}, "PLAINTEXT://:0", ""},
		{[]string{"0.0.0.0:9092,advertised=b.example.com:19092"}, "PLAINTEXT://0.0.0.0:9092", "PLAINTEXT://b.example.com:19092"},
		{[]string{"a:1", "b:2", "in://c:3,advertised=d:4"}, "PLAINTEXT://a:1,PLAINTEXT_2://b:2,IN://c:3", "IN://d:4"},
	} {
		listeners, advertised, err := parseListeners(c.places)
		if err != nil || listeners != c.listeners || advertised != c.advertised {
			t.Errorf("%v: got %q, %q, %v", c.places, listeners, advertised, err)
		}
	}
}

func TestNewListenersForgetWhatTheOldOnesAdvertised(t *testing.T) {
	file := writeFile(t, "a.yaml", "listen: '0.0.0.0:1,advertised=b:2'\n")
	plan, _, err := planFor(t, nil, "--config", file, "--listen", "127.0.0.1:5")
	want := map[string]string{"listeners": "PLAINTEXT://127.0.0.1:5"}
	if err != nil || !reflect.DeepEqual(plan.settings, want) {
		t.Errorf("got %v, %v", plan.settings, err)
	}
}

func TestServeRefusesWithAdvice(t *testing.T) {
	for _, c := range []struct {
		env      []string
		args     []string
		what, do string
	}{
		{args: []string{"--listen", "9092"}, what: "not HOST:PORT", do: "[NAME://]HOST:PORT"},
		{args: []string{"--listen", "a:x"}, what: "not a number"},
		{args: []string{"--listen", "0.0.0.0:9092"}, what: "every address", do: "advertised=HOST:PORT"},
		{args: []string{"--listen", "[::]:9092"}, what: "every address"},
		{args: []string{"--listen", "a:1,advertized=b:2"}, what: `"advertized" is not an option`},
		{args: []string{"--listen", "a:1,advertised=b"}, what: "not HOST:PORT"},
		{args: []string{"--listen", "a:1,advertised=0.0.0.0:1"}, what: "nobody can connect"},
		{args: []string{"--listen", "X://a:1", "--listen", "X://b:2"}, what: "X is named twice"},
		{args: []string{"--set", "num.partitons=3"}, what: `no setting "num.partitons"`, do: "num.partitions"},
		{args: []string{"--set", "num.partitions"}, what: "not a setting", do: "NAME=VALUE"},
		{args: []string{"--num-partitions", "none"}, what: "num.partitions", do: "skein settings"},
		{args: []string{"--log-level", "loud"}, what: "log level", do: "debug"},
		{args: []string{"--log-format", "xml"}, what: "log format", do: "json"},
		{args: []string{"--data", ""}, what: "data directory is empty"},
		{args: []string{"--config", "/none.yaml"}, what: "/none.yaml"},
		{args: []string{"--config", "/none.ini"}, what: "no form that is known", do: ".properties"},
		{args: []string{"--config", writeFile(t, "a.yaml", "num.partitons: 3\n")}, what: `a.yaml: there is no setting "num.partitons"`, do: "num.partitions"},
		{args: []string{"--config", writeFile(t, "a.properties", "broker.id=1\nnum.partitons=3\nprocess.roles=broker\n")}, what: `a.properties: there are no settings "broker.id", "num.partitons", "process.roles"`, do: `"num.partitions" instead of "num.partitons"`},
		{args: []string{"--config", writeFile(t, "b.properties", "num.partitions=x\n")}, what: "b.properties: Invalid value x", do: "skein settings"},
		{env: []string{"SKEIN_NUM_PARTITIONS=x"}, what: "the environment: Invalid value x", do: "skein settings"},
		{args: []string{"--log-dirs", "a,b"}, what: "log.dirs", do: "skein settings"},
		{args: []string{"--log-dirs", "a", "--data", "b"}, what: "data and log.dirs", do: "one of them"},
		{args: []string{"--listeners", "PLAINTEXT://:9092", "--listen", "a:1"}, what: "listen and listeners", do: "one of them"},
		{env: []string{"SKEIN_NUM_PARTITONS=3"}, what: "SKEIN_NUM_PARTITONS is no setting", do: "SKEIN_NUM_PARTITIONS"},
		{env: []string{"SKEIN_PPROF=maybe"}, what: "neither true nor false"},
	} {
		_, _, err := planFor(t, c.env, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.what) || !strings.Contains(problem.Hint(err), c.do) || problem.ExitCode(err) != problem.ExitUsage {
			t.Errorf("%v %v: got %v (hint %q, exit %d), want %q", c.env, c.args, err, problem.Hint(err), problem.ExitCode(err), c.what)
		}
	}
}

func TestServePassesOverVariablesOfOthers(t *testing.T) {
	_, notices, err := planFor(t, []string{
		"SKEIN_PORT=tcp://10.0.0.1:9092", "SKEIN_SERVICE_HOST=10.0.0.1", "SKEIN_PORT_9092_TCP_ADDR=10.0.0.1", "SKEIN_SERVICE_PORT_KAFKA=1",
		"SKEIN_BOOTSTRAP=a:1", "SKEIN_SASL_PASSWORD=x", "SKEIN_PROFILE=p", "HOME=/",
	})
	if err != nil || notices != "" {
		t.Errorf("got %v, %q", err, notices)
	}
	_, notices, err = planFor(t, []string{"SKEIN_ELSEWHERE_ALTOGETHER=1"})
	if err != nil || !strings.Contains(notices, "SKEIN_ELSEWHERE_ALTOGETHER is no setting and is ignored") {
		t.Errorf("got %v, %q", err, notices)
	}
}

// TestNamesOfServeDoNotCollide: flags and variables of serve, of the settings
// and of the client verbs all mean one thing.
func TestNamesOfServeDoNotCollide(t *testing.T) {
	seen := map[string]string{}
	claim := func(name, owner string) {
		if other, taken := seen[name]; taken {
			t.Errorf("%s belongs to %s and %s", name, other, owner)
		}
		seen[name] = owner
	}
	for _, name := range connect.EnvNames() {
		claim(name, "the connection block")
	}
	claim(envServeConfig, "serve")
	for _, key := range ownKeys() {
		claim(connect.EnvName(key), "serve")
		claim("--"+key, "serve")
	}
	for _, d := range settings.Brokers().All() {
		claim(settings.EnvName(d.Name), d.Name)
		claim("--"+settings.FlagName(d.Name), d.Name)
		if fromKubernetes(settings.EnvName(d.Name)) {
			t.Errorf("%s looks like one of Kubernetes'", settings.EnvName(d.Name))
		}
	}
}
