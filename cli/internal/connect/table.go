package connect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/cli/internal/problem"
)

// option is one row of the connection block: --NAME, SKEIN_NAME in the
// environment, and name (or its words nested: tls-ca as tls: {ca: …}) in a
// profile.
type option struct {
	name  string
	value string // placeholder in help; empty for a switch
	help  string
	set   func(o *Options, text string) error
}

// table lists the connection block. It is a function because rows hold
// functions and the table must not be changed by anyone.
func table() []option {
	return append(reach(), append(encryption(), identity()...)...)
}

func reach() []option {
	return []option{
		{"bootstrap", "HOST:PORT,…", "brokers to ask first (default " + DefaultBootstrap + ")", setList(func(o *Options) *[]string { return &o.Bootstrap })},
		{"client-id", "NAME", "name under which brokers log and meter this client (default skein)", setText(func(o *Options) *string { return &o.ClientID })},
		{"timeout", "DURATION", "longest wait for a connection or an answer (default 10s)", setTimeout},
		{"client-log", "LEVEL", "print the Kafka client's own log: error, warn, info, debug", setLogLevel},
	}
}

func encryption() []option {
	return []option{
		{"tls", "", "speak TLS, trusting the system's certificate authorities (the other --tls options imply it)", setTLS},
		{"tls-ca", "FILE", "trust the certificate authorities in this PEM file", setText(func(o *Options) *string { return &o.TLS.CAFile })},
		{"tls-cert", "FILE", "client certificate (PEM) for mutual TLS", setText(func(o *Options) *string { return &o.TLS.CertFile })},
		{"tls-key", "FILE", "key (PEM) of the client certificate", setText(func(o *Options) *string { return &o.TLS.KeyFile })},
		{"tls-server-name", "NAME", "name to expect in the broker's certificate instead of its host", setText(func(o *Options) *string { return &o.TLS.ServerName })},
		{"tls-insecure-trust-anyone", "", "INSECURE: accept any certificate; whoever sits between may read and change everything", setSwitch(func(o *Options) *bool { return &o.TLS.TrustAnyone })},
	}
}

func identity() []option {
	return []option{
		{"sasl", "MECHANISM", "authenticate with " + strings.Join(mechanisms(), ", "), setText(func(o *Options) *string { return &o.SASL.Mechanism })},
		{"sasl-user", "NAME", "SASL user", setText(func(o *Options) *string { return &o.SASL.User })},
		{"sasl-password", "TEXT", "SASL password; others on this machine can see it in the process list, so prefer SKEIN_SASL_PASSWORD or a file", setText(func(o *Options) *string { return &o.SASL.Password })},
		{"sasl-password-file", "FILE", "file that holds the SASL password", setText(func(o *Options) *string { return &o.SASL.PasswordFile })},
		{"sasl-token", "TEXT", "OAUTHBEARER token; the process list shows it, so prefer SKEIN_SASL_TOKEN or a file", setText(func(o *Options) *string { return &o.SASL.Token })},
		{"sasl-token-file", "FILE", "file that holds the OAUTHBEARER token, read again for each connection", setText(func(o *Options) *string { return &o.SASL.TokenFile })},
	}
}

// env is the environment variable of an option.
func (p option) env() string { return EnvName(p.name) }

// EnvName returns the environment variable of an option or flag of skein.
func EnvName(name string) string {
	return "SKEIN_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

// EnvNames returns the environment variables that the connection block reads.
func EnvNames() []string {
	names := []string{envProfile, envConfig}
	for _, p := range table() {
		names = append(names, p.env())
	}
	return names
}

func optionNames() []string {
	var names []string
	for _, p := range table() {
		names = append(names, p.name)
	}
	return names
}

func findOption(name string) (option, bool) {
	for _, p := range table() {
		if p.name == name {
			return p, true
		}
	}
	return option{}, false
}

func setText(field func(*Options) *string) func(*Options, string) error {
	return func(o *Options, text string) error {
		*field(o) = text
		return nil
	}
}

func setList(field func(*Options) *[]string) func(*Options, string) error {
	return func(o *Options, text string) error {
		var list []string
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		*field(o) = list
		return nil
	}
}

func setSwitch(field func(*Options) *bool) func(*Options, string) error {
	return func(o *Options, text string) error {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		*field(o) = on
		return nil
	}
}

func setTLS(o *Options, text string) error {
	o.explicitTLS = true
	return setSwitch(func(o *Options) *bool { return &o.TLS.Enabled })(o, text)
}

func setTimeout(o *Options, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 10s or 1m30s", text)
	}
	o.Timeout = d
	return nil
}

func setLogLevel(o *Options, text string) error {
	if _, ok := logLevel(text); !ok {
		return problem.Usage("choose error, warn, info or debug", "%q is not a log level", text)
	}
	o.LogLevel = text
	return nil
}
