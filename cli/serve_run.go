package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/cli/internal/problem"
)

// stopPatience is how long a stop waits for what is in flight. What is left
// then is closed; nothing that was acknowledged is lost.
const stopPatience = 30 * time.Second

// heapFloor is memory that nobody touches, in bytes, so that the system never gives it to us. The garbage collector takes it
// for a live heap and waits until as much again is garbage. A broker has little that lives and makes little garbage a request,
// but many requests: without it up to a tenth of its time goes into collecting a heap of a few MB dozens of times a second.
const heapFloor = 32 << 20

// serve runs the broker until ctx ends, or until it fails.
func (a *app) serve(ctx context.Context, plan servePlan) error {
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	log := plan.logger(a.env)
	pages, err := plan.listenHTTP(ctx, log)
	if err != nil {
		return err
	}
	b, err := broker.Open(ctx, broker.Config{Dir: plan.data, Settings: plan.settings, Logger: log, Profiles: plan.pprof})
	if err != nil {
		return errors.Join(openProblem(ctx, err), closeListener(pages))
	}
	listeners, err := b.Listen(ctx)
	if err != nil {
		return errors.Join(listenProblem(err), closeListener(pages), stopBroker(ctx, b))
	}
	s := startServing(b, listeners, pages)
	err = a.announce(listeners, pages, plan)
	if err == nil {
		err = s.untilEnd(ctx)
	}
	return errors.Join(err, stopBroker(ctx, b), s.rest())
}

// listenHTTP binds the HTTP address; nil when there is none. The default one
// may be taken by somebody else: the broker is worth more than its pages.
func (p servePlan) listenHTTP(ctx context.Context, log *slog.Logger) (net.Listener, error) {
	if p.http == "" {
		return nil, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", p.http)
	switch {
	case err == nil:
		return l, nil
	case p.httpGiven:
		return nil, problem.New("choose another address with --http, or --http '' for none", "listening for HTTP on %s: %w", p.http, err)
	}
	log.Warn("the default HTTP address is taken: no metrics and health pages; --http HOST:PORT names another", "address", p.http, "error", err)
	return nil, nil
}

func openProblem(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil: // interrupted while opening
		return nil
	case errors.Is(err, broker.ErrInUse):
		return &problem.Error{What: err.Error(), Hint: "--data DIR names the directory of this one", Err: err}
	case errors.Is(err, syscall.EACCES):
		return &problem.Error{What: err.Error(), Hint: "choose a directory that may be written with --data", Err: err}
	}
	return err
}

func listenProblem(err error) error {
	hint := "choose another address with --listen"
	if errors.Is(err, syscall.EADDRINUSE) {
		hint = "is another broker running? Stop it, or choose another address with --listen"
	}
	return &problem.Error{What: err.Error(), Hint: hint, Err: err}
}

func closeListener(l net.Listener) error {
	if l == nil {
		return nil
	}
	return l.Close()
}

// stopBroker shuts down in good order although ctx may have ended.
func stopBroker(ctx context.Context, b *broker.Broker) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	if err := b.Shutdown(within); err != nil {
		return fmt.Errorf("stopping the broker: %w", err)
	}
	return nil
}

// serving is the goroutines that serve, one a listener.
type serving struct {
	running int
	ended   chan error
}

func startServing(b *broker.Broker, listeners []*broker.Listener, pages net.Listener) *serving {
	s := &serving{ended: make(chan error)}
	for _, l := range listeners {
		s.start(func() error { return b.Serve(l) })
	}
	if pages != nil {
		s.start(func() error { return b.ServeMonitor(pages) })
	}
	return s
}

func (s *serving) start(serve func() error) {
	s.running++
	go func() { s.ended <- serve() }()
}

// untilEnd waits for the end of ctx, which is no error, or of a listener.
func (s *serving) untilEnd(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.ended:
		s.running--
		return err
	}
}

// rest waits for the goroutines that still run.
func (s *serving) rest() (err error) {
	for ; s.running > 0; s.running-- {
		err = errors.Join(err, <-s.ended)
	}
	return err
}

// announcement is the line that says that the broker is ready.
type announcement struct {
	Ready     bool             `json:"ready"`
	Listeners []announcedPlace `json:"listeners"`
	HTTP      string           `json:"http,omitempty"`
	Data      string           `json:"data"`
}

type announcedPlace struct {
	Name       string `json:"name"`
	Address    string `json:"address"`
	Advertised string `json:"advertised,omitempty"` // when it is another
}

func (a *app) announce(listeners []*broker.Listener, pages net.Listener, plan servePlan) error {
	line := announcement{Ready: true, Data: plan.data}
	for _, l := range listeners {
		line.Listeners = append(line.Listeners, placeOf(l))
	}
	if pages != nil {
		line.HTTP = pages.Addr().String()
	}
	if a.json {
		return a.encodeLine(a.env.Stdout, line)
	}
	_, err := io.WriteString(a.env.Stdout, line.text())
	return err
}

func placeOf(l *broker.Listener) announcedPlace {
	p := announcedPlace{Name: l.Name, Address: l.Addr().String()}
	if advertised := net.JoinHostPort(l.Host, fmt.Sprint(l.Port)); l.Host != "" && advertised != p.Address {
		p.Advertised = advertised
	}
	return p
}

func (n announcement) text() string {
	var places []string
	for _, p := range n.Listeners {
		place := p.Name + "://" + p.Address
		if p.Advertised != "" {
			place += " (advertised as " + p.Advertised + ")"
		}
		places = append(places, place)
	}
	text := "skein is ready: " + strings.Join(places, ", ") + ", data in " + n.Data
	if n.HTTP != "" {
		text += ", http://" + n.HTTP
	}
	return text + "\n"
}
