package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/skeinstream/skein/cli/internal/connect"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/internal/nearest"
	"github.com/skeinstream/skein/internal/settings"
)

// serveLayer is what one source says: file, environment or flags. Nil fields
// say nothing.
type serveLayer struct {
	data, http, logLevel, logFormat *string
	pprof                           *bool
	settings                        map[string]string
	places                          []string // of listen, not yet among the settings
}

// Names of what serve takes beside the broker's settings.
const (
	keyListen    = "listen"
	keyData      = "data"
	keyHTTP      = "http"
	keyPprof     = "pprof"
	keyLogLevel  = "log-level"
	keyLogFormat = "log-format"

	settingListeners  = "listeners"
	settingAdvertised = "advertised.listeners"
	settingDirs       = "log.dirs"
)

// serveLayers reads all sources and lays them over each other.
func serveLayers(env Env, flags *pflag.FlagSet) (serveLayer, error) {
	path, _ := flags.GetString("config")
	if path == "" {
		path = env.Getenv(envServeConfig)
	}
	merged := serveLayer{settings: map[string]string{}}
	sources := []struct {
		name string
		read func() (serveLayer, error)
	}{
		{path, func() (serveLayer, error) { return fileLayer(path) }},
		{"the environment", func() (serveLayer, error) { return envLayer(env.Environ(), env.Stderr) }},
		{"the command line", func() (serveLayer, error) { return flagLayer(flags) }},
	}
	for _, source := range sources {
		layer, err := source.read()
		if err == nil {
			err = layer.settle(source.name)
		}
		if err != nil {
			return merged, err
		}
		merged.cover(layer)
	}
	return merged, nil
}

// settle checks a layer and brings it into one form: listen becomes the
// settings about listeners, the setting log.dirs becomes data.
func (l *serveLayer) settle(source string) error {
	if err := settings.Brokers().Check(l.settings); err != nil {
		return problem.Usage("`skein settings` lists what there is", "%s: %w", source, err)
	}
	for _, name := range []string{settingListeners, settingAdvertised} {
		if _, given := l.settings[name]; given && len(l.places) > 0 {
			return saidTwice(source, keyListen, name)
		}
	}
	if len(l.places) > 0 {
		listeners, advertised, err := parseListeners(l.places)
		if err != nil {
			return err
		}
		l.settings[settingListeners], l.settings[settingAdvertised] = listeners, advertised
	}
	if dir, ok := l.settings[settingDirs]; ok {
		delete(l.settings, settingDirs)
		if l.data != nil {
			return saidTwice(source, keyData, settingDirs)
		}
		l.data = &dir
	}
	return nil
}

func saidTwice(source, one, other string) error {
	return problem.Usage("keep one of them", "%s gives both %s and %s, which are the same", source, one, other)
}

// cover lays over on top of l. New listeners do away with what was advertised
// for the old ones.
func (l *serveLayer) cover(over serveLayer) {
	for under, on := range map[**string]*string{&l.data: over.data, &l.http: over.http, &l.logLevel: over.logLevel, &l.logFormat: over.logFormat} {
		if on != nil {
			*under = on
		}
	}
	if over.pprof != nil {
		l.pprof = over.pprof
	}
	maps.Copy(l.settings, over.settings)
	if l.settings[settingAdvertised] == "" {
		delete(l.settings, settingAdvertised)
	}
}

// set takes one name and value; it reports whether the name is known.
func (l *serveLayer) set(name, value string) (known bool, err error) {
	switch name {
	case keyListen:
		l.places = append(l.places, strings.Fields(value)...)
	case keyData:
		l.data = &value
	case keyHTTP:
		l.http = &value
	case keyLogLevel:
		l.logLevel = &value
	case keyLogFormat:
		l.logFormat = &value
	case keyPprof:
		on, err := strconv.ParseBool(value)
		if err != nil {
			return true, problem.Usage("write true or false", "pprof: %q is neither true nor false", value)
		}
		l.pprof = &on
	default:
		if _, known := settings.Brokers().Lookup(name); !known {
			return false, nil
		}
		l.settings[name] = value
	}
	return true, nil
}

