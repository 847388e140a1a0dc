package connect

import (
	"github.com/spf13/pflag"

	"github.com/skeinstream/skein/cli/internal/problem"
)

const (
	envProfile = "SKEIN_PROFILE"
	envConfig  = "SKEIN_CONFIG"
)

// Flags are the connection block on a command line.
type Flags struct {
	set     *pflag.FlagSet
	profile string
	config  string
}

// NewFlags returns the flags of the connection block; add FlagSet to a command.
func NewFlags() *Flags {
	f := &Flags{set: pflag.NewFlagSet("connection", pflag.ContinueOnError)}
	f.set.SortFlags = false
	for _, p := range table() {
		if p.value == "" {
			f.set.Bool(p.name, false, p.help)
			continue
		}
		f.set.String(p.name, "", "`"+p.value+"` "+p.help)
	}
	f.set.StringVar(&f.profile, "profile", "", "`NAME` profile to use from the configuration file")
	f.set.StringVar(&f.config, "config", "", "`FILE` configuration file with profiles (default ~/.config/skein/config.yaml)")
	return f
}

// FlagSet returns the flags, to be added to a command's own.
func (f *Flags) FlagSet() *pflag.FlagSet { return f.set }

// ProfileNames lists the profiles of the configuration file, for completion;
// nil when the file is missing or broken.
func (f *Flags) ProfileNames(getenv func(string) string) []string {
	file, err := loadConfig(f.configPath(getenv))
	if err != nil {
		return nil
	}
	return file.names()
}

// Resolve puts the layers together: defaults, profile, environment, flags.
func (f *Flags) Resolve(getenv func(string) string) (Options, error) {
	o := Defaults()
	if err := f.applyProfile(&o, getenv); err != nil {
		return o, err
	}
	if err := applyEnv(&o, getenv); err != nil {
		return o, err
	}
	if err := f.applyFlags(&o); err != nil {
		return o, err
	}
	return o, o.finish()
}

func (f *Flags) configPath(getenv func(string) string) (path string, named bool) {
	if f.config != "" {
		return f.config, true
	}
	if path := getenv(envConfig); path != "" {
		return path, true
	}
	return defaultConfigPath(getenv), false
}

func (f *Flags) applyProfile(o *Options, getenv func(string) string) error {
	file, err := loadConfig(f.configPath(getenv))
	if err != nil {
		return err
	}
	name := f.profile
	if name == "" {
		name = getenv(envProfile)
	}
	return file.apply(o, name, getenv)
}

func applyEnv(o *Options, getenv func(string) string) error {
	for _, p := range table() {
		text := getenv(p.env())
		if text == "" {
			continue
		}
		o.SASL.forgetTwin(p.name)
		if err := p.set(o, text); err != nil {
			return problem.Usage(problem.Hint(err), "the environment variable %s: %w", p.env(), err)
		}
	}
	return nil
}

func (f *Flags) applyFlags(o *Options) error {
	for _, p := range table() {
		flag := f.set.Lookup(p.name)
		if !flag.Changed {
			continue
		}
		o.SASL.forgetTwin(p.name)
		if err := p.set(o, flag.Value.String()); err != nil {
			return problem.Usage(problem.Hint(err), "--%s: %w", p.name, err)
		}
	}
	return nil
}

// forgetTwin drops the other source of a secret before a stronger layer sets
// this one, so that a flag with a password file beats a profile's password.
func (s *SASL) forgetTwin(name string) {
	switch name {
	case "sasl-password":
		s.PasswordFile = ""
	case "sasl-password-file":
		s.Password = ""
	case "sasl-token":
		s.TokenFile = ""
	case "sasl-token-file":
		s.Token = ""
	}
}

// Given returns the options of the command line as words, for a command that is to reach the same cluster. Secrets stay where
// they are.
func (f *Flags) Given() (words []string) {
	f.set.VisitAll(func(flag *pflag.Flag) {
		switch {
		case !flag.Changed || flag.Name == "sasl-password" || flag.Name == "sasl-token":
		case flag.Value.Type() == "bool":
			words = append(words, "--"+flag.Name+"="+flag.Value.String())
		default:
			words = append(words, "--"+flag.Name, flag.Value.String())
		}
	})
	return words
}
