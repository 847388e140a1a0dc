package server

import (
	"errors"
	"log/slog"
	"time"
)

// Config holds the limits of a server. The zero value runs.
type Config struct {
	// MaxRequestBytes is the largest frame taken, in bytes without its size field (socket.request.max.bytes).
	// Default 104857600.
	MaxRequestBytes int64
	// Connections bounds how many connections are served. It can be changed later, with Server.LimitConnections.
	Connections ConnectionLimits
	// IdleTimeout closes a connection that has nothing in flight and asks nothing (connections.max.idle.ms). Default 10
	// minutes.
	IdleTimeout time.Duration
	// WriteTimeout closes a connection whose peer takes nothing of its responses. It is as patient as IdleTimeout by
	// default: a consumer that works on its records reads no socket meanwhile.
	WriteTimeout time.Duration
	// RequestMemory bounds the bytes of all requests that are being read or answered, in bytes (queued.max.request.bytes).
	// When they are used up, connections are not read until some are free: the peers feel back-pressure. One request
	// more than fits is let through at any time, so that one larger than the bound passes. Default 64 MiB.
	RequestMemory int64
	// ResponseMemory is how many bytes of responses may wait for their peers, over all connections. When there are more,
	// peers that have read nothing for longer than Patience lose their connections. Default: as RequestMemory.
	ResponseMemory int64
	// Patience is how long memory may be short before those connections are closed that hold some of it and do not move:
	// that do not send the rest of their request, or read nothing of their responses. Default 5 seconds: a client may
	// stall for a moment without ill will.
	Patience time.Duration

	Logger *slog.Logger // default: nothing is logged
	Events Events
}

// ConnectionLimits bound how many connections are served at a time. In each, 0 is no limit and less lets nobody in.
type ConnectionLimits struct {
	// Max is for all connections: at the limit no more are accepted until one ends (max.connections).
	Max int
	// MaxPerIP is for those from one address; more are closed at once (max.connections.per.ip).
	MaxPerIP int
	// PerIPOverrides holds addresses with a limit of their own (max.connections.per.ip.overrides); there 0 refuses the address.
	PerIPOverrides map[string]int
}

// Defaults of Config.
const (
	DefaultMaxRequestBytes = 104857600
	DefaultIdleTimeout     = 10 * time.Minute
	DefaultRequestMemory   = 64 << 20
	DefaultPatience        = 5 * time.Second
)

// never is longer than any server runs, and short enough to be reckoned with.
const never = 100 * 365 * 24 * time.Hour

func (c Config) withDefaults() Config {
	setDefault(&c.MaxRequestBytes, DefaultMaxRequestBytes)
	setDefault(&c.IdleTimeout, DefaultIdleTimeout)
	setDefault(&c.WriteTimeout, c.IdleTimeout)
	c.IdleTimeout, c.WriteTimeout = min(c.IdleTimeout, never), min(c.WriteTimeout, never)
	setDefault(&c.RequestMemory, DefaultRequestMemory)
	setDefault(&c.ResponseMemory, c.RequestMemory)
	setDefault(&c.Patience, DefaultPatience)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func setDefault[T comparable](v *T, def T) {
	if *v == *new(T) {
		*v = def
	}
}

// ListenerInfo describes a listener to its connections. Host and Port are what clients are told to connect to, and may
// differ from what the listener is bound to in any way.
type ListenerInfo struct {
	Name string
	Host string
	Port int32
}

// Sentinels for the causes that a connection's context ends with.
var (
	ErrShutdown   = errors.New("the server is shutting down")
	ErrConnection = errors.New("the connection is closed")
)
