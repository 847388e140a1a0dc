// Package connect is the connection block that every client verb of the
// command line shares: where the cluster is, how to speak TLS to it and how to
// prove who we are.
//
// A setting comes from, in falling order: the flag, the SKEIN_* environment
// variable, the chosen profile of the configuration file, the default. One
// table (see table.go) names each of them once. Open turns the result into a
// client.Config and a franz-go client that has answered once, or into an error
// that says what is wrong and what to do about it.
package connect

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/client"
)

// DefaultBootstrap is where `skein serve` listens unless told otherwise.
const DefaultBootstrap = client.DefaultBroker

const defaultPort = "9092"

// Options say how to reach a cluster. Build them with Flags.Resolve, or start
// from Defaults.
type Options struct {
	Bootstrap []string      // host:port, at least one
	ClientID  string        // the name brokers log and meter by
	Timeout   time.Duration // longest wait for a connection or an answer
	LogLevel  string        // franz-go's own log on standard error: none, error, warn, info or debug
	TLS       TLS
	SASL      SASL

	explicitTLS bool // --tls was given, so that other options no longer imply it
}

// TLS says how to encrypt and whom to trust.
type TLS struct {
	Enabled     bool
	CAFile      string // PEM; empty means the system's roots
	CertFile    string // PEM, client certificate for mutual TLS
	KeyFile     string // PEM, its key
	ServerName  string // name expected in the broker's certificate instead of the host
	TrustAnyone bool   // accept any certificate: encrypts, proves nothing
}

// SASL mechanisms that Options.SASL.Mechanism takes.
const (
	Plain       = client.MechanismPlain
	ScramSHA256 = client.MechanismScramSHA256
	ScramSHA512 = client.MechanismScramSHA512
	OAuthBearer = client.MechanismOAuthBearer
)

func mechanisms() []string { return []string{Plain, ScramSHA256, ScramSHA512, OAuthBearer} }

// SASL says who we are. Secrets come as text or as a file; the file wins
// nothing over the text, giving both is an error.
type SASL struct {
	Mechanism    string // one of the mechanisms above; empty means no SASL
	User         string
	Password     string
	PasswordFile string
	Token        string
	TokenFile    string // read again for every new connection
}

// Defaults are the options of a command line that says nothing.
func Defaults() Options {
	return Options{Bootstrap: []string{DefaultBootstrap}, ClientID: "skein", Timeout: 10 * time.Second, LogLevel: "none"}
}

// finish fills in what options imply and refuses what cannot be meant.
func (o *Options) finish() error {
	if err := o.finishBootstrap(); err != nil {
		return err
	}
	if o.Timeout <= 0 {
		return problem.Usage("give a duration such as 10s", "the timeout %v is not positive", o.Timeout)
	}
	if err := o.finishTLS(); err != nil {
		return err
	}
	return o.SASL.finish()
}

func (o *Options) finishBootstrap() error {
	if len(o.Bootstrap) == 0 {
		return problem.Usage("name a broker: --bootstrap host:port", "there is no bootstrap address")
	}
	for i, address := range o.Bootstrap {
		full, err := withPort(address)
		if err != nil {
			return err
		}
		o.Bootstrap[i] = full
	}
	return nil
}

// withPort completes "host" to "host:9092" and refuses what is not an address.
func withPort(address string) (string, error) {
	hint := "write host:port, with brackets around an IPv6 address: [::1]:9092"
	if strings.Contains(address, "://") {
		return "", problem.Usage(hint, "the bootstrap address %q has a scheme", address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		if strings.Count(address, ":") > 0 && !strings.HasPrefix(address, "[") && net.ParseIP(address) == nil {
			return "", problem.Usage(hint, "cannot read the bootstrap address %q", address)
		}
		host, port = strings.Trim(address, "[]"), defaultPort
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", problem.Usage(hint, "the bootstrap address %q has no port between 1 and 65535", address)
	}
	if host == "" {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), nil
}

func (o *Options) finishTLS() error {
	t := &o.TLS
	named := t.CAFile != "" || t.CertFile != "" || t.KeyFile != "" || t.ServerName != "" || t.TrustAnyone
	if !o.explicitTLS && named {
		t.Enabled = true
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return problem.Usage("give both --tls-cert and --tls-key", "a client certificate needs its key, and a key its certificate")
	}
	if t.TrustAnyone && t.CAFile != "" {
		return problem.Usage("drop one of them", "--tls-ca says whom to trust and --tls-insecure-trust-anyone says not to care")
	}
	return nil
}

func (s *SASL) finish() error {
	hint := "choose one of " + strings.Join(mechanisms(), ", ")
	s.Mechanism = strings.ToUpper(s.Mechanism)
	switch {
	case s.Mechanism == "" && (s.Token != "" || s.TokenFile != ""):
		s.Mechanism = OAuthBearer
	case s.Mechanism == "" && *s != (SASL{}):
		return problem.Usage("add --sasl with one of "+strings.Join(mechanisms(), ", "), "there are SASL credentials but no mechanism")
	case s.Mechanism == "":
		return nil
	case !slices.Contains(mechanisms(), s.Mechanism):
		return problem.Usage(hint, "the SASL mechanism %q is not one that skein speaks", s.Mechanism)
	}
	if s.Mechanism == OAuthBearer {
		return s.finishToken()
	}
	return s.finishPassword()
}

func (s *SASL) finishToken() error {
	if (s.Token == "") == (s.TokenFile == "") {
		return problem.Usage("give SKEIN_SASL_TOKEN or --sasl-token-file", "OAUTHBEARER needs a token, from one place")
	}
	return nil
}

func (s *SASL) finishPassword() error {
	if s.User == "" {
		return problem.Usage("give --sasl-user", "%s needs a user", s.Mechanism)
	}
	if (s.Password == "") == (s.PasswordFile == "") {
		return problem.Usage("give SKEIN_SASL_PASSWORD or --sasl-password-file", "%s needs a password, from one place", s.Mechanism)
	}
	return nil
}
