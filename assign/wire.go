package assign

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// HighestVersion is the newest version of the subscription and of the
// assignment encoding that is known here, and the one Kafka 4.4 writes.
const HighestVersion int16 = 3

// readVersion takes the version in front of both encodings. Fields are only
// ever appended, so newer versions are read by the prefix that is known.
func readVersion(r *reader) (int16, error) {
	v := r.int16()
	if r.failed {
		return 0, fmt.Errorf("%w: no room for a version", ErrMalformed)
	}
	if v < 0 {
		return 0, fmt.Errorf("%w: version %d is negative", ErrMalformed, v)
	}
	return min(v, HighestVersion), nil
}

// knownVersion maps a version to write onto one that can be written.
func knownVersion(v int16) int16 { return min(max(v, 0), HighestVersion) }

// reader walks bytes; after the first field that does not fit it fails for good
// and returns zeros.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) fail() { r.b, r.failed = nil, true }

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail()
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) stringBytes() []byte { return r.take(int(r.int16())) }

// nullableString reads a string whose length may be -1, which reads as "".
func (r *reader) nullableString() string {
	if n := r.int16(); n != -1 {
		return string(r.take(int(n)))
	}
	return ""
}

// nullableBytes returns a part of the input; -1 reads as nil.
func (r *reader) nullableBytes() []byte {
	if n := r.int32(); n != -1 {
		return r.take(int(n))
	}
	return nil
}

// length reads the length of an array whose elements take least bytes each,
// so that a length from hostile bytes cannot ask for memory that is not there.
func (r *reader) length(least int) int {
	n := int(r.int32())
	if n < 0 || n > len(r.b)/least {
		r.fail()
		return 0
	}
	return n
}

func (r *reader) partitions() []int32 {
	n := r.length(4)
	out := make([]int32, n)
	for i := range out {
		out[i] = r.int32()
	}
	return out
}

// topicPartitions reads an array of topics with partitions; name turns the
// bytes of a topic's name into a string.
func (r *reader) topicPartitions(name func([]byte) string) []TopicPartitions {
	n := r.length(6)
	if n == 0 {
		return nil
	}
	out := make([]TopicPartitions, 0, n)
	for range n {
		tp := TopicPartitions{Topic: name(r.stringBytes())}
		tp.Partitions = r.partitions()
		out = append(out, tp)
	}
	return out
}

func newString(b []byte) string { return string(b) }

func appendString(b []byte, s string) []byte {
	if len(s) > math.MaxInt16 {
		s = s[:math.MaxInt16] // no name that Kafka accepts is longer than 249
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

func appendNullableBytes(b, data []byte) []byte {
	if data == nil {
		return appendInt32(b, -1)
	}
	return append(appendInt32(b, int32(len(data))), data...)
}

func appendPartitions(b []byte, parts []int32) []byte {
	b = appendInt32(b, int32(len(parts)))
	for _, p := range parts {
		b = appendInt32(b, p)
	}
	return b
}

func appendTopicPartitions(b []byte, list []TopicPartitions) []byte {
	b = appendInt32(b, int32(len(list)))
	for _, tp := range list {
		b = appendPartitions(appendString(b, tp.Topic), tp.Partitions)
	}
	return b
}

func topicPartitionsSize(list []TopicPartitions) int {
	n := 4
	for _, tp := range list {
		n += 2 + len(tp.Topic) + 4 + 4*len(tp.Partitions)
	}
	return n
}

// tidy returns list with topics sorted and merged and partitions sorted; list
// itself when it is so already.
func tidy(list []TopicPartitions) []TopicPartitions {
	if isTidy(list) {
		return list
	}
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b TopicPartitions) int { return strings.Compare(a.Topic, b.Topic) })
	out := sorted[:0]
	for _, tp := range sorted {
		if n := len(out); n > 0 && out[n-1].Topic == tp.Topic {
			out[n-1].Partitions = append(slices.Clip(out[n-1].Partitions), tp.Partitions...)
			continue
		}
		out = append(out, tp)
	}
	for i := range out {
		if !slices.IsSorted(out[i].Partitions) {
			out[i].Partitions = slices.Clone(out[i].Partitions)
			slices.Sort(out[i].Partitions)
		}
	}
	return out
}

func isTidy(list []TopicPartitions) bool {
	for i, tp := range list {
		if i > 0 && list[i-1].Topic >= tp.Topic || !slices.IsSorted(tp.Partitions) {
			return false
		}
	}
	return true
}
