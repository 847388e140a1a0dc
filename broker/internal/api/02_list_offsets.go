package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/broker/internal/storage"
)

// ListOffsets (key 2): the offset of a time, or of one of a few marks.
//
// Version notes:
//   - 1 is the first that Kafka 4 serves: one offset and its timestamp
//   - 2 adds isolation_level, 4 current_leader_epoch and the leader epoch of the answer
//   - 6 is flexible
//   - 7 adds MAX_TIMESTAMP (KIP-734), 8 EARLIEST_LOCAL (KIP-405), 9 LATEST_TIERED (KIP-1005), 11 EARLIEST_PENDING_UPLOAD
//     (KIP-1023)
//   - 10 adds a timeout for reads from tiered storage, of which there is none
//
// The answer for a time is the first record of that time or later, with its own offset and timestamp, not its batch's (T27).
// The lookup reads from the log, so it may hold this connection, and nobody else, up for a cold disk.

func listOffsetsEntry() entry {
	return entry{key: 2, min: 1, max: 11, flexible: 6, serve: answers(kmsg.NewPtrListOffsetsRequest, (*Handler).listOffsets)}
}

// The timestamps that stand for marks, and the versions that know them.
const (
	timeLatest         = -1
	timeEarliest       = -2
	timeMax            = -3
	timeEarliestLocal  = -4
	timeLatestTiered   = -5
	timeEarliestUpload = -6
)

// markVersion is the first version that knows a mark; ok is false for a number that is none.
func markVersion(timestamp int64) (version int16, ok bool) {
	switch timestamp {
	case timeLatest, timeEarliest:
		return 1, true
	case timeMax:
		return 7, true
	case timeEarliestLocal:
		return 8, true
	case timeLatestTiered:
		return 9, true
	case timeEarliestUpload:
		return 11, true
	default:
		return 0, false
	}
}

func (h *Handler) listOffsets(_ *server.Request, req *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		rt.Partitions = h.listTopic(req, t)
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// listTopic answers for a topic's partitions. One that is named more than once is an error, once.
func (h *Handler) listTopic(req *kmsg.ListOffsetsRequest, t kmsg.ListOffsetsRequestTopic) []kmsg.ListOffsetsResponseTopicPartition {
	times := map[int32]int{}
	for _, p := range t.Partitions {
		times[p.Partition]++
	}
	out := make([]kmsg.ListOffsetsResponseTopicPartition, 0, len(times))
	for _, p := range t.Partitions {
		rp := kmsg.NewListOffsetsResponseTopicPartition()
		rp.Partition = p.Partition
		switch times[p.Partition] {
		case 0: // answered
			continue
		case 1:
			var at storage.Place
			if at, rp.ErrorCode = h.listPartition(req, t.Topic, p); rp.ErrorCode == 0 {
				rp.Offset, rp.Timestamp, rp.LeaderEpoch = at.Offset, at.Timestamp, at.Epoch
			}
		default:
			rp.ErrorCode = kerr.InvalidRequest.Code
		}
		times[p.Partition] = 0
		out = append(out, rp)
	}
	return out
}

func (h *Handler) listPartition(req *kmsg.ListOffsetsRequest, topic string, q kmsg.ListOffsetsRequestTopicPartition) (storage.Place, int16) {
	if req.IsolationLevel != 0 && req.IsolationLevel != readCommitted {
		return storage.Place{}, kerr.UnknownServerError.Code
	}
	if since, ok := markVersion(q.Timestamp); q.Timestamp < 0 && (!ok || req.Version < since) {
		return storage.Place{}, kerr.UnsupportedVersion.Code
	}
	p, code := h.partition(topic, q.Partition)
	if code == 0 {
		code = p.CheckEpoch(q.CurrentLeaderEpoch)
	}
	if code != 0 {
		return storage.Place{}, code
	}
	return placeOf(p, q.Timestamp, req.IsolationLevel == readCommitted)
}

func placeOf(p *partition.Partition, timestamp int64, committed bool) (storage.Place, int16) {
	switch timestamp {
	case timeLatest:
		return p.Latest(committed)
	case timeEarliest, timeEarliestLocal:
		return p.Earliest()
	case timeMax:
		return p.MaxTimestamp(committed)
	case timeLatestTiered, timeEarliestUpload: // nothing is in tiered storage, nor on its way there
		return storage.Place{Offset: -1, Timestamp: -1, Epoch: -1}, p.Refusal()
	default:
		return p.OffsetForTime(timestamp, committed)
	}
}
