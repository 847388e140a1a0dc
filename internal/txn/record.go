package txn

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// Records of __transaction_state (docs/format/transaction-state.md). They are Kafka's; what is ours are tagged fields, which
// are left out wherever their meaning follows from the rest.
const (
	keyVersion = 0
	// valueTagged is the first version with tagged fields, which Kafka reads since 3.5 and writes since 4.0.
	valueTagged = 1

	// tagLast is value.last, two bytes. Missing: see impliedLast.
	tagLast = 10_000
	// tagTimedOut is value.timedOut, no bytes. Missing: false.
	tagTimedOut = 10_001
)

// coder turns values into records and back. It keeps what it needs for that, so that a record costs few allocations.
type coder struct {
	topics []kmsg.TxnMetadataValueTopic
	reader kmsg.TxnMetadataValue
}

// record is the record that says v about id. Key and value share one piece of memory.
func (c *coder) record(id string, v *value) machine.Record {
	w := kmsg.NewTxnMetadataValue()
	w.Version = valueTagged
	w.ProducerID, w.ProducerEpoch = v.ProducerID, v.Epoch
	w.TimeoutMillis, w.State = int32(v.timeout.Milliseconds()), v.state
	w.LastUpdateTimestamp, w.StartTimestamp = v.updated, v.started
	w.PreviousProducerID, w.NextProducerID, w.ClientTransactionVersion = v.previous, v.next, v.version
	if v.state != kmsg.TransactionStateEmpty {
		w.Topics = c.grouped(v.partitions)
	}
	if v.last != v.impliedLast() {
		w.UnknownTags.Set(tagLast, binary.BigEndian.AppendUint16(nil, uint16(v.last)))
	}
	if v.timedOut {
		w.UnknownTags.Set(tagTimedOut, nil)
	}
	b := appendKey(make([]byte, 0, keySize(id)+valueSize(w.Topics)), id)
	n := len(b)
	b = w.AppendTo(b)
	return machine.Record{Key: b[:n:n], Value: b[n:]}
}

// grouped is partitions as records have them. It is good until the next call.
func (c *coder) grouped(partitions []Partition) []kmsg.TxnMetadataValueTopic {
	c.topics = slices.Grow(c.topics[:0], 1) // an empty list is not null
	for i, p := range partitions {
		if i == 0 || partitions[i-1].Topic != p.Topic {
			c.addTopic(p.Topic)
		}
		last := &c.topics[len(c.topics)-1]
		last.Partitions = append(last.Partitions, p.Partition)
	}
	return c.topics
}

// addTopic uses the memory of an earlier call.
func (c *coder) addTopic(name string) {
	n := len(c.topics)
	c.topics = slices.Grow(c.topics, 1)[:n+1]
	c.topics[n].Topic, c.topics[n].Partitions = name, c.topics[n].Partitions[:0]
}

func tombstone(id string) machine.Record {
	return machine.Record{Key: appendKey(nil, id)}
}

func appendKey(dst []byte, id string) []byte {
	k := kmsg.TxnMetadataKey{Version: keyVersion, TransactionalID: id}
	return k.AppendTo(dst)
}

func keySize(id string) int { return 2 + 2 + len(id) }

// valueSize is an upper bound.
func valueSize(topics []kmsg.TxnMetadataValueTopic) int {
	size := 2 + 8 + 2 + 4 + 1 + 5 + 8 + 8 + 50 // the last for tagged fields
	for i := range topics {
		size += 5 + len(topics[i].Topic) + 5 + 4*len(topics[i].Partitions) + 1
	}
	return size
}

// impliedLast is the last epoch of a record that does not name one: the one before the end, for an end with KIP-890.
func (v *value) impliedLast() int16 {
	switch {
	case v.version < 2 || !v.decided() && !v.ended():
		return noEpoch
	case v.Epoch > 0:
		return v.Epoch - 1
	case v.previous != v.ProducerID:
		return epochMax
	}
	return noEpoch
}

// key reads the key of a record. The string is part of b.
func (c *coder) key(b []byte) (id string, err error) {
	var k kmsg.TxnMetadataKey
	switch {
	case len(b) < 2:
		return "", fmt.Errorf("a key of %d bytes", len(b))
	case binary.BigEndian.Uint16(b) != keyVersion:
		return "", fmt.Errorf("unknown key version %d", int16(binary.BigEndian.Uint16(b)))
	}
	if err := k.UnsafeReadFrom(b); err != nil {
		return "", fmt.Errorf("reading the key of a transactional id: %w", err)
	}
	return k.TransactionalID, nil
}

// value reads the value of a record.
func (c *coder) value(b []byte) (value, error) {
	if len(b) < 2 {
		return value{}, fmt.Errorf("a value of %d bytes", len(b))
	}
	if version := int16(binary.BigEndian.Uint16(b)); version < 0 || version > valueTagged {
		return value{}, fmt.Errorf("unknown version %d of a transactional id's state", version)
	}
	r := &c.reader
	*r = kmsg.TxnMetadataValue{Topics: r.Topics[:0]}
	if err := r.UnsafeReadFrom(b); err != nil {
		return value{}, fmt.Errorf("reading the state of a transactional id: %w", err)
	}
	if err := sound(r); err != nil {
		return value{}, err
	}
	return valueOf(r), nil
}

// sound refuses what no coordinator writes, and what would leave the machine in a state that it cannot get out of.
func sound(r *kmsg.TxnMetadataValue) error {
	switch {
	case r.State < kmsg.TransactionStateEmpty || r.State > kmsg.TransactionStateCompleteAbort:
		return fmt.Errorf("a transactional id in state %d", r.State)
	case r.ProducerID < 0 || r.ProducerEpoch < 0:
		return fmt.Errorf("a transactional id without a producer")
	}
	return nil
}

func valueOf(r *kmsg.TxnMetadataValue) value {
	v := value{
		identity: identity{r.ProducerID, r.ProducerEpoch}, previous: r.PreviousProducerID, next: r.NextProducerID,
		timeout: time.Duration(r.TimeoutMillis) * time.Millisecond, state: r.State,
		updated: r.LastUpdateTimestamp, started: r.StartTimestamp, version: r.ClientTransactionVersion,
	}
	if v.previous < 0 {
		v.previous = v.ProducerID
	}
	if v.next < 0 || !v.decided() {
		v.next = noProducerID
	}
	v.last = v.impliedLast()
	r.UnknownTags.Each(func(key uint32, b []byte) {
		switch {
		case key == tagLast && len(b) == 2:
			v.last = int16(binary.BigEndian.Uint16(b))
		case key == tagTimedOut:
			v.timedOut = true
		}
	})
	v.last = max(v.last, noEpoch)
	if v.state == kmsg.TransactionStateOngoing || v.decided() {
		v.partitions = partitionsOf(r.Topics)
	}
	return v
}

func partitionsOf(topics []kmsg.TxnMetadataValueTopic) []Partition {
	n := 0
	for i := range topics {
		n += len(topics[i].Partitions)
	}
	all := make([]Partition, 0, n)
	for i := range topics {
		topic := strings.Clone(topics[i].Topic)
		for _, p := range topics[i].Partitions {
			all = append(all, Partition{topic, p})
		}
	}
	if !slices.IsSortedFunc(all, comparePartitions) {
		return sortedSet(all)
	}
	return slices.Compact(all)
}
