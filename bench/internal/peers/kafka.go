package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/interop/kafka"
	"github.com/skeinstream/skein/interop/proc"
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
	jvm, beansPort := shippedJVM(), ""
	if l.Counts {
		port, err := proc.FreePort()
		if err != nil {
			return nil, err
		}
		beansPort = strconv.Itoa(port)
		jvm = append(jvm, beans(beansPort)...)
	}
	k, err := kafka.Launch(ctx, kafka.Options{Dir: dir, JVM: jvm, Settings: settings})
	if errors.Is(err, kafka.ErrUnavailable) {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return nil, err
	}
	b := &Broker{
		Addr:    k.Addr,
		Began:   k.Began,
		Process: machine.Process(k.Pid()),
		stop:    k.Stop,
		tail:    k.Tail,
	}
	if l.Counts {
		return b, b.countBeans(ctx, k.Tools, dir, beansPort)
	}
	return b, nil
}

// countBeans has a program beside Kafka that reads its metrics; it ends with it.
func (b *Broker) countBeans(ctx context.Context, tools kafka.Tools, dir, port string) error {
	t, err := startTeller(ctx, tools, dir, port)
	if err != nil {
		return errors.Join(err, b.stop())
	}
	stop := b.stop
	b.count = t.ask
	b.stop = func() error { return errors.Join(t.stop(), stop()) }
	return nil
}
