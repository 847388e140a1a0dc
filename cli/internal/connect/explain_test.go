package connect

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/client"
)

// listen serves each connection with handle until the test ends.
func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			handle(c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func open(t *testing.T, o Options) error {
	t.Helper()
	c, err := Open(t.Context(), o, io.Discard)
	if err == nil {
		c.Close()
		t.Fatal("connected")
	}
	return err
}

func wantAdvice(t *testing.T, err error, what, do string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(problem.Hint(err), do) {
		t.Errorf("got %v (hint %q), want %q (hint %q)", err, problem.Hint(err), what, do)
	}
}

func optionsFor(address string) Options {
	o := Defaults()
	o.Bootstrap, o.Timeout = []string{address}, 5*time.Second
	return o
}

func TestNobodyListensSaysHowToStartABroker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	err = open(t, optionsFor(l.Addr().String()))
	wantAdvice(t, err, "cannot connect to "+l.Addr().String()+": nothing listens there", "skein serve")
}

func TestABrokerThatHangsUpSuggestsTLS(t *testing.T) {
	wantAdvice(t, open(t, optionsFor(listen(t, func(net.Conn) {}))), "closed the connection at once", "--tls")
	withSASL := optionsFor(listen(t, func(net.Conn) {}))
	withSASL.SASL = SASL{Mechanism: Plain, User: "u", Password: "p"}
	wantAdvice(t, open(t, withSASL), "closed the connection at once", "drop --sasl")
}

func TestARequestThatTheBrokerDoesNotServeIsNamed(t *testing.T) {
	tooOld := errors.New("broker is too old; the broker has already indicated it will not know how to handle the request")
	shards := &kadm.ShardErrors{Name: "DescribeGroups", AllFailed: true, Errs: []kadm.ShardError{{Err: tooOld}}}
	wantAdvice(t, explain(fmt.Errorf("describing: %w", shards), optionsFor("a:1")), "the broker at a:1 does not serve DescribeGroups", "old")
	wantAdvice(t, explain(tooOld, optionsFor("a:1")), "the broker at a:1 does not serve this request", "old")
}

func TestASilentBrokerIsNotWaitedForLongerThanTheTimeout(t *testing.T) {
	o := optionsFor(listen(t, func(c net.Conn) { io.Copy(io.Discard, c) }))
	o.Timeout = 50 * time.Millisecond
	wantAdvice(t, open(t, o), "no answer from", "--timeout")
}

func TestATLSAlertSuggestsTLS(t *testing.T) {
	address := listen(t, func(c net.Conn) {
		io.ReadFull(c, make([]byte, 4))
		c.Write([]byte{21, 3, 3, 0, 2, 2, 80})
	})
	wantAdvice(t, open(t, optionsFor(address)), "speaks TLS", "--tls")
}

func TestATLSClientOnAPlainListenerSuggestsToDropTLS(t *testing.T) {
	for name, handle := range map[string]func(net.Conn){
		"hangs up": func(c net.Conn) { io.ReadFull(c, make([]byte, 4)) },
		"answers":  func(c net.Conn) { c.Write([]byte("not tls at all")) },
	} {
		o := optionsFor(listen(t, handle))
		o.TLS.Enabled = true
		t.Run(name, func(t *testing.T) { wantAdvice(t, open(t, o), "TLS handshake failed", "drop the --tls options") })
	}
}

// selfSigned makes a certificate for host, PEM in a file, and its server side.
func selfSigned(t *testing.T, host string, until time.Time) (string, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{host},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestHandshakeFailuresSayWhichOptionHelps(t *testing.T) {
	tomorrow, yesterday := time.Now().Add(24*time.Hour), time.Now().Add(-24*time.Hour)
	for _, c := range []struct {
		name    string
		host    string
		until   time.Time
		trusted bool
		hint    string
	}{
		{"unknown authority", "localhost", tomorrow, false, "--tls-ca"},
		{"other name", "kafka.example.com", tomorrow, true, "--tls-server-name"},
		{"expired", "localhost", yesterday, true, "out of date"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ca, pair := selfSigned(t, c.host, c.until)
			o := optionsFor(listen(t, func(conn net.Conn) {
				tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}}).Handshake()
			}))
			o.TLS = TLS{Enabled: true, ServerName: "localhost"}
			if c.trusted {
				o.TLS.CAFile = ca
			}
			wantAdvice(t, open(t, o), "TLS handshake failed with 127.0.0.1", c.hint)
		})
	}
}

