package main

import (
	"context"
	"fmt"
	"time"

	"github.com/skeinstream/skein/bench/internal/load"
	"github.com/skeinstream/skein/bench/internal/result"
)

// phase is one thing that is done with a broker. A visit runs the phases in
// order: latencies before bulk, so that no broker answers while the disk is
// still busy with another phase's data.
type phase struct {
	name   string
	client string // of another language, which may be missing
	always bool   // whatever -only says
	run    func(context.Context, *visit) error
}

func phases() []phase {
	all := []phase{
		{name: "idle", run: idle},
		{name: "warm-up", always: true, run: warmUp},
	}
	for _, rate := range result.Rates() {
		all = append(all, phase{name: fmt.Sprintf("latency-%d", rate), run: latencyAt(rate)})
	}
	all = append(all, phase{name: "end-to-end", run: endToEnd})
	all = append(all, groupPhases()...)
	all = append(all, txnPhases()...)
	for _, size := range result.Sizes() {
		all = append(all,
			phase{name: fmt.Sprintf("go-%d", size), run: plainGo(size)},
			phase{name: fmt.Sprintf("go-snappy-%d", size), run: snappyGo(size)},
			phase{name: fmt.Sprintf("java-%d", size), client: "java", run: java(size)},
			phase{name: fmt.Sprintf("librdkafka-%d", size), client: "librdkafka", run: librdkafka(size)})
	}
	return append(all, phase{name: "loaded", run: func(_ context.Context, v *visit) error { return v.resident(result.MemoryLoadedID) }})
}

// idle reads the memory of a broker that has answered one request.
func idle(ctx context.Context, v *visit) error {
	timer := time.NewTimer(v.options.plan.idle)
	defer timer.Stop()
	select {
	case <-timer.C:
		return v.resident(result.MemoryIdleID)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// warmUp gives a Java machine time to compile, and every broker the same.
func warmUp(ctx context.Context, v *visit) error {
	topic, err := v.topic(ctx, "warm-up")
	if err != nil {
		return err
	}
	const size = 100
	if _, err := load.Produce(ctx, v.broker.Addr, topic, size, v.options.plan.warm, load.Uncompressed); err != nil {
		return err
	}
	_, err = load.Consume(ctx, v.broker.Addr, topic, v.options.plan.warm, 1)
	return err
}

func latencyAt(rate int) func(context.Context, *visit) error {
	return func(ctx context.Context, v *visit) error {
		topic, err := v.topic(ctx, fmt.Sprintf("latency-%d", rate))
		if err != nil {
			return err
		}
		l, err := load.ProduceLatency(ctx, v.broker.Addr, topic, rate, v.options.plan.latency)
		if err == nil {
			v.latencies("produce", rate, l)
		}
		return err
	}
}

func endToEnd(ctx context.Context, v *visit) error {
	topic, err := v.topic(ctx, "end-to-end")
	if err != nil {
		return err
	}
	l, err := load.EndToEndLatency(ctx, v.broker.Addr, topic, result.EndToEndRate, v.options.plan.latency)
	if err == nil {
		v.latencies("end-to-end", result.EndToEndRate, l)
	}
	return err
}

// consumePasses is how often the Go client reads a topic: once alone is too
// short for a clock of 10 ms.
const consumePasses = 3

// plainGo produces without a codec and consumes the same.
func plainGo(size int) func(context.Context, *visit) error {
	return func(ctx context.Context, v *visit) error {
		topic, err := v.topic(ctx, fmt.Sprintf("go-%d", size))
		if err != nil {
			return err
		}
		count := v.options.plan.records[size]
		err = v.throughput("go", "produce", size, count, func() (float64, error) {
			return load.Produce(ctx, v.broker.Addr, topic, size, count, load.Uncompressed)
		})
		if err != nil {
			return err
		}
		return v.throughput("go", "consume", size, consumePasses*count, func() (float64, error) {
			return load.Consume(ctx, v.broker.Addr, topic, count, consumePasses)
		})
	}
}

func snappyGo(size int) func(context.Context, *visit) error {
	return func(ctx context.Context, v *visit) error {
		topic, err := v.topic(ctx, fmt.Sprintf("go-snappy-%d", size))
		if err != nil {
			return err
		}
		count := v.options.plan.records[size]
		return v.throughput("go-snappy", "produce", size, count, func() (float64, error) {
			return load.Produce(ctx, v.broker.Addr, topic, size, count, load.ClientDefault)
		})
	}
}

func java(size int) func(context.Context, *visit) error {
	return func(ctx context.Context, v *visit) error {
		if v.java == nil {
			return nil
		}
		topic, err := v.topic(ctx, fmt.Sprintf("java-%d", size))
		if err != nil {
			return err
		}
		count := v.options.plan.others[size]
		return v.throughput("java", "produce", size, count, func() (float64, error) {
			return load.JavaProduce(ctx, *v.java, v.broker.Addr, topic, size, count)
		})
	}
}

func librdkafka(size int) func(context.Context, *visit) error {
	return func(ctx context.Context, v *visit) error {
		if v.kcat == nil {
			return nil
		}
		topic, err := v.topic(ctx, fmt.Sprintf("librdkafka-%d", size))
		if err != nil {
			return err
		}
		count := v.options.plan.others[size]
		if err := v.kcat.Prepare(size, count); err != nil {
			return err
		}
		err = v.throughput("librdkafka", "produce", size, count, func() (float64, error) {
			return v.kcat.Produce(ctx, v.broker.Addr, topic, size, count)
		})
		if err != nil {
			return err
		}
		return v.throughput("librdkafka", "consume", size, count, func() (float64, error) {
			return v.kcat.Consume(ctx, v.broker.Addr, topic, count)
		})
	}
}

// topic makes a topic for one try of a phase.
func (v *visit) topic(ctx context.Context, name string) (string, error) {
	name = fmt.Sprintf("%s.%d", name, v.try)
	return name, load.CreateTopic(ctx, v.broker.Addr, name)
}
