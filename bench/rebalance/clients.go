package main

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"strconv"
	"time"

	interop "github.com/skeinstream/skein/interop/assign"
)

// memberVerb is the first argument that makes this program a member.
const memberVerb = "member"

// client is a library in one configuration.
type client struct {
	name      string
	assignors string // that its members offer
	// bounces are the lists that members offer one after the other, a rolling
	// bounce each, to come from the first one to a cooperative protocol without
	// stopping, as the client's documents say; nil when it cannot.
	bounces []string
	kip848  bool // the broker must know the protocol of KIP-848
	command func(ctx context.Context, args ...string) (*exec.Cmd, error)
}

// bothBounces are those that KIP-429 asks for: members that offer both
// assignors go on with the old one until nobody offers it.
func bothBounces() []string {
	return []string{"range", "cooperative-sticky,range", "cooperative-sticky"}
}

// clients are all of them, in the order of the table.
func clients() []client {
	return []client{
		{name: ours, assignors: "default", bounces: []string{"range", "default"}, command: goMember("skein")},
		{name: "franz-go", assignors: "cooperative-sticky", bounces: bothBounces(), command: goMember("franz-go")},
		{name: "Sarama", assignors: "cooperative-sticky", bounces: bothBounces(), command: goMember("sarama")},
		{name: "Java, cooperative-sticky", assignors: "cooperative-sticky", bounces: bothBounces(), command: javaMember},
		{name: "Java, range", assignors: "range", command: javaMember},
		{name: "Java, KIP-848", assignors: "consumer", bounces: []string{"range", "consumer"}, kip848: true, command: javaMember},
	}
}

// goMember is a member by a Go client: this program once more.
func goMember(library string) func(context.Context, ...string) (*exec.Cmd, error) {
	return func(_ context.Context, args ...string) (*exec.Cmd, error) {
		self, err := os.Executable()
		return exec.Command(self, append([]string{memberVerb, library}, args...)...), err
	}
}

//go:embed peers/Member.java
var javaSource []byte

// javaFlags make many small Java machines start fast side by side.
var javaFlags = []string{"-Xmx96m", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Dlog4j2.level=ERROR"}

func javaMember(ctx context.Context, args ...string) (*exec.Cmd, error) {
	classPath, err := interop.Compile(ctx, "Member", javaSource)
	if err != nil {
		return nil, err
	}
	return exec.Command("java", append(append(append([]string{}, javaFlags...), "-cp", classPath, "Member"), args...)...), nil
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