func TestAMissingClientCertificateIsAskedFor(t *testing.T) {
	ca, pair := selfSigned(t, "localhost", time.Now().Add(24*time.Hour))
	o := optionsFor(listen(t, func(conn net.Conn) {
		tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}).Handshake()
	}))
	o.TLS = TLS{Enabled: true, CAFile: ca, ServerName: "localhost"}
	wantAdvice(t, open(t, o), "wants a client certificate", "--tls-cert")
}

func TestWrongFilesAreToldBeforeDialling(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*Options)
		what   string
	}{
		{func(o *Options) { o.TLS = TLS{Enabled: true, CAFile: "/none"} }, "certificate authorities"},
		{func(o *Options) { o.TLS = TLS{Enabled: true, CAFile: empty} }, "no PEM certificate"},
		{func(o *Options) { o.TLS = TLS{Enabled: true, CertFile: empty, KeyFile: empty} }, "client certificate"},
		{func(o *Options) { o.SASL = SASL{Mechanism: Plain, User: "a", PasswordFile: "/none"} }, "SASL secret"},
		{func(o *Options) { o.SASL = SASL{Mechanism: OAuthBearer, TokenFile: empty} }, "is empty"},
	} {
		o := Defaults()
		c.change(&o)
		wantAdvice(t, open(t, o), c.what, "")
	}
}

func TestBrokersRefusalsAreExplained(t *testing.T) {
	o := Defaults()
	o.SASL.Mechanism = Plain
	for _, c := range []struct {
		err      error
		what, do string
	}{
		{fmt.Errorf("%w: %s", kerr.SaslAuthenticationFailed, "Authentication failed: Invalid username or password"), "SASL refused: Authentication failed", "PLAIN"},
		{kerr.SaslAuthenticationFailed, "credentials are not accepted", "--sasl-user"},
		{kerr.UnsupportedSaslMechanism, "does not offer PLAIN", "SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"},
		{kerr.IllegalSaslState, "does not authenticate", "drop --sasl"},
		{kerr.TopicAuthorizationFailed, "not allowed", "ACL"},
		{&client.DialError{Address: "10.9.8.7:9092", Err: &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}}, "calls itself 10.9.8.7:9092", "advertised"},
		{&client.DialError{Address: DefaultBootstrap, Err: &net.DNSError{IsNotFound: true}}, "no such host", "--bootstrap"},
		{&client.DialError{Address: DefaultBootstrap, Err: &net.DNSError{Err: "server misbehaving"}}, "cannot be looked up: server misbehaving", ""},
	} {
		wantAdvice(t, explain(c.err, o), c.what, c.do)
	}
	plain := errors.New("something else")
	if got := explain(plain, o); got != plain {
		t.Errorf("an unknown error became %v", got)
	}
}

func TestATimedOutRequestTellsTheLastDialFailure(t *testing.T) {
	d := &dialer{failures: map[string]error{}}
	d.note(context.Background(), "kafka-7:9092", &client.DialError{Address: "kafka-7:9092", Err: &net.DNSError{IsNotFound: true}})
	c := &Client{opts: Defaults(), dial: d}
	wantAdvice(t, c.Explain(context.DeadlineExceeded), "calls itself kafka-7:9092, and connecting there failed: no such host", "advertised")
	d.note(context.Background(), "kafka-7:9092", nil)
	wantAdvice(t, c.Explain(context.DeadlineExceeded), "no answer from", "")
	if err := c.Explain(context.Canceled); err != context.Canceled {
		t.Errorf("an interrupt became %v", err)
	}
}

func TestWeakConnectionsAreWarnedAbout(t *testing.T) {
	o := Defaults()
	o.SASL.Mechanism = Plain
	var out bytes.Buffer
	if warn(o, &out); out.Len() > 0 {
		t.Errorf("loopback was warned about: %s", out.String())
	}
	o.Bootstrap = []string{"kafka.example.com:9092"}
	if warn(o, &out); !strings.Contains(out.String(), "clear text") {
		t.Errorf("got %q", out.String())
	}
	o.TLS = TLS{Enabled: true, TrustAnyone: true}
	out.Reset()
	if warn(o, &out); !strings.Contains(out.String(), "not authenticated") || strings.Contains(out.String(), "clear text") {
		t.Errorf("got %q", out.String())
	}
}
