// Package table reads a compacted topic as a table: of each key the newest value. The examples keep their state in such topics, and join with
// them; a program of your own may take this package over as it is.
package table

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
)

// Table is what is committed in a topic.
type Table struct {
	consumer *consumer.Consumer

	mu     sync.RWMutex
	rows   map[string][]byte
	log    []*consumer.Record // those that Open has read
	opened bool
}

// Open reads partitions of a topic, all of them if none are named, to the end that they have now: whatever is in a transaction there that is
// open is waited for. So who has become the only writer of a partition finds everything that its predecessors have committed, or
// still could.
func Open(ctx context.Context, cluster client.Config, topic string, partitions ...int32) (*Table, error) {
	c, err := consumer.New(consumer.Config{Cluster: cluster, Reset: consumer.Earliest, ReadCommitted: true})
	if err != nil {
		return nil, err
	}
	t := &Table{consumer: c, rows: map[string][]byte{}}
	if err := t.open(ctx, cluster, topic, partitions); err != nil {
		return nil, errors.Join(fmt.Errorf("reading the table %s: %w", topic, err), t.Close())
	}
	t.opened = true
	return t, nil
}

// Read is Open, for who needs the rows of now alone.
func Read(ctx context.Context, cluster client.Config, topic string, partitions ...int32) (map[string][]byte, error) {
	t, err := Open(ctx, cluster, topic, partitions...)
	if err != nil {
		return nil, err
	}
	return t.rows, t.Close()
}

// Log is every record that is committed in a partition, up to the end that it has now.
func Log(ctx context.Context, cluster client.Config, topic string, partition int32) ([]*consumer.Record, error) {
	t, err := Open(ctx, cluster, topic, partition)
	if err != nil {
		return nil, err
	}
	return t.log, t.Close()
}

func (t *Table) open(ctx context.Context, cluster client.Config, topic string, partitions []int32) error {
	list, err := t.named(ctx, topic, partitions)
	if err != nil {
		return err
	}
	ends, err := endsOf(ctx, cluster, list)
	if err != nil {
		return err
	}
	if err := t.consumer.Assign(list...); err != nil {
		return err
	}
	for !t.has(ends) {
		if err := t.poll(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) named(ctx context.Context, topic string, partitions []int32) (list []consumer.TopicPartition, err error) {
	for _, p := range partitions {
		list = append(list, consumer.TopicPartition{Topic: topic, Partition: p})
	}
	if len(list) > 0 {
		return list, nil
	}
	all, err := t.consumer.PartitionsFor(ctx, topic)
	for _, p := range all {
		list = append(list, p.TopicPartition)
	}
	return list, err
}

// endsOf are the ends of logs, with what is not committed there: a consumer of its own asks, since one that reads what is committed is told where
// the first open transaction begins.
func endsOf(ctx context.Context, cluster client.Config, list []consumer.TopicPartition) (map[consumer.TopicPartition]int64, error) {
	c, err := consumer.New(consumer.Config{Cluster: cluster})
	if err != nil {
		return nil, err
	}
	ends, err := c.EndOffsets(ctx, list...)
	return ends, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
}

// has says whether everything up to ends was read. A position is behind the ends of transactions, which Poll does not hand out.
func (t *Table) has(ends map[consumer.TopicPartition]int64) bool {
	for tp, end := range ends {
		if at, known := t.consumer.Position(tp); !known || at.At < end {
			return false
		}
	}
	return true
}

// poll takes over what comes within a while.
func (t *Table) poll(ctx context.Context, while time.Duration) error {
	brief, cancel := context.WithTimeout(ctx, while)
	defer cancel()
	batch, err := t.consumer.Poll(brief)
	t.takes(batch)
	if brief.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (t *Table) takes(batch consumer.Batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for r := range batch.Records() {
		if !t.opened {
			t.log = append(t.log, r)
		}
		if r.Value == nil { // a tombstone
			delete(t.rows, string(r.Key))
			continue
		}
		t.rows[string(r.Key)] = r.Value
	}
}

// Follow takes over what is written from now on, until ctx ends.
func (t *Table) Follow(ctx context.Context) error {
	for {
		batch, err := t.consumer.Poll(ctx)
		t.takes(batch)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
	}
}

// Get is the value of a key, as far as it is read.
func (t *Table) Get(key string) ([]byte, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	value, found := t.rows[key]
	return value, found
}

// Close ends the reading. What was read can be had still.
func (t *Table) Close() error { return t.consumer.Close(context.Background()) }
