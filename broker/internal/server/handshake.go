package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// handshakeTimeout bounds the TLS handshake, which costs the peer nothing to leave half done.
const handshakeTimeout = 30 * time.Second

// handshake runs the TLS handshake of connections that have one, before the idle timeout begins.
func (c *Conn) handshake() error {
	h, ok := c.net.(interface {
		HandshakeContext(context.Context) error
	})
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, handshakeTimeout)
	defer cancel()
	err := h.HandshakeContext(ctx)
	switch {
	case err == nil:
		c.lastRead = time.Now()
		return nil
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	case errors.Is(err, io.EOF):
		return err // a port check
	}
	return &ending{ClosedInvalid, fmt.Errorf("TLS handshake: %w", err)}
}