func ownKeys() []string {
	return []string{keyListen, keyData, keyHTTP, keyPprof, keyLogLevel, keyLogFormat}
}

func allKeys() []string {
	keys := ownKeys()
	for _, d := range settings.Brokers().All() {
		keys = append(keys, d.Name)
	}
	return keys
}

const envServeConfig = "SKEIN_SERVE_CONFIG"

// kubernetes sets variables such as SKEIN_PORT_9092_TCP_ADDR in every
// container when a service is called skein; they are not meant for us.
func fromKubernetes(variable string) bool {
	return regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)$`).MatchString(variable)
}

// envLayer reads SKEIN_* variables. One that is nearly a setting is a slip and
// an error. Others may be somebody else's; they get a notice.
func envLayer(environ []string, notices io.Writer) (serveLayer, error) {
	names := map[string]string{}
	for _, key := range allKeys() {
		names[settings.EnvName(key)] = key
	}
	for _, key := range ownKeys() {
		names[connect.EnvName(key)] = key
	}
	layer := serveLayer{settings: map[string]string{}}
	for _, pair := range environ {
		variable, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(variable, "SKEIN_") || slices.Contains(connect.EnvNames(), variable) || variable == envServeConfig || fromKubernetes(variable) {
			continue
		}
		name, known := names[variable]
		if !known {
			if err := strayVariable(variable, names, notices); err != nil {
				return layer, err
			}
			continue
		}
		if _, err := layer.set(name, value); err != nil {
			return layer, err
		}
	}
	return layer, nil
}

func strayVariable(variable string, names map[string]string, notices io.Writer) error {
	var known []string
	for name := range names {
		known = append(known, strings.TrimPrefix(name, "SKEIN_"))
	}
	slices.Sort(known)
	if near := nearest.Name(strings.TrimPrefix(variable, "SKEIN_"), known); near != "" {
		return problem.Usage("did you mean SKEIN_"+near+"?", "the environment variable %s is no setting", variable)
	}
	fmt.Fprintf(notices, "skein: the environment variable %s is no setting and is ignored\n", variable)
	return nil
}

// flagLayer reads the flags that were given. --set comes before the setting's
// own flag, which is the more explicit one.
func flagLayer(flags *pflag.FlagSet) (serveLayer, error) {
	layer := serveLayer{settings: map[string]string{}}
	pairs, _ := flags.GetStringArray("set")
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return layer, problem.Usage("write --set NAME=VALUE", "%q is not a setting", pair)
		}
		if err := layer.setKnown("--set", name, value); err != nil {
			return layer, err
		}
	}
	for _, key := range allKeys() {
		flag := flags.Lookup(settings.FlagName(key))
		if flag == nil || !flag.Changed || key == keyListen {
			continue
		}
		if _, err := layer.set(key, flag.Value.String()); err != nil {
			return layer, err
		}
	}
	layer.places, _ = flags.GetStringArray(keyListen)
	return layer, nil
}

func (l *serveLayer) setKnown(origin, name, value string) error {
	known, err := l.set(name, value)
	if err == nil && !known {
		return unknownSettings(origin, []string{name})
	}
	return err
}

// unknownSettings tells all unknown names of one source at once: a file that
// was written for Kafka has many.
func unknownSettings(origin string, names []string) error {
	const listed = "`skein settings` lists what there is"
	if len(names) == 1 {
		return problem.Usage(cmp.Or(problem.DidYouMean(names[0], allKeys()), listed), "%s: there is no setting %q", origin, names[0])
	}
	var quoted, hints []string
	for _, name := range names {
		quoted = append(quoted, strconv.Quote(name))
		if near := nearest.Name(name, allKeys()); near != "" {
			hints = append(hints, fmt.Sprintf("did you mean %q instead of %q?", near, name))
		}
	}
	return problem.Usage(strings.Join(append(hints, listed), "\n"), "%s: there are no settings %s", origin, strings.Join(quoted, ", "))
}
