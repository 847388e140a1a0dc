// Command worker consumes, transforms and produces exactly once by one of the Go
// clients, as interop/exactlyonce describes it. Its first argument names the
// library.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/skeinstream/skein/interop/clients/go/program"
)

const (
	batchSize  = 20
	abortEvery = 6
	pause      = 20 * time.Millisecond
	byGroup    = "group"
)

type arguments struct {
	bootstrap, group, input, name string
	instance                      string // empty: a dynamic member
	session, heartbeat            time.Duration
	output                        string
	partitions                    int
	transactionalID               string
	timeout                       time.Duration
	byGroup                       bool // the group's metadata fence
}

// dial opens all connections to the one broker by the address that it is told,
// whatever the broker says of itself: a network that is cut there is cut altogether.
func (a arguments) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, a.bootstrap)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		say("failed %v", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 14 {
		return fmt.Errorf("%d arguments, want 14", len(args))
	}
	a := arguments{bootstrap: args[1], group: args[2], input: args[3], name: args[4], output: args[9], transactionalID: args[11], byGroup: args[13] == byGroup}
	if args[6] != "-" {
		a.instance = args[6]
	}
	var err error
	if a.partitions, err = strconv.Atoi(args[10]); err != nil {
		return err
	}
	if err := errors.Join(program.Milliseconds(args[7:], &a.session, &a.heartbeat), program.Milliseconds(args[12:], &a.timeout)); err != nil {
		return err
	}
	ctx, leave := program.UntilInputEnds()
	defer leave()
	switch args[0] {
	case "franz-go":
		return franz(ctx, a)
	case "franz-go-39":
		return franz(ctx, a, asBefore890)
	case "sarama":
		return saramaWorker(ctx, a)
	case "skein":
		return skein(ctx, a, 1)
	case "skein-parallel":
		return skein(ctx, a, a.partitions)
	}
	return fmt.Errorf("no library %q", args[0])
}

// transformed is the output of an input, and the partition that it belongs to.
func (a arguments) transformed(value []byte, attempt, size int) (partition int32, text string, err error) {
	var from, number int
	if n, err := fmt.Sscanf(string(value), "%d %d", &from, &number); n != 2 || err != nil {
		return 0, "", fmt.Errorf("an input is %q", value)
	}
	return int32((from + number) % a.partitions), fmt.Sprintf("%s %s %d %d", value, a.name, attempt, size), nil
}

var voice = program.WallClock()

func say(format string, args ...any) { voice.Say(format, args...) }

// giveUp ends the process: another is started.
func giveUp(why error) {
	say("gaveup %v", why)
	os.Exit(0)
}
