package exactlyonce

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/skeinstream/skein/interop/kafka"
)

// batch is what one record batch says.
type batch struct {
	producer      int64
	epoch         int16
	transactional bool
	first         int64
	control       marker // notControl: it has records
	keys, values  []string
}

type marker int

const (
	notControl marker = iota
	commitMarker
	abortMarker
)

// abortedRange is how a fetch tells of an aborted transaction: it ends with the
// producer's next marker.
type abortedRange struct{ producer, first int64 }

// byMarkers is what is committed, by offset, as the markers in the log say, and
// how many records nothing is decided of.
func byMarkers(batches []batch) (committed map[int64]string, open int) {
	committed = map[int64]string{}
	pending := map[int64]map[int64]string{}
	for _, b := range batches {
		switch {
		case b.control == commitMarker:
			maps.Copy(committed, pending[b.producer])
			delete(pending, b.producer)
		case b.control == abortMarker:
			delete(pending, b.producer)
		case b.transactional:
			if pending[b.producer] == nil {
				pending[b.producer] = map[int64]string{}
			}
			b.put(pending[b.producer])
		default:
			b.put(committed)
		}
	}
	for _, records := range pending {
		open += len(records)
	}
	return committed, open
}

// withoutAborted is what a read_committed consumer makes of batches below the
// last stable offset and of the ranges that came with them.
func withoutAborted(batches []batch, ranges []abortedRange) map[int64]string {
	visible := map[int64]string{}
	ranges = slices.Clone(ranges)
	slices.SortFunc(ranges, func(a, b abortedRange) int { return int(a.first - b.first) })
	aborting := map[int64]bool{}
	for _, b := range batches {
		for len(ranges) > 0 && ranges[0].first <= b.first {
			aborting[ranges[0].producer] = true
			ranges = ranges[1:]
		}
		switch {
		case b.control == abortMarker:
			delete(aborting, b.producer)
		case b.control == notControl && !(b.transactional && aborting[b.producer]):
			b.put(visible)
		}
	}
	return visible
}

func (b batch) put(records map[int64]string) {
	for i, v := range b.values {
		records[b.first+int64(i)] = v
	}
}

// reader reads a topic with plain requests of its own.
type reader struct {
	client *kgo.Client
	topic  string
}

func newReader(addr, topic string) (reader, error) {
	// Up to version 12 a fetch names topics.
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.MaxVersions(kversion.V3_0_0()))
	return reader{client, topic}, err
}

// fetched is a partition's answers put together.
type fetched struct {
	batches []batch
	ranges  []abortedRange
	stable  int64 // the last stable offset
	end     int64 // the high watermark
}

// committed is what the markers decide, for each partition, and how many
// records are undecided.
func (r reader) committed(ctx context.Context, partitions int) (all []map[int64]string, open int, err error) {
	for p := range int32(partitions) {
		f, err := r.partition(ctx, p, false)
		if err != nil {
			return nil, 0, err
		}
		records, undecided := byMarkers(f.batches)
		all, open = append(all, records), open+undecided
	}
	return all, open, nil
}

// visible is what read_committed consumers see, for each partition.
func (r reader) visible(ctx context.Context, partitions int) (all []map[int64]string, err error) {
	for p := range int32(partitions) {
		f, err := r.partition(ctx, p, true)
		if err != nil {
			return nil, err
		}
		if f.stable != f.end {
			err = fmt.Errorf("partition %d of %s: the last stable offset is %d, the end %d", p, r.topic, f.stable, f.end)
			return nil, err
		}
		all = append(all, withoutAborted(f.batches, f.ranges))
	}
	return all, nil
}

// partition reads everything of a partition.
func (r reader) partition(ctx context.Context, p int32, committedOnly bool) (f fetched, err error) {
	for next := int64(0); ; {
		answer, err := r.fetch(ctx, p, next, committedOnly)
		if err != nil {
			return f, fmt.Errorf("reading partition %d of %s at %d: %w", p, r.topic, next, err)
		}
		f.stable, f.end = answer.LastStableOffset, answer.HighWatermark
		for _, a := range answer.AbortedTransactions {
			if a := (abortedRange{a.ProducerID, a.FirstOffset}); !slices.Contains(f.ranges, a) {
				f.ranges = append(f.ranges, a)
			}
		}
		batches, after, err := parseBatches(answer.RecordBatches)
		if err != nil {
			return f, fmt.Errorf("reading partition %d of %s at %d: %w", p, r.topic, next, err)
		}
		f.batches, next = append(f.batches, batches...), max(next, after)
		limit := f.end
		if committedOnly {
			limit = f.stable
		}
		if next >= limit {
			return f, nil
		}
		if len(batches) == 0 {
			return f, fmt.Errorf("reading partition %d of %s: nothing at %d, below %d", p, r.topic, next, limit)
		}
	}
}

