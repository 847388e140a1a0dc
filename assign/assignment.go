package assign

import (
	"fmt"
	"slices"
)

// Assignment is what the leader tells one member through SyncGroup.
type Assignment struct {
	Partitions []TopicPartitions
	// UserData belongs to the assignor; nil is none.
	UserData []byte
}

// Append appends the encoding of a in the given version (0 to HighestVersion,
// others are brought into that range; they differ in nothing but the number)
// and returns the result. The order of topics and partitions is kept.
func (a Assignment) Append(dst []byte, version int16) []byte {
	version = knownVersion(version)
	dst = slices.Grow(dst, 2+topicPartitionsSize(a.Partitions)+4+len(a.UserData))
	dst = append(dst, byte(version>>8), byte(version))
	dst = appendTopicPartitions(dst, a.Partitions)
	return appendNullableBytes(dst, a.UserData)
}

// DecodeAssignment reads the assignment of one member. Empty bytes, which a
// coordinator sends to a member that the leader gave nothing, are an empty
// assignment. Newer versions are read by the fields known here; negative ones
// and torn bytes are errors that wrap ErrMalformed. UserData is a part of b.
func DecodeAssignment(b []byte) (Assignment, error) {
	if len(b) == 0 {
		return Assignment{}, nil
	}
	r := &reader{b: b}
	version, err := readVersion(r)
	if err != nil {
		return Assignment{}, fmt.Errorf("reading an assignment: %w", err)
	}
	a := Assignment{Partitions: r.topicPartitions(newString)}
	a.UserData = r.nullableBytes()
	if r.failed {
		return Assignment{}, fmt.Errorf("reading an assignment: %w: version %d ends early", ErrMalformed, version)
	}
	return a, nil
}
