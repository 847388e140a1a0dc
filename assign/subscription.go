package assign

import (
	"bytes"
	"fmt"
	"slices"
)

// Append appends the encoding of s in the given version (0 to HighestVersion,
// others are brought into that range) and returns the result. Topics and owned
// partitions are written in order, as Kafka's own members do; fields that the
// version does not know are left out.
func (s Subscription) Append(dst []byte, version int16) []byte {
	version = knownVersion(version)
	topics := s.Topics
	if !slices.IsSorted(topics) {
		topics = slices.Clone(topics)
		slices.Sort(topics)
	}
	dst = slices.Grow(dst, s.size())
	dst = append(dst, byte(version>>8), byte(version))
	dst = appendInt32(dst, int32(len(topics)))
	for _, t := range topics {
		dst = appendString(dst, t)
	}
	dst = appendNullableBytes(dst, s.UserData)
	if version >= 1 {
		dst = appendTopicPartitions(dst, tidy(s.Owned))
	}
	if version >= 2 {
		dst = appendInt32(dst, s.Generation)
	}
	if version >= 3 {
		dst = appendRack(dst, s.Rack)
	}
	return dst
}

// appendRack writes an unknown rack as null, as Kafka's members do.
func appendRack(dst []byte, rack string) []byte {
	if rack == "" {
		return append(dst, 0xff, 0xff)
	}
	return appendString(dst, rack)
}

// size is an upper bound of the encoded length.
func (s Subscription) size() int {
	n := 2 + 4 + 4 + len(s.UserData) + topicPartitionsSize(s.Owned) + 4 + 2 + len(s.Rack)
	for _, t := range s.Topics {
		n += 2 + len(t)
	}
	return n
}

// DecodeSubscription reads the metadata of one member. Newer versions are read
// by the fields known here; negative ones and torn bytes are errors that wrap
// ErrMalformed. UserData is a part of b; everything else is copied.
func DecodeSubscription(b []byte) (Subscription, error) {
	var d SubscriptionDecoder
	return d.Decode(b)
}

// SubscriptionDecoder decodes the members of one group. Most of them subscribe
// to the same topics: equal lists are decoded once and shared, and so are the
// names in what they own. That saves most of the work of reading a large group, and
// of comparing its subscriptions afterwards. The zero value is ready; it is
// not for concurrent use.
type SubscriptionDecoder struct {
	raw    []byte   // the encoded topic list that was read last
	topics []string // and its names
	next   int      // where in topics the next owned name is expected
}

// Decode is DecodeSubscription with a memory. Topics may be shared between
// results, and b must stay unchanged until the last Decode of this group.
func (d *SubscriptionDecoder) Decode(b []byte) (Subscription, error) {
	r := &reader{b: b}
	version, err := readVersion(r)
	if err != nil {
		return Subscription{}, fmt.Errorf("reading a subscription: %w", err)
	}
	s := Subscription{Generation: NoGeneration}
	s.Topics = d.names(r)
	s.UserData = r.nullableBytes()
	if version >= 1 {
		d.next = 0
		s.Owned = r.topicPartitions(d.name)
	}
	if version >= 2 {
		s.Generation = r.int32()
	}
	if version >= 3 {
		s.Rack = r.nullableString()
	}
	if r.failed {
		return Subscription{}, fmt.Errorf("reading a subscription: %w: version %d ends early", ErrMalformed, version)
	}
	return s, nil
}

// names reads the topic list. An encoded list says itself where it ends, so two
// that begin with the same bytes are the same.
func (d *SubscriptionDecoder) names(r *reader) []string {
	if len(d.raw) > 0 && bytes.HasPrefix(r.b, d.raw) {
		r.take(len(d.raw))
		return d.topics
	}
	start := r.b
	n := r.length(2)
	topics := make([]string, n)
	for i := range topics {
		topics[i] = string(r.stringBytes())
	}
	if !r.failed {
		d.raw, d.topics = start[:len(start)-len(r.b)], topics
	}
	return topics
}

// name returns b as a string, shared with the topic list where b comes next.
func (d *SubscriptionDecoder) name(b []byte) string {
	for i := d.next; i < len(d.topics) && i < d.next+2; i++ {
		if d.topics[i] == string(b) {
			d.next = i + 1
			return d.topics[i]
		}
	}
	if i, found := slices.BinarySearchFunc(d.topics, b, compareName); found {
		d.next = i + 1
		return d.topics[i]
	}
	return string(b)
}

// compareName orders a name against bytes without making them a string.
func compareName(t string, b []byte) int {
	switch {
	case t < string(b):
		return -1
	case t > string(b):
		return 1
	}
	return 0
}
