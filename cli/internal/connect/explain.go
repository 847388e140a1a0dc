package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/client"
)

// Explain turns an error of the Kafka client into one that a person can act
// upon. Errors it has nothing to add to come back as they are.
func (c *Client) Explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		if last := c.dial.lastFailure(c.opts.Bootstrap); last != nil {
			err = last
		}
	}
	return explain(err, c.opts)
}

func explain(err error, o Options) error {
	if _, done := errors.AsType[*problem.Error](err); done {
		return err
	}
	for _, rule := range []func(error, Options) *problem.Error{explainBroker, explainUnserved, explainTLS, explainDial, explainClosed, explainSilence} {
		if p := rule(err, o); p != nil {
			return p
		}
	}
	return err
}

// explainBroker covers refusals that a broker put into words.
func explainBroker(err error, o Options) *problem.Error {
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return problem.New("check --sasl-user, the password or token, and the mechanism ("+o.SASL.Mechanism+")",
			"SASL refused: %s", brokerWords(err, kerr.SaslAuthenticationFailed))
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		others := slices.DeleteFunc(mechanisms(), func(m string) bool { return m == o.SASL.Mechanism })
		return problem.New("try --sasl with "+strings.Join(others, ", "),
			"SASL refused: the broker at %s does not offer %s", o.place(), o.SASL.Mechanism)
	case errors.Is(err, kerr.IllegalSaslState):
		return problem.New("drop --sasl, or use the port of a listener with SASL",
			"SASL refused: the listener at %s does not authenticate with SASL", o.place())
	case errors.Is(err, kerr.ClusterAuthorizationFailed), errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.GroupAuthorizationFailed):
		return problem.New("ask the cluster's operator for an ACL, or authenticate as somebody else", "not allowed: %w", err)
	}
	return nil
}

// explainUnserved covers requests that the broker does not know. The client
// has no name for that.
func explainUnserved(err error, o Options) *problem.Error {
	if !strings.Contains(err.Error(), "broker is too old") {
		return nil
	}
	request := "this request"
	if shards, ok := errors.AsType[*kadm.ShardErrors](err); ok {
		request = shards.Name
	}
	return problem.New("it is too old for that, or a Skein broker that does not have it yet: README tells what there is",
		"the broker at %s does not serve %s", o.place(), request)
}

// brokerWords is what the broker said beyond its error code.
func brokerWords(err error, code *kerr.Error) string {
	_, words, found := strings.Cut(err.Error(), code.Error()+": ")
	if !found || words == "" {
		return "the credentials are not accepted"
	}
	return words
}

// explainTLS covers handshakes, and the alert that a TLS 1.3 broker sends
// after the handshake when it misses a client certificate.
func explainTLS(err error, o Options) *problem.Error {
	if text := err.Error(); strings.Contains(text, "tls: certificate required") || strings.Contains(text, "tls: bad certificate") {
		return problem.New("give one with --tls-cert and --tls-key, signed by an authority that the broker trusts",
			"TLS handshake failed: the broker at %s wants a client certificate", o.place())
	}
	dial, ok := errors.AsType[*client.DialError](err)
	if !ok || !dial.TLS {
		return nil
	}
	return problem.New(handshakeHint(dial.Err), "TLS handshake failed with %s: %w", dial.Address, dial.Err)
}

func handshakeHint(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "name the authority that signed the broker's certificate with --tls-ca FILE"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "use the name in the certificate as --bootstrap, or give it with --tls-server-name"
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "the broker's certificate, or this machine's clock, is out of date"
	}
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	if notTLS || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return "the listener may not speak TLS: drop the --tls options, or use the port of a TLS listener"
	}
	if timedOut(err) {
		return "the listener does not answer TLS: drop the --tls options, or use the port of a TLS listener"
	}
	return ""
}

func explainDial(err error, o Options) *problem.Error {
	dial, ok := errors.AsType[*client.DialError](err)
	if !ok {
		return nil
	}
	if !slices.Contains(o.Bootstrap, dial.Address) {
		return problem.New("that address must be reachable from here: a broker advertises what its listener was given (skein serve --listen HOST:PORT,advertised=HOST:PORT; Kafka: advertised.listeners)",
			"%s answers, but calls itself %s, and connecting there failed: %s", o.place(), dial.Address, reason(err))
	}
	return problem.New(dialHint(dial.Err), "cannot connect to %s: %s", dial.Address, reason(err))
}

func reason(err error) string {
	if dial, ok := errors.AsType[*client.DialError](err); ok {
		err = dial.Err
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "no such host"
		}
		return "the name cannot be looked up: " + dns.Err
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case timedOut(err):
		return "no answer"
	}
	if sys, ok := errors.AsType[*os.SyscallError](err); ok {
		return sys.Err.Error()
	}
	return err.Error()
}

func dialHint(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "start a broker with `skein serve`, or name a running one with --bootstrap HOST:PORT"
	case timedOut(err):
		return "is the address right, and does a firewall let this machine through? (--timeout waits longer)"
	}
	return "name a running broker with --bootstrap HOST:PORT"
}

// explainClosed covers peers that speak something else, and brokers that hang
// up without a word, which is how Kafka says that the client speaks the wrong
// security protocol.
func explainClosed(err error, o Options) *problem.Error {
	if strings.Contains(err.Error(), "tls alert record") {
		return problem.New("add --tls (and --tls-ca FILE when the authority is your own)", "the listener at %s speaks TLS", o.place())
	}
	if strings.Contains(err.Error(), "HTTP response") {
		return problem.New("is this the right port? Kafka's is usually 9092", "what listens at %s speaks HTTP, not Kafka", o.place())
	}
	_, first := errors.AsType[*kgo.ErrFirstReadEOF](err)
	if !first && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	hint := "the listener may expect TLS (--tls) or SASL (--sasl)"
	switch {
	case strings.Contains(err.Error(), "is SASL missing"):
		hint = "the listener probably wants SASL: add --sasl with --sasl-user, or a --profile"
	case !o.TLS.Enabled && o.SASL.Mechanism != "":
		hint = "the listener may expect TLS (add --tls), or may not know SASL (drop --sasl)"
	case !o.TLS.Enabled:
		hint = "the listener may expect TLS: add --tls"
	case o.SASL.Mechanism != "":
		hint = "is this the port of a Kafka listener?"
	}
	return problem.New(hint, "the broker at %s closed the connection at once", o.place())
}

func explainSilence(err error, o Options) *problem.Error {
	if !timedOut(err) {
		return nil
	}
	return problem.New("is it a Kafka broker that listens there, and is it healthy? (--timeout waits longer)",
		"no answer from %s within %v", o.place(), o.Timeout)
}

func timedOut(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// place names the cluster in messages.
func (o Options) place() string {
	if len(o.Bootstrap) == 1 {
		return o.Bootstrap[0]
	}
	return fmt.Sprintf("%s (and %d more)", o.Bootstrap[0], len(o.Bootstrap)-1)
}
