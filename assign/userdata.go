package assign

import "slices"

// AppendStickyUserData appends what a member of the sticky assignor sends to the
// leader: version 1, that is what it owns, and since when (KIP-341).
func AppendStickyUserData(dst []byte, owned []TopicPartitions, generation int32) []byte {
	owned = tidy(owned)
	dst = slices.Grow(dst, topicPartitionsSize(owned)+4)
	return appendInt32(appendTopicPartitions(dst, owned), generation)
}

// DecodeStickyUserData reads version 1, or version 0, which has no generation.
// The encoding names no version, so the longer one is tried first. Bytes that
// are neither mean that nothing is known: garbage from one member must not fail
// the rebalance of all (R-A14).
func DecodeStickyUserData(b []byte) (owned []TopicPartitions, generation int32) {
	r := &reader{b: b}
	owned = r.topicPartitions(newString)
	if r.failed {
		return nil, NoGeneration
	}
	if generation = r.int32(); r.failed {
		return owned, NoGeneration
	}
	return owned, generation
}

// AppendCooperativeUserData appends what a member of the cooperative-sticky
// assignor sends to the leader: the generation of what it owns, in 4 bytes, for
// leaders that read it nowhere else.
func AppendCooperativeUserData(dst []byte, generation int32) []byte {
	return appendInt32(dst, generation)
}

// DecodeCooperativeUserData reads that generation; NoGeneration when b is too short.
func DecodeCooperativeUserData(b []byte) int32 {
	r := &reader{b: b}
	if g := r.int32(); !r.failed {
		return g
	}
	return NoGeneration
}
