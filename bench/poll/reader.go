package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/bench/internal/machine"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
)

// readVerb is the first argument that makes this program a reader.
const readVerb = "read"

// Readers: plain franz-go and Skein's consumer, with all that has come in one
// poll, and with 500 records a poll, which is Kafka's and our default.
const (
	plain       = "franz-go"
	plain500    = "franz-go, 500 a poll"
	consumer500 = "consumer, 500 a poll"
	consumerAll = "consumer"
)

func readers() []string { return []string{plain, consumerAll, plain500, consumer500} }

// fetchMaxWait is Kafka's default, and our consumer's; franz-go's own is longer.
const fetchMaxWait = 500 * time.Millisecond

// sample is what one reader did from its first poll's records to the last ones.
type sample struct {
	Reader  string
	Records int
	Took    time.Duration
	CPU     time.Duration // of the reader's process
	Mallocs uint64
	Bytes   uint64 // allocated
}

// runReader is a reader in a process of its own: NAME BOOTSTRAP TOPIC GROUP
// RECORDS PROFILE. It is the only member of a group that is new.
func runReader(args []string) error {
	if len(args) != 6 {
		return fmt.Errorf("%d arguments, want 6", len(args))
	}
	count, err := strconv.Atoi(args[4])
	if err != nil {
		return fmt.Errorf("reading the number of records: %w", err)
	}
	poll, done, err := open(args[0], args[1], args[2], args[3])
	if err != nil {
		return err
	}
	defer done()
	if args[5] != "" {
		f, err := os.Create(args[5])
		if err != nil {
			return fmt.Errorf("writing a profile: %w", err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("taking a profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	s, err := read(poll, count)
	if err != nil {
		return err
	}
	s.Reader = args[0]
	return json.NewEncoder(os.Stdout).Encode(s)
}

// open makes a reader, and returns what polls once, for a number of records and
// of bytes, and what closes it.
func open(reader, addr, topic, group string) (poll func(context.Context) (int, int, error), done func(), err error) {
	switch reader {
	case plain:
		return openPlain(addr, topic, group, -1)
	case plain500:
		return openPlain(addr, topic, group, 500)
	case consumerAll:
		return openConsumer(addr, topic, group, -1)
	case consumer500:
		return openConsumer(addr, topic, group, 0)
	}
	return nil, nil, fmt.Errorf("no reader is called %q", reader)
}

func openPlain(addr, topic, group string, most int) (func(context.Context) (int, int, error), func(), error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(fetchMaxWait), kgo.DisableClientMetrics())
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (records, bytes int, err error) {
		fetches := c.PollRecords(ctx, most)
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			records += len(p.Records)
			for _, r := range p.Records {
				bytes += len(r.Value)
			}
		})
		return records, bytes, fetches.Err()
	}, c.Close, nil
}

func openConsumer(addr, topic, group string, most int) (func(context.Context) (int, int, error), func(), error) {
	c, err := consumer.New(consumer.Config{
		Cluster: client.Config{Brokers: []string{addr}}, Group: group, Reset: consumer.Earliest, MaxPollRecords: most,
	})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (records, bytes int, err error) {
		batch, err := c.Poll(ctx)
		for i := range batch.Partitions {
			records += len(batch.Partitions[i].Records)
			for _, r := range batch.Partitions[i].Records {
				bytes += len(r.Value)
			}
		}
		return records, bytes, err
	}, func() { _ = c.Close(context.Background()) }, c.Subscribe(topic)
}

// readPatience only ends a hang.
const readPatience = 2 * time.Minute

// read polls until all count records have come. What it costs to connect, to
// join, and to have those of the first poll is left out.
func read(poll func(context.Context) (int, int, error), count int) (s sample, _ error) {
	ctx, cancel := context.WithTimeout(context.Background(), readPatience)
	defer cancel()
	first, _, err := poll(ctx)
	if err != nil {
		return s, fmt.Errorf("polling for the first records: %w", err)
	}
	if first == count {
		return s, fmt.Errorf("one poll brought all %d records: give it more", count)
	}
	cpu, err := machine.OwnTime()
	if err != nil {
		return s, err
	}
	began, before := time.Now(), allocated()
	for bytes := 0; first+s.Records < count; {
		n, size, err := poll(ctx)
		if err != nil {
			return s, fmt.Errorf("polling after %d records of %d bytes: %w", s.Records, bytes, err)
		}
		s.Records, bytes = s.Records+n, bytes+size
	}
	s.Took = time.Since(began)
	after, err := machine.OwnTime()
	now := allocated()
	s.CPU, s.Mallocs, s.Bytes = after-cpu, now.Mallocs-before.Mallocs, now.TotalAlloc-before.TotalAlloc
	return s, err
}

func allocated() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}
