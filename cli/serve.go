package cli

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/internal/settings"
)

const (
	defaultHTTP = "127.0.0.1:8080"
	defaultData = "./skein-data"
)

func newServe(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a broker",
		Long: `Run a Kafka-compatible broker until it is interrupted (SIGINT or SIGTERM; a second
one stops it at once). It prints one line on standard output when it is ready,
and logs to standard error.

A listener is HOST:PORT, with what clients are told to connect to when that
differs, and a name when there are several:

  --listen 127.0.0.1:9092
  --listen 0.0.0.0:9092,advertised=broker.example.com:9092
  --listen INSIDE://10.0.0.5:9092 --listen OUTSIDE://0.0.0.0:9094,advertised=kafka.example.com:19094

Settings come, the later ones winning, from the file given with --config
(.properties as for Kafka, .yaml or .toml), from the environment (SKEIN_DATA,
SKEIN_LISTEN, SKEIN_NUM_PARTITIONS, …) and from flags. The file may also hold
listen, data, http, pprof, log-level and log-format. Names and defaults of
settings are Kafka's where Kafka has them; skein settings shows them all.`,
		Example: `skein serve
skein serve --data /var/lib/skein --listen 0.0.0.0:9092,advertised=broker.example.com:9092
skein serve --set log.retention.hours=24 --num-partitions 6
skein serve --config server.properties`,
		Args: noArgs,
	}
	registerServe(cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc("set", completeBrokerSettings)
	_ = cmd.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(logLevels(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagFilename("config", "properties", "yaml", "yml", "toml")
	_ = cmd.MarkFlagDirname("data")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		plan, err := planServe(a.env, cmd.Flags())
		if err != nil {
			return err
		}
		return a.serve(cmd.Context(), plan)
	}
	return cmd
}

// registerServe adds the flags of serve itself and one for every setting.
func registerServe(f *pflag.FlagSet) {
	f.StringArray("listen", nil, "`ADDRESS` where to listen (see above); may be repeated (default 127.0.0.1:9092)")
	f.String("data", "", "`DIR` directory that holds everything (default "+defaultData+")")
	f.String("http", "", "`HOST:PORT` address of /metrics, /healthz and /readyz; '' for none (default "+defaultHTTP+")")
	f.Bool("pprof", false, "serve /debug/pprof on the HTTP address too")
	f.String("config", "", "`FILE` file with settings: .properties, .yaml or .toml")
	f.StringArray("set", nil, "`NAME=VALUE` set any broker setting; may be repeated")
	f.String("log-level", "", "`LEVEL` least level that is logged: debug, info, warn or error (default info)")
	f.String("log-format", "", "`FORM` form of the log: text or json (default text)")
	for _, d := range settings.Brokers().All() {
		name := settings.FlagName(d.Name)
		f.String(name, "", "`"+strings.ToUpper(d.Type.String())+"` "+d.Doc+" Default: "+d.DefaultText()+".")
		f.Lookup(name).Annotations = map[string][]string{groupKey: {groupSettings}}
	}
}

func completeBrokerSettings(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, d := range settings.Brokers().All() {
		names = append(names, d.Name+"=")
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// servePlan is what serve shall do, put together from all layers.
type servePlan struct {
	data      string
	settings  map[string]string // broker settings by name; listeners among them
	http      string            // empty: none
	httpGiven bool              // the address was asked for, not the default
	pprof     bool
	logLevel  slog.Level
	logFormat string // text or json
}

// planServe puts the layers together and checks the result.
func planServe(env Env, flags *pflag.FlagSet) (servePlan, error) {
	merged, err := serveLayers(env, flags)
	if err != nil {
		return servePlan{}, err
	}
	plan, err := merged.plan()
	if err != nil {
		return plan, err
	}
	if err := checkSettings(plan.settings); err != nil {
		return plan, err
	}
	return plan, nil
}

func checkSettings(values map[string]string) error {
	if err := settings.CheckBroker(values); err != nil {
		return problem.Usage("`skein settings` lists what there is", "%w", err)
	}
	return nil
}

func logLevels() []string { return []string{"debug", "info", "warn", "error"} }

// plan turns the merged layers into typed values.
func (l serveLayer) plan() (servePlan, error) {
	p := servePlan{data: defaultData, settings: l.settings, http: defaultHTTP, logFormat: "text"}
	if l.data != nil {
		p.data = *l.data
	}
	if l.http != nil {
		p.http, p.httpGiven = *l.http, true
	}
	if l.pprof != nil {
		p.pprof = *l.pprof
	}
	if l.logFormat != nil {
		p.logFormat = *l.logFormat
	}
	if !slices.Contains([]string{"text", "json"}, p.logFormat) {
		return p, problem.Usage("choose text or json", "the log format %q is unknown", p.logFormat)
	}
	if l.logLevel != nil {
		if !slices.Contains(logLevels(), *l.logLevel) {
			return p, problem.Usage("choose debug, info, warn or error", "the log level %q is unknown", *l.logLevel)
		}
		_ = p.logLevel.UnmarshalText([]byte(*l.logLevel)) // one of the above
	}
	if p.data == "" {
		return p, problem.Usage("name a directory with --data", "the data directory is empty")
	}
	return p, nil
}

// logger logs to standard error as the plan says.
func (p servePlan) logger(env Env) *slog.Logger {
	options := &slog.HandlerOptions{Level: p.logLevel}
	if p.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(env.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(env.Stderr, options))
}
