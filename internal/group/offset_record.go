package group

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// Versions of the records of committed offsets (docs/format/consumer-offsets.md). Key versions 0 and 1 are one layout.
const (
	offsetKeyVersion = 1
	// offsetValueVersion is what Kafka 4.4 writes; the id of the topic is a tagged field of it (R-K10).
	offsetValueVersion = 4
	// expiringValueVersion is the only one with room for an expiry of its own. It has none for a leader epoch or an id;
	// requests that bring an expiry (v2 to v4) have neither.
	expiringValueVersion = 1
	// noExpiry in an expiring value, and noRetention in a request, stand for "not given".
	noExpiry    = -1
	noRetention = -1
	// noLeaderEpoch: the committer did not say.
	noLeaderEpoch = -1
)

// isOffsetKey says whether keys of this version name a committed offset.
func isOffsetKey(version int16) bool { return version == 0 || version == 1 }

var errOffsetVersion = errors.New("unknown version")

// offsetRecord is the record that commits v. Key and value share one piece of memory.
func offsetRecord(group, topic string, partition int32, v *kmsg.OffsetCommitValue) machine.Record {
	b := make([]byte, 0, offsetKeySize(group, topic)+offsetValueSize(v))
	b = appendOffsetKey(b, group, topic, partition)
	n := len(b)
	b = v.AppendTo(b)
	return machine.Record{Key: b[:n:n], Value: b[n:]}
}

// offsetTombstone is the record that takes a committed offset away.
func offsetTombstone(group, topic string, partition int32) machine.Record {
	b := make([]byte, 0, offsetKeySize(group, topic))
	return machine.Record{Key: appendOffsetKey(b, group, topic, partition)}
}

func appendOffsetKey(dst []byte, group, topic string, partition int32) []byte {
	k := kmsg.OffsetCommitKey{Version: offsetKeyVersion, Group: group, Topic: topic, Partition: partition}
	return k.AppendTo(dst)
}

func offsetKeySize(group, topic string) int { return 2 + 2 + len(group) + 2 + len(topic) + 4 }

// offsetValueSize is an upper bound.
func offsetValueSize(v *kmsg.OffsetCommitValue) int {
	return 2 + 8 + 4 + 5 + len(v.Metadata) + 8 + 8 + 1 + 2 + len(v.TopicID)
}

// readOffsetKey reads a key for which isOffsetKey holds. Its strings are parts of b.
func readOffsetKey(b []byte) (kmsg.OffsetCommitKey, error) {
	var k kmsg.OffsetCommitKey
	if err := k.UnsafeReadFrom(b); err != nil {
		return k, fmt.Errorf("reading the key of an offset: %w", err)
	}
	return k, nil
}

// readOffsetValue reads a value of any version that Kafka has written. Its strings are parts of b. What a version does not
// have is filled in as not given.
func readOffsetValue(b []byte) (kmsg.OffsetCommitValue, error) {
	v := kmsg.NewOffsetCommitValue()
	if err := v.UnsafeReadFrom(b); err != nil {
		return v, fmt.Errorf("reading an offset: %w", err)
	}
	if v.Version < 0 || v.Version > offsetValueVersion {
		return v, fmt.Errorf("reading an offset: %w %d", errOffsetVersion, v.Version)
	}
	if v.Version < 3 {
		v.LeaderEpoch = noLeaderEpoch
	}
	if v.Version != expiringValueVersion {
		v.ExpireTimestamp = noExpiry
	}
	return v, nil
}
