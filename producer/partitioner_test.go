package producer

import (
	_ "embed"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

//go:embed testdata/partitions.golden
var golden string

// backups tells a partitioner of partitions that all have nothing to do.
type backups struct{ left int }

func (b *backups) Rem() int { return b.left }

func (b *backups) Next() (int, int64) {
	b.left--
	return b.left, 0
}

func picks(p kgo.TopicPartitioner, r *Record, n int) int {
	if p, ok := p.(kgo.TopicBackupPartitioner); ok {
		return p.PartitionByBackup(r, n, &backups{n})
	}
	return p.Partition(r, n)
}

// TestKeysGoWhereKafkaPutsThem: the same key is in the same partition, whoever has written it.
func TestKeysGoWhereKafkaPutsThem(t *testing.T) {
	counts := []int{1, 2, 3, 7, 12, 64, 1000}
	p := Uniform().ForTopic("t")
	keys := 0
	for line := range strings.Lines(golden) {
		fields := strings.Fields(line)
		if fields[0] == "#" {
			continue
		}
		keys++
		key := []byte{}
		if fields[0] != "-" {
			var err error
			if key, err = hex.DecodeString(fields[0]); err != nil {
				t.Fatal(err)
			}
		}
		r := &Record{Key: key}
		if !p.RequiresConsistency(r) {
			t.Errorf("key %q goes elsewhere when its partition is away", key)
		}
		for i, n := range counts {
			if got := picks(p, r, n); strconv.Itoa(got) != fields[i+1] {
				t.Errorf("key %q goes to %d of %d, with Kafka to %s", key, got, n, fields[i+1])
			}
		}
	}
	if keys < 50 {
		t.Errorf("there were %d keys", keys)
	}
}

// KIP-480, KIP-794: records without a key fill one partition after the other, and all equally in the long run.
func TestRecordsWithoutAKeyAreSpread(t *testing.T) {
	const partitions, records, size = 6, 60_000, 1000
	p := Uniform().ForTopic("t")
	r := &Record{Value: make([]byte, size)}
	var counts [partitions]int
	changes, before := 0, -1
	for range records {
		got := picks(p, r, partitions)
		if got != before {
			changes++
		}
		counts[got]++
		before = got
	}
	if most := records * size / (stickyBytes / 2); changes > most {
		t.Errorf("%d changes of the partition; batches are small", changes)
	}
	for i, n := range counts {
		if n < records/partitions*7/10 || n > records/partitions*13/10 {
			t.Errorf("partition %d has %d of %d", i, n, records)
		}
	}
	if p.RequiresConsistency(r) {
		t.Error("a record without a key waits for a partition that is away")
	}
}

func TestOtherPartitioners(t *testing.T) {
	manual := Manual().ForTopic("t")
	if got := picks(manual, &Record{Partition: 4, Key: []byte("k")}, 9); got != 4 {
		t.Errorf("by hand: %d", got)
	}
	mine := PartitionBy(func(r *Record, n int) int { return len(r.Value) % n }).ForTopic("t")
	if got := picks(mine, &Record{Value: []byte("12345")}, 3); got != 2 {
		t.Errorf("by our own: %d", got)
	}
	turns := RoundRobin().ForTopic("t")
	for i := range 7 {
		if got := picks(turns, &Record{}, 3); got != i%3 {
			t.Errorf("the %d. goes to %d", i, got)
		}
	}
}
