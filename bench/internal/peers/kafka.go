package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"

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

// shippedSettings are Kafka's own defaults where the launcher has others, which
// suit tests.
func shippedSettings() map[string]string {
	return map[string]string{
		"group.initial.rebalance.delay.ms":     "3000",
		"offsets.topic.num.partitions":         "50",
		"transaction.state.log.num.partitions": "50",
	}
}

// kafka starts Apache Kafka; formatting the directory is not part of its start.
func (l Launcher) kafka(ctx context.Context, dir string, extra map[string]string) (*Broker, error) {
	settings := shippedSettings()
	maps.Copy(settings, extra)
	maps.Copy(settings, l.Settings)
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
