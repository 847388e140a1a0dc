package crash

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// readAll returns the values of each partition in order.
func readAll(ctx context.Context, t *testing.T, addr string) [partitions][]string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topicName), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topicName)
	if err != nil {
		t.Fatal(err)
	}
	var left int64
	ends.Each(func(o kadm.ListedOffset) { left += o.Offset })
	var all [partitions][]string
	var next [partitions]int64
	for left > 0 {
		poll, cancel := context.WithTimeout(ctx, time.Minute)
		fetches := client.PollFetches(poll)
		cancel()
		if err := fetches.Err(); err != nil {
			t.Fatalf("reading back, %d records left: %v", left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset != next[r.Partition] {
				t.Errorf("partition %d: offset %d after %d", r.Partition, r.Offset, next[r.Partition]-1)
			}
			next[r.Partition] = r.Offset + 1
			all[r.Partition] = append(all[r.Partition], string(r.Value))
			left--
		})
	}
	return all
}

// check compares what is in the log with what was acknowledged.
func check(t *testing.T, logs [partitions][]string, acknowledged map[string]map[int]bool) {
	t.Helper()
	seen := make(map[string]map[int]bool)
	for partition, values := range logs {
		last := make(map[string]int)
		for offset, value := range values {
			name, n := split(t, value)
			if n%partitions != partition {
				t.Errorf("%s is in partition %d", value, partition)
			}
			if previous, ok := last[name]; ok && n <= previous {
				t.Errorf("partition %d, offset %d: %s after %s-%d: twice, or out of order", partition, offset, value, name, previous)
			}
			last[name] = n
			if seen[name] == nil {
				seen[name] = make(map[int]bool)
			}
			seen[name][n] = true
		}
	}
	for name, numbers := range acknowledged {
		lost := 0
		for n := range numbers {
			if !seen[name][n] {
				lost++
			}
		}
		if lost > 0 || len(numbers) == 0 {
			t.Errorf("%s: %d of %d acknowledged records are lost", name, lost, len(numbers))
		}
		t.Logf("%s: %d acknowledged, %d in the log", name, len(numbers), len(seen[name]))
	}
}

func split(t *testing.T, value string) (name string, n int) {
	t.Helper()
	at := strings.LastIndexByte(value, '-')
	n, err := strconv.Atoi(value[at+1:])
	if err != nil {
		t.Fatalf("a record that nobody sent: %q", value)
	}
	return value[:at], n
}