func (r reader) fetch(ctx context.Context, p int32, offset int64, committedOnly bool) (answer kmsg.FetchResponseTopicPartition, err error) {
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = p, offset, 1<<20
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.Partitions = r.topic, append(topic.Partitions, partition)
	request := kmsg.NewPtrFetchRequest()
	request.MaxWaitMillis, request.MaxBytes, request.SessionEpoch, request.Topics = 1000, 8<<20, -1, append(request.Topics, topic)
	if committedOnly {
		request.IsolationLevel = 1
	}
	response, err := request.RequestWith(ctx, r.client)
	if err != nil {
		return answer, err
	}
	if err := kerr.ErrorForCode(response.ErrorCode); err != nil {
		return answer, err
	}
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return answer, errors.New("the answer is not about the partition")
	}
	answer = response.Topics[0].Partitions[0]
	return answer, kerr.ErrorForCode(answer.ErrorCode)
}

// parseBatches reads whole batches, and tells the offset behind them.
func parseBatches(b []byte) (batches []batch, next int64, err error) {
	const head = 12
	for len(b) >= head {
		size := head + int(binary.BigEndian.Uint32(b[8:]))
		if size > len(b) {
			return batches, next, nil // the rest comes with the next fetch
		}
		var raw kmsg.RecordBatch
		if err := raw.ReadFrom(b[:size]); err != nil {
			return nil, 0, fmt.Errorf("a record batch: %w", err)
		}
		one, err := parseBatch(raw)
		if err != nil {
			return nil, 0, err
		}
		batches, next, b = append(batches, one), raw.FirstOffset+int64(raw.LastOffsetDelta)+1, b[size:]
	}
	return batches, next, nil
}

const (
	codecBits         = 0x7
	transactionalBit  = 0x10
	controlBit        = 0x20
	controlTypeCommit = 1
)

func parseBatch(raw kmsg.RecordBatch) (batch, error) {
	b := batch{producer: raw.ProducerID, epoch: raw.ProducerEpoch, transactional: raw.Attributes&transactionalBit != 0, first: raw.FirstOffset}
	if raw.Attributes&codecBits != 0 {
		return b, fmt.Errorf("the batch at %d is compressed", raw.FirstOffset)
	}
	records := raw.Records
	for i := range raw.NumRecords {
		size, n := binary.Varint(records)
		if n <= 0 || size < 0 || int(size) > len(records)-n {
			return b, fmt.Errorf("record %d of the batch at %d: its length", i, raw.FirstOffset)
		}
		var r kmsg.Record
		if err := r.ReadFrom(records[:n+int(size)]); err != nil {
			return b, fmt.Errorf("record %d of the batch at %d: %w", i, raw.FirstOffset, err)
		}
		records = records[n+int(size):]
		if r.OffsetDelta != i {
			return b, fmt.Errorf("record %d of the batch at %d is at %d", i, raw.FirstOffset, r.OffsetDelta)
		}
		switch {
		case raw.Attributes&controlBit == 0:
			b.keys, b.values = append(b.keys, string(r.Key)), append(b.values, string(r.Value))
		case len(r.Key) < 4:
			return b, fmt.Errorf("the marker at %d has no type", raw.FirstOffset)
		case binary.BigEndian.Uint16(r.Key[2:]) == controlTypeCommit:
			b.control = commitMarker
		default:
			b.control = abortMarker
		}
	}
	return b, nil
}

// javaVisible is the first count records that Kafka's console consumer sees with
// read_committed.
func javaVisible(ctx context.Context, tools kafka.Tools, addr, topic string, partitions, count int) (all []map[int64]string, err error) {
	said, err := tools.Run(ctx, kafka.ConsoleConsumer, "--bootstrap-server", addr, "--topic", topic, "--from-beginning",
		"--isolation-level", "read_committed", "--max-messages", strconv.Itoa(count), "--timeout-ms", "60000",
		"--formatter-property", "print.partition=true", "--formatter-property", "print.offset=true")
	if err != nil {
		return nil, err
	}
	for range partitions {
		all = append(all, map[int64]string{})
	}
	for line := range strings.Lines(said) {
		words := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if len(words) != 3 {
			continue // the tool tells how many there were
		}
		p, errP := strconv.Atoi(strings.TrimPrefix(words[0], "Partition:"))
		offset, errO := strconv.ParseInt(strings.TrimPrefix(words[1], "Offset:"), 10, 64)
		if err := errors.Join(errP, errO); err != nil || p >= partitions {
			return nil, fmt.Errorf("the console consumer says %q: %w", line, err)
		}
		if _, twice := all[p][offset]; twice {
			return nil, fmt.Errorf("the console consumer says %q for the second time", line)
		}
		all[p][offset] = words[2]
	}
	return all, nil
}

// parseAll reads the records of each partition.
func parseAll[T any](all []map[int64]string, parse func(partition int32, offset int64, text string) (T, error)) (read []T, err error) {
	for p, records := range all {
		for _, offset := range slices.Sorted(maps.Keys(records)) {
			r, bad := parse(int32(p), offset, records[offset])
			err = errors.Join(err, bad)
			read = append(read, r)
		}
	}
	return read, err
}
