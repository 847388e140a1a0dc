// Package peers starts the brokers that are compared, each as a process of its
// own, so that its processor time and memory can be told from the client's.
package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/bench/internal/result"
	"github.com/skeinstream/skein/interop/proc"
)

// stopPatience is how long a broker may take to end.
const stopPatience = 30 * time.Second

// Broker is a broker whose process has been started; it may not serve yet.
type Broker struct {
	Addr     string
	Began    time.Time // just before the process was started
	Process  machine.Process
	Profiles string // base URL of Go's profiles; empty when there are none

	stop  func() error
	tail  func() string
	count func(context.Context) (Requests, error) // nil: it does not
}

// Stop ends the process and waits for its end.
func (b *Broker) Stop() error { return b.stop() }

// Said is the end of what the broker has printed.
func (b *Broker) Said() string { return b.tail() }

// Launcher knows how to start each peer.
type Launcher struct {
	Skein    string // path of the skein command
	Self     string // path of this program, which is kfake when called with KfakeVerb
	Profiles bool   // ask Skein for profiles
	Counts   bool   // have Skein or Kafka count requests: see Broker.Requests

	Settings map[string]string // of the broker, where it is not to be as it comes; kfake has none
}

// ErrUnavailable says that a peer cannot be had on this machine.
var ErrUnavailable = errors.New("not available on this machine")

// Launch starts the peer with fresh data in dir, which exists and is empty.
// Whoever launches a broker stops it.
func (l Launcher) Launch(ctx context.Context, p result.Peer, dir string) (*Broker, error) {
	switch p {
	case result.Skein:
		return l.skein(dir)
	case result.SkeinOS:
		return l.skein(dir, "--set", "skein.durability=os")
	case result.Kafka:
		return l.kafka(ctx, dir, nil)
	case result.KafkaSync:
		return l.kafka(ctx, dir, map[string]string{"log.flush.interval.messages": "1"})
	case result.Kfake:
		return l.kfake(dir, "")
	case result.KfakeSync:
		return l.kfake(dir, filepath.Join(dir, "data"))
	}
	return nil, fmt.Errorf("no peer is called %q", p)
}

// loopback is a free address.
func loopback() (string, error) {
	port, err := proc.FreePort()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil
}

// launched wraps a child process that has just been started.
func launched(addr string, began time.Time, p *proc.Process) *Broker {
	return &Broker{
		Addr:    addr,
		Began:   began,
		Process: machine.Process(p.Pid()),
		stop:    func() error { return p.Stop(stopPatience) },
		tail:    p.Tail,
	}
}

// logName is the file in dir that takes a broker's output.
func logName(dir string) string { return filepath.Join(dir, "broker.log") }

// Dir makes the fresh directory of one start, and returns what removes it.
func Dir(base string, p result.Peer) (dir string, remove func() error, err error) {
	dir, err = os.MkdirTemp(base, "skein-bench-"+string(p)+"-")
	if err != nil {
		return "", nil, fmt.Errorf("making the broker's directory: %w", err)
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}
