package connect

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"

	"github.com/skeinstream/skein/cli/internal/problem"
)

// configFile is the client's configuration file: a map of profiles and the
// name of the one to use when none is asked for.
//
//	profile: local
//	profiles:
//	  local: {bootstrap: 127.0.0.1:9092}
//	  prod:
//	    bootstrap: [kafka-1.example.com:9093, kafka-2.example.com:9093]
//	    tls: {ca: /etc/skein/ca.pem}
//	    sasl: {mechanism: SCRAM-SHA-512, user: orders-app, password-env: PROD_PASSWORD}
type configFile struct {
	path string
	k    *koanf.Koanf
}

// sep joins the words of a path in koanf; not a dot, because profile names
// such as prod.eu may hold one.
const sep = "\x1f"

func defaultConfigPath(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if dir == "" && runtime.GOOS == "windows" {
		dir = getenv("APPDATA")
	}
	if dir == "" {
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "skein", "config.yaml")
}

// loadConfig reads the file at path. A missing file is no profiles, unless
// the user named it.
func loadConfig(path string, named bool) (configFile, error) {
	c := configFile{path: path, k: koanf.New(sep)}
	if path == "" {
		return c, nil
	}
	err := c.k.Load(file.Provider(path), parserFor(path))
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, os.ErrNotExist) && !named:
		return c, nil
	case errors.Is(err, os.ErrNotExist):
		hint := "write one, or drop --config and SKEIN_CONFIG"
		if strings.Contains(path, "=") {
			hint = "--config names a file with profiles; settings of topics are given with --set NAME=VALUE"
		}
		return c, problem.Usage(hint, "there is no configuration file %s", path)
	}
	return c, problem.Usage("", "reading the configuration file %s: %w", path, err)
}

func parserFor(path string) koanf.Parser {
	if filepath.Ext(path) == ".toml" {
		return toml.Parser()
	}
	return yaml.Parser()
}

func (c configFile) names() []string { return c.k.MapKeys("profiles") }

// apply sets what the profile called name says; an empty name means the file's
// own choice, and no choice means nothing.
func (c configFile) apply(o *Options, name string, getenv func(string) string) error {
	if err := c.checkTop(); err != nil {
		return err
	}
	name = cmp.Or(name, c.k.String("profile"))
	if name == "" {
		return nil
	}
	if !slices.Contains(c.names(), name) {
		return c.unknownProfile(name)
	}
	profile := c.k.Cut("profiles" + sep + name).All()
	for _, key := range slices.Sorted(maps.Keys(profile)) {
		if err := applyKey(o, key, profile[key], getenv); err != nil {
			return problem.Usage(problem.Hint(err), "the profile %q of %s: %w", name, c.path, err)
		}
	}
	return nil
}

func (c configFile) checkTop() error {
	for key := range c.k.Raw() {
		if key != "profile" && key != "profiles" {
			return problem.Usage("it holds profile (a name) and profiles (a map)", "the configuration file %s has the unknown key %q", c.path, key)
		}
	}
	return nil
}

func (c configFile) unknownProfile(name string) error {
	hint := problem.DidYouMean(name, c.names())
	if hint == "" {
		hint = "it holds: " + strings.Join(c.names(), ", ")
	}
	if len(c.names()) == 0 {
		hint = fmt.Sprintf("define it under profiles: in %s", c.path)
	}
	return problem.Usage(hint, "there is no profile %q in %s", name, c.path)
}

// applyKey sets one key of a profile, flat (tls-ca) or nested (tls: {ca: …}).
func applyKey(o *Options, key string, value any, getenv func(string) string) error {
	name := strings.NewReplacer(sep, "-", "_", "-").Replace(key)
	switch name {
	case "tls-enabled":
		name = "tls"
	case "sasl-mechanism":
		name = "sasl"
	case "sasl-password-env", "sasl-token-env":
		return applySecretEnv(o, strings.TrimSuffix(name, "-env"), fmt.Sprint(value), getenv)
	}
	p, ok := findOption(name)
	if !ok {
		return problem.Usage(problem.DidYouMean(name, optionNames()), "the key %q is unknown", strings.ReplaceAll(key, sep, "."))
	}
	if err := p.set(o, textOf(value)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// applySecretEnv takes a secret from the environment variable that the profile
// names, so that the file itself can be shared.
func applySecretEnv(o *Options, name, variable string, getenv func(string) string) error {
	secret := getenv(variable)
	if secret == "" {
		return problem.Usage("export it, or use "+name+"-file", "%s comes from the environment variable %s, which is not set", name, variable)
	}
	p, _ := findOption(name)
	return p.set(o, secret)
}

func textOf(value any) string {
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	words := make([]string, len(list))
	for i, item := range list {
		words[i] = fmt.Sprint(item)
	}
	return strings.Join(words, ",")
}
