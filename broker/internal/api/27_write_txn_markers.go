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
// Each partition is for itself, and stands in the answer where it stands in the request.
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
	resp, marks, places := marksOf(req)
	if len(marks) == 0 {
		reply(r, resp)
		return
	}
	h.Transactions.Mark(marks, func(codes []int16) {
		defer r.Contain()
		for i, code := range codes {
			places[i].ErrorCode = code
		}
		reply(r, resp)
	})
}

// marksOf is the answer to a request, the markers that are to be written, and the places for what becomes of them.
func marksOf(req *kmsg.WriteTxnMarkersRequest) (resp *kmsg.WriteTxnMarkersResponse, marks []Mark, places []*kmsg.WriteTxnMarkersResponseMarkerTopicPartition) {
	resp = kmsg.NewPtrWriteTxnMarkersResponse()
	resp.Markers = make([]kmsg.WriteTxnMarkersResponseMarker, len(req.Markers))
	for i, m := range req.Markers {
		resp.Markers[i].ProducerID = m.ProducerID
		resp.Markers[i].Topics = make([]kmsg.WriteTxnMarkersResponseMarkerTopic, len(m.Topics))
		for j, t := range m.Topics {
			to := &resp.Markers[i].Topics[j]
			to.Topic = t.Topic
			to.Partitions = make([]kmsg.WriteTxnMarkersResponseMarkerTopicPartition, len(t.Partitions))
			for k, index := range t.Partitions {
				p := &to.Partitions[k]
				if p.Partition = index; m.ProducerID < 0 || m.ProducerEpoch < 0 { // R-K31
					p.ErrorCode = kerr.InvalidRequest.Code
					continue
				}
				marks = append(marks, markOf(&m, t.Topic, index))
				places = append(places, p)
			}
		}
	}
	return resp, marks, places
}

func markOf(m *kmsg.WriteTxnMarkersRequestMarker, topic string, partition int32) Mark {
	return Mark{
		Topic: topic, Partition: partition, ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch,
		CoordinatorEpoch: m.CoordinatorEpoch, Commit: m.Committed, Raised: m.TransactionVersion >= raisingTransaction,
	}
}
