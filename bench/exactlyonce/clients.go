package main

import (
	"context"
	_ "embed"
	"os"
	"os/exec"

	"github.com/skeinstream/skein/bench/exactlyonce/worker"
	"github.com/skeinstream/skein/interop/kafka"
)

// workVerb is the first argument that makes this program a worker.
const workVerb = "work"

// client is a library in one mode.
type client struct {
	name    string
	mode    string // of package worker
	without string // the name of the same library's client that copies at least once; empty: it is one, or there is none
	ours    bool
	command func(ctx context.Context, args ...string) (*exec.Cmd, error)
}

// Names of our clients, which have bars to meet.
const (
	ours          = "Skein, exactly once"
	oursPlain     = "Skein, at least once"
	oursPartition = "Skein, a producer a partition"
)

// perPartitionPeer is the way before KIP-447 by franz-go.
const perPartitionPeer = "franz-go, a producer a partition"

// copiers are who copies alone, in the order of the table.
func copiers() []client {
	pairs := func(exactly, plain string, isOurs bool, command func(context.Context, ...string) (*exec.Cmd, error)) []client {
		return []client{
			{name: exactly, mode: worker.ExactlyOnce, without: plain, ours: isOurs, command: command},
			{name: plain, mode: worker.AtLeastOnce, ours: isOurs, command: command},
		}
	}
	all := pairs(ours, oursPlain, true, goWorker("skein"))
	all = append(all, pairs(franzSession().name, franzSession().without, false, goWorker("franz-go"))...)
	all = append(all, pairs("Java, consume-transform-produce", "Java, at least once", false, javaWorker)...)
	return append(all, pairs("Kafka Streams, exactly_once_v2", "Kafka Streams, at_least_once", false, streamsWorker)...)
}

// fleetClients are who is counted in fleets.
func fleetClients() []client {
	return []client{
		{name: ours, mode: worker.ExactlyOnce, ours: true, command: goWorker("skein")},
		franzSession(),
		{name: oursPartition, mode: worker.PerPartition, ours: true, command: goWorker("skein")},
		{name: perPartitionPeer, mode: worker.PerPartition, command: goWorker("franz-go")},
	}
}

// franzSession is franz-go's way to do it.
func franzSession() client {
	return client{name: "franz-go, GroupTransactSession", mode: worker.ExactlyOnce, without: "franz-go, at least once", command: goWorker("franz-go")}
}

// goWorker is a worker by a Go client: this program once more.
func goWorker(library string) func(context.Context, ...string) (*exec.Cmd, error) {
	return func(_ context.Context, args ...string) (*exec.Cmd, error) {
		self, err := os.Executable()
		return exec.Command(self, append([]string{workVerb, library}, args...)...), err
	}
}

var (
	//go:embed peers/Copy.java
	copyJava []byte
	//go:embed peers/CopyStreams.java
	copyStreamsJava []byte
)

func javaWorker(ctx context.Context, args ...string) (*exec.Cmd, error) {
	tools, err := kafka.Install(ctx, kafka.V4)
	if err != nil {
		return nil, err
	}
	return java(ctx, tools, "Copy", copyJava, args)
}

func streamsWorker(ctx context.Context, args ...string) (*exec.Cmd, error) {
	tools, err := kafka.InstallStreams(ctx, kafka.V4)
	if err != nil {
		return nil, err
	}
	return java(ctx, tools, "CopyStreams", copyStreamsJava, args)
}

// java runs a worker on a Java machine as it comes, with room enough.
func java(ctx context.Context, tools kafka.Tools, class string, source []byte, args []string) (*exec.Cmd, error) {
	classPath, err := tools.Compile(ctx, class, source)
	if err != nil {
		return nil, err
	}
	flags := []string{"-Xmx512m", "-Dlog4j2.level=ERROR", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", classPath, class}
	return exec.Command("java", append(flags, args...)...), nil
}
