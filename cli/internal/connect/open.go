package connect

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/client"
)

// Client is a Kafka client that has reached its cluster once.
type Client struct {
	*kgo.Client
	opts   Options
	config client.Config
	dial   *dialer
}

// Open connects with the first bootstrap broker that answers. When none does
// within the timeout, the error says why and what to do; nothing is retried
// behind the user's back. Notices and franz-go's own log go to stderr.
func Open(ctx context.Context, o Options, stderr io.Writer, more ...kgo.Opt) (*Client, error) {
	d, cfg, err := o.config(stderr)
	if err != nil {
		return nil, err
	}
	warn(o, stderr)
	base := append(cfg.KgoOptions(), kgo.RetryTimeout(o.Timeout))
	cl, err := kgo.NewClient(append(base, more...)...)
	if err != nil {
		return nil, fmt.Errorf("setting up the Kafka client: %w", err)
	}
	c := &Client{Client: cl, opts: o, config: cfg, dial: d}
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

// Config is how the cluster is reached, for another client of the same command: what fails to connect is told in Explain, too. For how long
// it tries is its own affair.
func (c *Client) Config() client.Config { return c.config }

// config is what the connection block stands for.
func (o Options) config(stderr io.Writer) (*dialer, client.Config, error) {
	encryption, err := o.TLS.config()
	if err != nil {
		return nil, client.Config{}, err
	}
	mechanism, err := o.SASL.mechanism()
	if err != nil {
		return nil, client.Config{}, err
	}
	cfg := client.Config{Brokers: o.Bootstrap, ClientID: o.ClientID, TLS: encryption, SASL: mechanism, DialTimeout: o.Timeout}
	d := &dialer{open: cfg.Dialer(), failures: map[string]error{}}
	cfg.Options = []kgo.Opt{
		kgo.SoftwareNameAndVersion("skein-cli", "1"),
		kgo.Dialer(d.Dial),
		kgo.RequestTimeoutOverhead(max(o.Timeout, time.Second)),
		kgo.DisableClientMetrics(),
	}
	if level, _ := logLevel(o.LogLevel); level != kgo.LogLevelNone {
		cfg.Options = append(cfg.Options, kgo.WithLogger(kgo.BasicLogger(stderr, level, nil)))
	}
	return d, cfg, nil
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
	open client.DialFunc

	mu       sync.Mutex
	failures map[string]error // by address; removed when a dial succeeds
	announce io.Writer        // where outages are told, once asked for
}

// Dial opens one connection. It fails with a *client.DialError.
func (d *dialer) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.open(ctx, network, address)
	d.note(ctx, address, err)
	return conn, err
}

// note records how a dial ended. A dial that the caller gave up is no news about the address.
func (d *dialer) note(ctx context.Context, address string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.failures[address]
	switch {
	case err == nil && known:
		delete(d.failures, address)
		d.tell("connected to %s again", address)
	case err != nil && ctx.Err() == nil:
		d.failures[address] = err
		if !known {
			d.tell("cannot connect to %s: %s; trying again", address, reason(err))
		}
	}
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
