// Command member is a member of a consumer group by one of the Go clients, as
// interop/internal/member describes it. Its first argument names the library.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
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
	for i, d := range []*time.Duration{&a.session, &a.heartbeat} {
		ms, err := strconv.Atoi(args[7+i])
		if err != nil {
			return err
		}
		*d = time.Duration(ms) * time.Millisecond
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
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

var output sync.Mutex

func say(format string, args ...any) {
	output.Lock()
	defer output.Unlock()
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	fmt.Printf("%d %s\n", time.Now().UnixMicro(), text)
}

func sayPartitions(kind string, partitions []int32) {
	if len(partitions) == 0 {
		return
	}
	words := make([]string, len(partitions))
	for i, p := range partitions {
		words[i] = strconv.Itoa(int(p))
	}
	say("%s %s", kind, strings.Join(words, ","))
}
