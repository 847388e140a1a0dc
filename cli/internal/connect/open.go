package connect

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Client is a Kafka client that has reached its cluster once.
type Client struct {
	*kgo.Client
	opts Options
	dial *dialer
}

// Open connects with the first bootstrap broker that answers. When none does
// within the timeout, the error says why and what to do; nothing is retried
// behind the user's back. Notices and franz-go's own log go to stderr.
func Open(ctx context.Context, o Options, stderr io.Writer, more ...kgo.Opt) (*Client, error) {
	d, base, err := o.base(stderr)
	if err != nil {
		return nil, err
	}
	warn(o, stderr)
	cl, err := kgo.NewClient(append(base, more...)...)
	if err != nil {
		return nil, fmt.Errorf("setting up the Kafka client: %w", err)
	}
	c := &Client{Client: cl, opts: o, dial: d}
	if err := c.ping(ctx); err != nil {
		cl.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) ping(ctx context.Context) error {
	within, cancel := c.Within(ctx)
	defer cancel()
	if err := c.Ping(within); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return c.Explain(err)
	}
	return nil
}

// Timeout is the longest wait for an answer.
func (c *Client) Timeout() time.Duration { return c.opts.Timeout }

// Within bounds one exchange with the cluster by the timeout of the options.
func (c *Client) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.opts.Timeout)
}

// Admin lends an admin client to act, within the timeout, and explains the
// errors that come out.
func (c *Client) Admin(ctx context.Context, act func(context.Context, *kadm.Client) error) error {
	within, cancel := c.Within(ctx)
	defer cancel()
	admin := kadm.NewClient(c.Client)
	admin.SetTimeoutMillis(int32(min(c.opts.Timeout, time.Hour).Milliseconds()))
	if err := act(within, admin); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return c.Explain(err)
	}
	return nil
}

// AnnounceOutages says on w when, from now on, a broker cannot be reached,
// and when it can again. The client keeps trying all the while.
func (c *Client) AnnounceOutages(w io.Writer) {
	c.dial.mu.Lock()
	defer c.dial.mu.Unlock()
	c.dial.announce = w
}

// base returns the franz-go options that the connection block stands for.
func (o Options) base(stderr io.Writer) (*dialer, []kgo.Opt, error) {
	cfg, err := o.TLS.config()
	if err != nil {
		return nil, nil, err
	}
	mechanism, err := o.SASL.mechanism()
	if err != nil {
		return nil, nil, err
	}
	d := &dialer{tcp: net.Dialer{Timeout: o.Timeout}, tls: cfg, failures: map[string]error{}}
	opts := []kgo.Opt{
		kgo.SeedBrokers(o.Bootstrap...),
		kgo.ClientID(o.ClientID),
		kgo.SoftwareNameAndVersion("skein-cli", "1"),
		kgo.Dialer(d.Dial),
		kgo.RetryTimeout(o.Timeout),
		kgo.RequestTimeoutOverhead(max(o.Timeout, time.Second)),
		kgo.DisableClientMetrics(),
	}
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	if level, _ := logLevel(o.LogLevel); level != kgo.LogLevelNone {
		opts = append(opts, kgo.WithLogger(kgo.BasicLogger(stderr, level, nil)))
	}
	return d, opts, nil
}

func logLevel(text string) (kgo.LogLevel, bool) {
	switch text {
	case "none":
		return kgo.LogLevelNone, true
	case "error":
		return kgo.LogLevelError, true
	case "warn":
		return kgo.LogLevelWarn, true
	case "info":
		return kgo.LogLevelInfo, true
	case "debug":
		return kgo.LogLevelDebug, true
	}
	return kgo.LogLevelNone, false
}

// warn says aloud what weakens the connection.
func warn(o Options, stderr io.Writer) {
	if o.TLS.TrustAnyone {
		fmt.Fprintln(stderr, "skein: WARNING: --tls-insecure-trust-anyone is on: the brokers are not authenticated")
	}
	if o.SASL.Mechanism == Plain && !o.TLS.Enabled && !allLoopback(o.Bootstrap) {
		fmt.Fprintln(stderr, "skein: WARNING: SASL PLAIN without TLS sends the password in clear text")
	}
}

func allLoopback(addresses []string) bool {
	for _, a := range addresses {
		host, _, _ := net.SplitHostPort(a)
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// dialer opens connections and remembers the last failure for each address, so
// that a request that ran out of time can say why.
type dialer struct {
	tcp net.Dialer
	tls *tls.Config

	mu       sync.Mutex
	failures map[string]error // by address; removed when a dial succeeds
	announce io.Writer        // where outages are told, once asked for
}

// Dial opens one connection, with the TLS handshake when TLS is on. It fails
// with a *DialError.
func (d *dialer) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.tcp.DialContext(ctx, network, address)
	if err != nil {
		return nil, d.note(ctx, &DialError{Address: address, Err: err})
	}
	if d.tls == nil {
		return conn, d.note(ctx, &DialError{Address: address})
	}
	secure, err := d.handshake(ctx, conn, address)
	return secure, d.note(ctx, &DialError{Address: address, TLS: true, Err: err})
}

func (d *dialer) handshake(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	cfg := d.tls.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(address)
	}
	ctx, cancel := context.WithTimeout(ctx, d.tcp.Timeout)
	defer cancel()
	secure := tls.Client(conn, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// note records how a dial ended and returns its error, if any. A dial that
// the caller gave up is no news about the address.
func (d *dialer) note(ctx context.Context, e *DialError) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.failures[e.Address]
	switch {
	case e.Err == nil && known:
		delete(d.failures, e.Address)
		d.tell("connected to %s again", e.Address)
	case e.Err != nil && ctx.Err() == nil:
		d.failures[e.Address] = e
		if !known {
			d.tell("cannot connect to %s: %s; trying again", e.Address, reason(e.Err))
		}
	}
	if e.Err == nil {
		return nil
	}
	return e
}

func (d *dialer) tell(format string, args ...any) {
	if d.announce != nil {
		fmt.Fprintf(d.announce, "skein: "+format+"\n", args...)
	}
}

// lastFailure returns a recorded failure, that of a bootstrap address rather
// than another's.
func (d *dialer) lastFailure(bootstrap []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, address := range bootstrap {
		if err := d.failures[address]; err != nil {
			return err
		}
	}
	for _, err := range d.failures {
		return err
	}
	return nil
}

// DialError is a connection that could not be opened.
type DialError struct {
	Address string // host:port
	TLS     bool   // the TCP connection stood, the TLS handshake failed
	Err     error
}

func (e *DialError) Error() string {
	act := "connecting to "
	if e.TLS {
		act = "TLS handshake with "
	}
	return act + e.Address + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *DialError) Unwrap() error { return e.Err }
