// Command member is a member of a consumer group by one of the Go clients, as
// interop/internal/member describes it. Its first argument names the library.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/skeinstream/skein/interop/clients/go/program"
)

// commitEvery is how long handled records may wait for their commit.
const commitEvery = 200 * time.Millisecond

type arguments struct {
	bootstrap, group, topic, client string
	assignors                       []string
	instance                        string // empty: a dynamic member
	session, heartbeat              time.Duration
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		say("failed %v", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 9 {
		return fmt.Errorf("%d arguments, want 9", len(args))
	}
	a := arguments{bootstrap: args[1], group: args[2], topic: args[3], client: args[4], assignors: strings.Split(args[5], ",")}
	if args[6] != "-" {
		a.instance = args[6]
	}
	if err := program.Milliseconds(args[7:], &a.session, &a.heartbeat); err != nil {
		return err
	}
	ctx, leave := program.UntilInputEnds()
	defer leave()
	switch args[0] {
	case "franz-go":
		return franz(ctx, a)
	case "sarama":
		return saramaMember(ctx, a)
	case "kafka-go":
		return segment(ctx, a)
	case "skein":
		return skein(ctx, a)
	}
	return fmt.Errorf("no library %q", args[0])
}

var voice = program.WallClock()

func say(format string, args ...any) { voice.Say(format, args...) }

func sayPartitions(kind string, partitions []int32) {
	if len(partitions) == 0 {
		return
	}
	say("%s %s", kind, program.Partitions(partitions))
}
