package stage

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/client"
)

// Main plays an example as a program, and ends it.
func (p Play) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := p.main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type options struct {
	bootstrap, worker, dir string
	kills                  int
	verbose                bool
}

func (p Play) main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.bootstrap, "bootstrap", "", "`host:port` of a cluster to play on, in topics of its own; none is a broker in this process")
	flags.IntVar(&o.kills, "kills", 3, "how many times a worker is killed with kill -9 on the way")
	flags.BoolVar(&o.verbose, "v", false, "show what workers log")
	flags.StringVar(&o.worker, "worker", "", "be the worker of this name, until standard input ends")
	flags.StringVar(&o.dir, "dir", "", "`directory` for files that the programs share; none is a new one, which is removed")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	do := p.show
	if o.worker != "" {
		do = p.work
	}
	switch err := do(ctx, o, stdout, stderr); {
	case errors.Is(err, ErrInterrupted):
		fmt.Fprintln(stdout, err)
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n", cmp.Or(o.worker, p.Name), err)
		return 1
	}
	return 0
}

// work is the life of a worker's process.
func (p Play) work(ctx context.Context, o options, _, stderr io.Writer) error {
	ctx, cancel := leashed(ctx)
	defer cancel()
	at := Place{Dir: o.dir, Cluster: client.Config{Brokers: []string{o.bootstrap}, ClientID: o.worker}}
	if o.verbose {
		at.Cluster.Logger = slog.New(slog.NewTextHandler(stderr, nil)).With("worker", o.worker)
	}
	return p.Work(ctx, at, o.worker)
}

// show plays it with workers in processes of their own.
func (p Play) show(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	began := time.Now()
	say := func(line string) { fmt.Fprintf(stdout, "%5.1fs  %s\n", time.Since(began).Seconds(), line) }
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "skein-"+p.Name+"-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	if o.bootstrap == "" {
		address, shutdown, err := house(ctx)
		if err != nil {
			return err
		}
		defer shutdown()
		o.bootstrap = address
	}
	say(p.About)
	say(fmt.Sprintf("%d workers at %s, which `go run ./cmd/skein --bootstrap %s` can look at meanwhile", p.Workers, o.bootstrap, o.bootstrap))
	at := Place{Dir: o.dir, Cluster: client.Config{Brokers: []string{o.bootstrap}}}
	crew := &processes{self: self, args: o.forWorkers(), errors: stderr, running: map[string]*process{}, failed: make(chan error, 1)}
	verdict, err := p.Perform(ctx, at, crew, o.kills, say)
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	if err == nil {
		say(verdict)
	}
	return err
}

func (o options) forWorkers() []string {
	args := []string{"-bootstrap", o.bootstrap, "-dir", o.dir}
	if o.verbose {
		args = append(args, "-v")
	}
	return args
}

// house is a broker in this process that others reach, too.
func house(ctx context.Context) (address string, shutdown func(), err error) {
	b, err := broker.Open(ctx, broker.Config{Settings: map[string]string{"group.initial.rebalance.delay.ms": "0"}})
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, errors.Join(err, b.Shutdown(ctx))
	}
	served := make(chan error, 1)
	go func() { served <- b.Serve(l) }()
	return l.Addr().String(), func() {
		_ = b.Shutdown(context.Background()) // in memory: nothing is left to lose
		<-served
	}, nil
}
