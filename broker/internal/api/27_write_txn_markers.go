package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
)

// WriteTxnMarkers (27): ends transactions in partitions. Coordinators of other brokers send it, and administrators who abort
// a transaction that nothing else ends (KIP-664).
//
// v1: flexible, and the first that Kafka 4 serves
// v2: the version of the transaction: from 2 on the producer epoch must be above the partition's (KIP-1228)
//
// Each partition is for itself, and stands in the answer where it stands in the request, as often as it does there.
func writeTxnMarkersEntry() entry {
	return entry{key: 27, min: 1, max: 2, flexible: 1, serve: (*Handler).writeTxnMarkers}
}

// raisingTransaction is the first version of transactions after which the epoch is higher.
const raisingTransaction = 2

func (h *Handler) writeTxnMarkers(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	if !decode(r, req) {
		return
	}
	m := newMarking(req)
	if len(m.marks) == 0 {
		reply(r, m.resp)
		return
	}
	h.Transactions.Mark(m.marks, func(codes []int16) {
		defer r.Contain()
		for _, p := range m.places {
			*p.code = codes[p.mark]
		}
		reply(r, m.resp)
	})
}

// marking is a request under way: the answer to it, the markers that are to be written, and the places for what becomes of
// them.
type marking struct {
	resp   *kmsg.WriteTxnMarkersResponse
	marks  []Mark
	places []markPlace
}

// markPlace is where the code of a mark belongs.
type markPlace struct {
	code *int16
	mark int // in marks
}

func newMarking(req *kmsg.WriteTxnMarkersRequest) *marking {
	g := &marking{resp: kmsg.NewPtrWriteTxnMarkersResponse()}
	g.resp.Markers = make([]kmsg.WriteTxnMarkersResponseMarker, len(req.Markers))
	for i := range req.Markers {
		g.add(&g.resp.Markers[i], &req.Markers[i])
	}
	return g
}

// add takes up one marker. A partition that it names again gets no second one: that would end nothing, and cost as much.
func (g *marking) add(to *kmsg.WriteTxnMarkersResponseMarker, m *kmsg.WriteTxnMarkersRequestMarker) {
	to.ProducerID, to.Topics = m.ProducerID, make([]kmsg.WriteTxnMarkersResponseMarkerTopic, len(m.Topics))
	seen := map[namedPartition]int{}
	for j, t := range m.Topics {
		partitions := make([]kmsg.WriteTxnMarkersResponseMarkerTopicPartition, len(t.Partitions))
		to.Topics[j].Topic, to.Topics[j].Partitions = t.Topic, partitions
		for k, index := range t.Partitions {
			p := &partitions[k]
			if p.Partition = index; m.ProducerID < 0 || m.ProducerEpoch < 0 { // R-K31
				p.ErrorCode = kerr.InvalidRequest.Code
				continue
			}
			mark, again := seen[namedPartition{t.Topic, index}]
			if !again {
				mark = len(g.marks)
				seen[namedPartition{t.Topic, index}] = mark
				g.marks = append(g.marks, markOf(m, t.Topic, index))
			}
			g.places = append(g.places, markPlace{&p.ErrorCode, mark})
		}
	}
}

func markOf(m *kmsg.WriteTxnMarkersRequestMarker, topic string, partition int32) Mark {
	return Mark{
		Topic: topic, Partition: partition, ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch,
		CoordinatorEpoch: m.CoordinatorEpoch, Commit: m.Committed, Raised: m.TransactionVersion >= raisingTransaction,
	}
}
