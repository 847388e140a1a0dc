package member

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/skeinstream/skein/interop/internal/peer"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/proc"
)

// Client is a library in one version, as a program that is a member of a group.
type Client struct {
	Name      string
	Assignors []string
	Static    bool   // it knows static members
	Lacks     string // of what this test asks
	Command   func(ctx context.Context, args ...string) (*exec.Cmd, error)
	json      bool // it is the skein command, which says JSON and ends by SIGTERM
}

var (
	classic     = []string{"range", "roundrobin"}
	eager       = []string{"range", "sticky"}
	cooperative = []string{"range", "sticky", "cooperative-sticky"}
	all         = []string{"range", "roundrobin", "sticky", "cooperative-sticky"}
)

// All is every client; goMember is the built program of the Go ones, skein the built
// command.
func All(goMember, skein string) []Client {
	return []Client{
		javaClient("2.3.1", eager, "cooperative-sticky: it is older than KIP-429"),
		Java("2.4.1"),
		Java("2.8.2"),
		Java("3.9.1"),
		Java("4.4.0"),
		pythonClient("confluent-kafka 2.16.1", "group_confluent.py", []string{"range", "roundrobin", "cooperative-sticky"}, true, "sticky"),
		goClient(goMember, "franz-go 1.22.3", all, true, ""),
		goClient(goMember, "sarama 1.61.1", all, true, ""),
		goClient(goMember, "kafka-go 0.4.51", classic, false, "sticky, cooperative-sticky, static members"),
		nodeClient("kafkajs 2.2.4", "group_kafkajs.js", false, "range, sticky, cooperative-sticky, static members"),
		nodeClient("@platformatic/kafka 1.35.0", "group_platformatic.js", false, "range, sticky, cooperative-sticky, static members that stay when they stop"),
		pythonClient("kafka-python 3.0.12", "group_kafkapython.py", all, true, ""),
		pythonClient("aiokafka 0.14.0", "group_aio.py", []string{"range", "roundrobin", "sticky"}, true, "cooperative-sticky"),
		goClient(goMember, "skein consumer", []string{"default", "range", "roundrobin", "sticky"}, true, ""),
		skeinCommand(skein),
	}
}

// javaFlags make many small machines start fast side by side.
var javaFlags = []string{"-Xmx96m", "-XX:TieredStopAtLevel=1", "-Xshare:auto"}

// Java is a client since KIP-429.
func Java(version string) Client { return javaClient(version, cooperative, "") }

func javaClient(version string, assignors []string, lacks string) Client {
	return Client{Name: "java " + version, Assignors: assignors, Static: true, Lacks: lacks, Command: func(ctx context.Context, args ...string) (*exec.Cmd, error) {
		return peer.Java(ctx, version, "GroupMember", javaFlags, args...)
	}}
}

func pythonClient(name, program string, assignors []string, static bool, lacks string) Client {
	return Client{Name: name, Assignors: assignors, Static: static, Lacks: lacks, Command: func(ctx context.Context, args ...string) (*exec.Cmd, error) {
		return peer.Python(ctx, program, args...)
	}}
}

func nodeClient(name, program string, static bool, lacks string) Client {
	return Client{Name: name, Assignors: []string{"roundrobin"}, Static: static, Lacks: lacks, Command: func(ctx context.Context, args ...string) (*exec.Cmd, error) {
		return peer.Node(ctx, program, args...)
	}}
}

func goClient(program, name string, assignors []string, static bool, lacks string) Client {
	library, _, _ := strings.Cut(name, " ")
	return Client{Name: name, Assignors: assignors, Static: static, Lacks: lacks, Command: func(_ context.Context, args ...string) (*exec.Cmd, error) {
		return exec.Command(program, append([]string{library}, args...)...), nil
	}}
}

// BuildGo builds the program of the Go clients into dir.
func BuildGo(ctx context.Context, dir string) (string, error) {
	source, err := root.Interop()
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "member")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", name, "./clients/go/member")
	cmd.Dir = source
	_, err = proc.Output(cmd)
	return name, err
}

// Named is the client whose name begins so.
func Named(clients []Client, prefix string) (Client, error) {
	for _, c := range clients {
		if strings.HasPrefix(c.Name, prefix) {
			return c, nil
		}
	}
	return Client{}, fmt.Errorf("%w: no client %s", errors.ErrUnsupported, prefix)
}
