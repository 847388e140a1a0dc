package client

import (
	"context"
	"crypto/tls"
	"net"
)

// DialFunc opens a connection to address, which is host:port, as net.Dialer.DialContext does.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dialer opens connections as c says: Config.Dial, or the network without it, and then the TLS handshake where c has TLS, all within
// DialTimeout. What it fails with is a *DialError.
func (c Config) Dialer() DialFunc {
	dial := c.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	timeout := c.dialTimeout()
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, &DialError{Address: address, Err: err}
		}
		if c.TLS == nil {
			return conn, nil
		}
		secure := tls.Client(conn, namedFor(c.TLS, address))
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, &DialError{Address: address, TLS: true, Err: err}
		}
		return secure, nil
	}
}

// namedFor is a configuration that expects the certificate of the host that is dialled, unless it expects another.
func namedFor(cfg *tls.Config, address string) *tls.Config {
	if cfg.ServerName != "" {
		return cfg
	}
	cfg = cfg.Clone()
	cfg.ServerName, _, _ = net.SplitHostPort(address)
	return cfg
}

// DialError is a connection that could not be opened.
type DialError struct {
	Address string // host:port
	TLS     bool   // the connection stood, the TLS handshake failed
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
