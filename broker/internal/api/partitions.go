package api

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/partition"
)

// namedPartition is a partition as requests name it.
type namedPartition struct {
	topic string
	index int32
}

// partition finds a partition by name and number, or says why not.
func (h *Handler) partition(topic string, index int32) (*partition.Partition, int16) {
	t := h.Table.Topic(topic)
	if t == nil {
		return nil, kerr.UnknownTopicOrPartition.Code
	}
	p := t.Partition(index)
	if p == nil {
		return nil, kerr.UnknownTopicOrPartition.Code
	}
	return p, 0
}

// leaderEpoch is the epoch of every partition's leader, which is this broker.
func (h *Handler) leaderEpoch() int32 { return h.Catalog.StartCount() }

// offline reports whether a partition that the catalog knows cannot be served for now.
func (h *Handler) offline(topic catalog.ID, index int32) bool {
	if h.Table == nil {
		return false
	}
	t := h.Table.TopicByID(topic)
	if t == nil {
		return true
	}
	p := t.Partition(index)
	return p == nil || p.Offline() != nil
}
