package peers

import (
	"context"
	"errors"
	"fmt"

	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/interop/kafka"
)

// shippedJVM are the flags that Kafka's own start script gives the Java
// machine.
func shippedJVM() []string {
	return []string{
		"-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
		"-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
		"-XX:MaxInlineLevel=15", "-Djava.awt.headless=true",
	}
}

// kafka starts Apache Kafka; formatting the directory is not part of its start.
func (l Launcher) kafka(ctx context.Context, dir string, settings map[string]string) (*Broker, error) {
	k, err := kafka.Launch(ctx, kafka.Options{Dir: dir, JVM: shippedJVM(), Settings: settings})
	if errors.Is(err, kafka.ErrUnavailable) {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return nil, err
	}
	return &Broker{
		Addr:    k.Addr,
		Began:   k.Began,
		Process: machine.Process(k.Pid()),
		stop:    k.Stop,
		tail:    k.Tail,
	}, nil
}
