package broker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/broker"
	"github.com/skeinstream/skein/internal/settings"
)

// Clients do with a broker that shows an older release what they do there: records, groups and transactions work in each. Which
// requests that takes is franz-go's own business, which asks for versions first.
func TestClientsGetOnWithEveryAge(t *testing.T) {
	for _, release := range settings.KafkaReleases() {
		t.Run(release, func(t *testing.T) {
			b, err := broker.Open(t.Context(), broker.Config{Settings: map[string]string{
				"skein.emulate.kafka.version": release, "group.initial.rebalance.delay.ms": "0",
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer shutdown(t, b)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			transform(ctx, t, b, 10)
		})
	}
}

// transform writes n numbers, and has a group copy them in one transaction.
func transform(ctx context.Context, t *testing.T, b *broker.Broker, n int) {
	t.Helper()
	writer := client(t, b)
	createTopic(t, writer, "in", 1)
	createTopic(t, writer, "out", 1)
	for i := range n {
		produce(t, writer, "in", fmt.Sprint(i))
	}
	session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers("skein:9092"), kgo.Dialer(b.Dialer()),
		kgo.TransactionalID("copy"), kgo.ConsumerGroup("copies"), kgo.ConsumeTopics("in"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for copied := 0; copied < n; {
		records := session.PollFetches(ctx).Records()
		if err := session.Begin(); err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			session.Produce(ctx, &kgo.Record{Topic: "out", Value: r.Value}, nil)
		}
		done, err := session.End(ctx, kgo.TryCommit)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			copied += len(records)
		}
	}
	expectCopies(ctx, t, client(t, b, kgo.ConsumeTopics("out"), kgo.FetchIsolationLevel(kgo.ReadCommitted())), n)
}

// expectCopies reads the numbers up to n, and that the group has committed as much.
func expectCopies(ctx context.Context, t *testing.T, reader *kgo.Client, n int) {
	t.Helper()
	for i := 0; i < n; {
		for _, r := range reader.PollFetches(ctx).Records() {
			if string(r.Value) != fmt.Sprint(i) {
				t.Fatalf("record %d is %s", i, r.Value)
			}
			i++
		}
		if ctx.Err() != nil {
			t.Fatalf("%d of %d records", i, n)
		}
	}
	offsets, err := kadm.NewClient(reader).FetchOffsets(ctx, "copies")
	if err != nil {
		t.Fatal(err)
	}
	if at, _ := offsets.Lookup("in", 0); at.At != int64(n) {
		t.Errorf("the group is at %d of %d", at.At, n)
	}
}

func TestAnUnknownAgeIsRefused(t *testing.T) {
	for _, release := range []string{"0.10", "2.4.1", "5.0", ""} {
		if _, err := broker.Open(t.Context(), broker.Config{Settings: map[string]string{"skein.emulate.kafka.version": release}}); err == nil {
			t.Errorf("%q is taken", release)
		}
	}
}
