// Package member holds the programs that are measured: members of a consumer
// group by each of the Go clients, as their documents teach it.
//
// A member says on standard output what happens to it, one line a moment: a
// stamp in nanoseconds of the machine's monotonic clock, then "assigned",
// "revoked" or "lost" with partitions, or "handled" with a partition and the
// first and the last offset. It commits once a second what is handled, and what
// is revoked before it lets go of it. When its standard input ends it leaves.
package member

import (
	"fmt"
	"strings"
	"time"

	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/interop/clients/go/program"
)

// commitEvery is how long handled records may wait for their commit.
const commitEvery = time.Second

// pollEvery is how long a poll may take without records.
const pollEvery = 100 * time.Millisecond

// arguments are the same for all clients, those of other languages too.
type arguments struct {
	bootstrap, group, topic, name string
	assignors                     []string // names by Kafka; "default" is what the client does without any
	session, heartbeat            time.Duration
}

// Run is one member until standard input ends; the first argument names the
// client.
func Run(args []string) error {
	if len(args) != 8 {
		return fmt.Errorf("%d arguments, want 8", len(args))
	}
	a := arguments{bootstrap: args[1], group: args[2], topic: args[3], name: args[4], assignors: strings.Split(args[5], ",")}
	if err := program.Milliseconds(args[6:], &a.session, &a.heartbeat); err != nil {
		return err
	}
	ctx, leave := program.UntilInputEnds()
	defer leave()
	switch args[0] {
	case "skein":
		return skein(ctx, a)
	case "franz-go":
		return franz(ctx, a)
	case "sarama":
		return sarama(ctx, a)
	}
	return fmt.Errorf("no client is called %q", args[0])
}

var voice = &program.Voice{Stamp: func() int64 { return machine.Monotonic().Nanoseconds() }}

func say(format string, args ...any) { voice.Say(format, args...) }

func sayPartitions(kind string, partitions []int32) {
	if len(partitions) == 0 {
		return
	}
	say("%s %s", kind, program.Partitions(partitions))
}

func sayHandled(partition int32, first, last int64) { say("handled %d %d %d", partition, first, last) }
