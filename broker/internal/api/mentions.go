package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// checkMentions holds a decoded request to partitionsMax of whatever it is about: each is answered, and what an answer
// takes does not depend on how small the question was.
func checkMentions(req kmsg.Request) error {
	if n := mentions(req); n > partitionsMax {
		return fmt.Errorf("it names %d topics, partitions, groups, members, resources or settings, where at most %d are taken", n, partitionsMax)
	}
	return nil
}

// mentions counts what a request names. Produce and Fetch count while they are decoded.
func mentions(req kmsg.Request) int {
	switch r := req.(type) {
	case *kmsg.MetadataRequest:
		return len(r.Topics)
	case *kmsg.DeleteTopicsRequest:
		return len(r.TopicNames) + len(r.Topics)
	case *kmsg.DescribeTopicPartitionsRequest:
		return len(r.Topics)
	case *kmsg.ListOffsetsRequest:
		return sum(r.Topics, func(t kmsg.ListOffsetsRequestTopic) int { return len(t.Partitions) })
	case *kmsg.DeleteRecordsRequest:
		return sum(r.Topics, func(t kmsg.DeleteRecordsRequestTopic) int { return len(t.Partitions) })
	case *kmsg.OffsetForLeaderEpochRequest:
		return sum(r.Topics, func(t kmsg.OffsetForLeaderEpochRequestTopic) int { return len(t.Partitions) })
	case *kmsg.DescribeLogDirsRequest:
		return sum(r.Topics, func(t kmsg.DescribeLogDirsRequestTopic) int { return len(t.Partitions) })
	case *kmsg.DescribeProducersRequest:
		return sum(r.Topics, func(t kmsg.DescribeProducersRequestTopic) int { return len(t.Partitions) })
	default:
		return mentionsInChanges(req)
	}
}

// mentionsInChanges counts for the requests about settings and those that change what there is.
func mentionsInChanges(req kmsg.Request) int {
	switch r := req.(type) {
	case *kmsg.CreateTopicsRequest:
		return sum(r.Topics, func(t kmsg.CreateTopicsRequestTopic) int { return len(t.ReplicaAssignment) + len(t.Configs) })
	case *kmsg.CreatePartitionsRequest:
		return sum(r.Topics, func(t kmsg.CreatePartitionsRequestTopic) int { return len(t.Assignment) })
	case *kmsg.DescribeConfigsRequest:
		return sum(r.Resources, func(c kmsg.DescribeConfigsRequestResource) int { return len(c.ConfigNames) })
	case *kmsg.AlterConfigsRequest:
		return sum(r.Resources, func(c kmsg.AlterConfigsRequestResource) int { return len(c.Configs) })
	case *kmsg.IncrementalAlterConfigsRequest:
		return sum(r.Resources, func(c kmsg.IncrementalAlterConfigsRequestResource) int { return len(c.Configs) })
	default:
		return mentionsOfGroups(req)
	}
}

// mentionsOfGroups counts for the requests about groups.
func mentionsOfGroups(req kmsg.Request) int {
	switch r := req.(type) {
	case *kmsg.OffsetCommitRequest:
		return sum(r.Topics, func(t kmsg.OffsetCommitRequestTopic) int { return len(t.Partitions) })
	case *kmsg.OffsetFetchRequest:
		old := sum(r.Topics, func(t kmsg.OffsetFetchRequestTopic) int { return len(t.Partitions) })
		return old + sum(r.Groups, func(g kmsg.OffsetFetchRequestGroup) int {
			return sum(g.Topics, func(t kmsg.OffsetFetchRequestGroupTopic) int { return len(t.Partitions) })
		})
	case *kmsg.OffsetDeleteRequest:
		return sum(r.Topics, func(t kmsg.OffsetDeleteRequestTopic) int { return len(t.Partitions) })
	case *kmsg.FindCoordinatorRequest:
		return len(r.CoordinatorKeys)
	case *kmsg.JoinGroupRequest:
		return len(r.Protocols)
	case *kmsg.SyncGroupRequest:
		return len(r.GroupAssignment)
	case *kmsg.LeaveGroupRequest:
		return len(r.Members)
	case *kmsg.DescribeGroupsRequest:
		return len(r.Groups)
	case *kmsg.DeleteGroupsRequest:
		return len(r.Groups)
	case *kmsg.ListGroupsRequest:
		return len(r.StatesFilter) + len(r.TypesFilter)
	default:
		return mentionsOfTransactions(req)
	}
}

// mentionsOfTransactions counts for the requests about transactions.
func mentionsOfTransactions(req kmsg.Request) int {
	switch r := req.(type) {
	case *kmsg.AddPartitionsToTxnRequest:
		own := sum(r.Topics, func(t kmsg.AddPartitionsToTxnRequestTopic) int { return len(t.Partitions) })
		return own + sum(r.Transactions, func(x kmsg.AddPartitionsToTxnRequestTransaction) int {
			return sum(x.Topics, func(t kmsg.AddPartitionsToTxnRequestTransactionTopic) int { return len(t.Partitions) })
		})
	case *kmsg.WriteTxnMarkersRequest:
		return sum(r.Markers, func(m kmsg.WriteTxnMarkersRequestMarker) int {
			return sum(m.Topics, func(t kmsg.WriteTxnMarkersRequestMarkerTopic) int { return len(t.Partitions) })
		})
	case *kmsg.TxnOffsetCommitRequest:
		return sum(r.Topics, func(t kmsg.TxnOffsetCommitRequestTopic) int { return len(t.Partitions) })
	case *kmsg.DescribeTransactionsRequest:
		return len(r.TransactionalIDs)
	case *kmsg.ListTransactionsRequest:
		return len(r.StateFilters) + len(r.ProducerIDFilters)
	case *kmsg.UpdateFeaturesRequest:
		return len(r.FeatureUpdates)
	default:
		return 0
	}
}

// sum counts the elements of an array and what is in each.
func sum[T any](all []T, in func(T) int) int {
	n := len(all)
	for _, one := range all {
		n += in(one)
	}
	return n
}
