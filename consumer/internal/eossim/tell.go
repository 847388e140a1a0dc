package eossim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/eossim/cluster"
	"github.com/skeinstream/skein/internal/transaction"
	"github.com/skeinstream/skein/internal/work"
)

func sortedOffsets(all map[transaction.Partition]transaction.Offset) []transaction.Partition {
	return slices.SortedFunc(maps.Keys(all), func(a, b transaction.Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}

func word(code int16) string {
	if code == 0 {
		return "well"
	}
	return kerr.TypedErrorForCode(code).Message
}

// tellAsk is a request in a few words.
func tellAsk(req any) string {
	switch r := req.(type) {
	case *kmsg.JoinGroupRequest:
		return fmt.Sprintf("joins as %q: %s", r.MemberID, text(r.Reason))
	case *kmsg.SyncGroupRequest:
		return fmt.Sprintf("syncs in generation %d with %d assignments", r.Generation, len(r.GroupAssignment))
	case *kmsg.InitProducerIDRequest:
		return fmt.Sprintf("InitProducerId %d/%d", r.ProducerID, r.ProducerEpoch)
	case *kmsg.EndTxnRequest:
		return fmt.Sprintf("EndTxn v%d %d/%d commit %t", r.Version, r.ProducerID, r.ProducerEpoch, r.Commit)
	case *kmsg.TxnOffsetCommitRequest:
		var at []string
		for _, t := range r.Topics {
			at = append(at, fmt.Sprintf("%s-%d:%d", t.Topic, t.Partitions[0].Partition, t.Partitions[0].Offset))
		}
		return fmt.Sprintf("TxnOffsetCommit v%d %d/%d generation %d %s", r.Version, r.ProducerID, r.ProducerEpoch, r.Generation, strings.Join(at, " "))
	case cluster.Produce:
		var at []string
		for _, b := range r.Batches {
			at = append(at, fmt.Sprintf("%v#%d%v", b.At, b.Sequence, b.Values))
		}
		return fmt.Sprintf("Produce v%d %d/%d %s", r.Version, r.Producer, r.Epoch, strings.Join(at, " "))
	case kmsg.Request:
		return kmsg.NameForKey(r.Key())
	}
	return fmt.Sprintf("%T", req)
}

func (e effect) String() string { return fmt.Sprintf("%v@%d", e.of.at, e.of.offset) }

// tellAnswer is an answer in a few words.
func tellAnswer(resp any, err error) string {
	if err != nil {
		return err.Error()
	}
	return tell(resp)
}

func tell(resp any) string {
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		return fmt.Sprintf("JoinGroup: %s, generation %d, %s led by %s, %s", word(r.ErrorCode), r.Generation, r.MemberID, r.LeaderID, text(r.Protocol))
	case *kmsg.SyncGroupResponse:
		return "SyncGroup: " + word(r.ErrorCode)
	case *kmsg.HeartbeatResponse:
		return "Heartbeat: " + word(r.ErrorCode)
	case *kmsg.InitProducerIDResponse:
		return fmt.Sprintf("%s, %d/%d", word(r.ErrorCode), r.ProducerID, r.ProducerEpoch)
	case *kmsg.EndTxnResponse:
		return fmt.Sprintf("%s, %d/%d", word(r.ErrorCode), r.ProducerID, r.ProducerEpoch)
	case *kmsg.TxnOffsetCommitResponse:
		return tellTopics(resp)
	case *kmsg.AddPartitionsToTxnResponse:
		return tellTopics(resp)
	case *kmsg.AddOffsetsToTxnResponse:
		return word(r.ErrorCode)
	case cluster.Produced:
		var all []string
		for _, code := range r.Codes {
			all = append(all, word(code))
		}
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%T", resp)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// tellInput is how an act has ended.
func tellInput(in work.Input) string {
	switch in := in.(type) {
	case work.Processed:
		return fmt.Sprintf(" %v %v", in.Outcome, in.Reached)
	case work.Committed:
		return fmt.Sprintf(" %v %v", in.Outcome, in.Err)
	case work.Aborted:
		return fmt.Sprintf(" %v %v", in.Outcome, in.Err)
	case work.Renewed:
		return fmt.Sprintf(" %v %v", in.Outcome, in.Err)
	case work.Revoked:
		return fmt.Sprintf(" passed %v", in.Passed)
	}
	return ""
}

// tellTopics is the first code of an answer about partitions.
func tellTopics(resp any) string {
	switch r := resp.(type) {
	case *kmsg.TxnOffsetCommitResponse:
		if len(r.Topics) > 0 {
			return word(r.Topics[0].Partitions[0].ErrorCode)
		}
	case *kmsg.AddPartitionsToTxnResponse:
		if len(r.Topics) > 0 {
			return word(r.Topics[0].Partitions[0].ErrorCode)
		}
	}
	return "nothing"
}
