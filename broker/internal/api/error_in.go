package api

import "github.com/twmb/franz-go/pkg/kmsg"

// errorIn returns the error that the metrics count a response under: that of the whole, or else the first of its parts.
// Produce and Fetch tell theirs themselves.
func errorIn(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.ApiVersionsResponse:
		return r.ErrorCode
	case *kmsg.MetadataResponse:
		return errorInMetadata(r)
	case *kmsg.DescribeClusterResponse:
		return r.ErrorCode
	case *kmsg.ListConfigResourcesResponse:
		return r.ErrorCode
	case *kmsg.DescribeTopicPartitionsResponse:
		return first(r.Topics, func(t *kmsg.DescribeTopicPartitionsResponseTopic) int16 {
			return or(t.ErrorCode, first(t.Partitions, func(p *kmsg.DescribeTopicPartitionsResponseTopicPartition) int16 { return p.ErrorCode }))
		})
	case *kmsg.DescribeLogDirsResponse:
		return or(r.ErrorCode, first(r.Dirs, func(d *kmsg.DescribeLogDirsResponseDir) int16 { return d.ErrorCode }))
	default:
		return or(errorInGroups(resp), or(errorInTransactions(resp), or(errorInPartitions(resp), errorInChanges(resp))))
	}
}

func errorInMetadata(r *kmsg.MetadataResponse) int16 {
	return or(r.ErrorCode, first(r.Topics, func(t *kmsg.MetadataResponseTopic) int16 {
		return or(t.ErrorCode, first(t.Partitions, func(p *kmsg.MetadataResponseTopicPartition) int16 { return p.ErrorCode }))
	}))
}

// errorInGroups is errorIn for requests about groups.
func errorInGroups(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.HeartbeatResponse:
		return r.ErrorCode
	case *kmsg.OffsetCommitResponse:
		return first(r.Topics, func(t *kmsg.OffsetCommitResponseTopic) int16 {
			return first(t.Partitions, func(p *kmsg.OffsetCommitResponseTopicPartition) int16 { return p.ErrorCode })
		})
	case *kmsg.OffsetFetchResponse:
		return errorInOffsets(r)
	case *kmsg.JoinGroupResponse:
		return r.ErrorCode
	case *kmsg.SyncGroupResponse:
		return r.ErrorCode
	case *kmsg.LeaveGroupResponse:
		return or(r.ErrorCode, first(r.Members, func(m *kmsg.LeaveGroupResponseMember) int16 { return m.ErrorCode }))
	case *kmsg.FindCoordinatorResponse:
		return or(r.ErrorCode, first(r.Coordinators, func(c *kmsg.FindCoordinatorResponseCoordinator) int16 { return c.ErrorCode }))
	case *kmsg.DescribeGroupsResponse:
		return first(r.Groups, func(g *kmsg.DescribeGroupsResponseGroup) int16 { return g.ErrorCode })
	case *kmsg.ListGroupsResponse:
		return r.ErrorCode
	case *kmsg.DeleteGroupsResponse:
		return first(r.Groups, func(g *kmsg.DeleteGroupsResponseGroup) int16 { return g.ErrorCode })
	case *kmsg.OffsetDeleteResponse:
		return or(r.ErrorCode, first(r.Topics, func(t *kmsg.OffsetDeleteResponseTopic) int16 {
			return first(t.Partitions, func(p *kmsg.OffsetDeleteResponseTopicPartition) int16 { return p.ErrorCode })
		}))
	default:
		return 0
	}
}

// errorInTransactions is errorIn for requests about transactions.
func errorInTransactions(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.InitProducerIDResponse:
		return r.ErrorCode
	case *kmsg.AddPartitionsToTxnResponse:
		return errorInAdditions(r)
	case *kmsg.AddOffsetsToTxnResponse:
		return r.ErrorCode
	case *kmsg.EndTxnResponse:
		return r.ErrorCode
	case *kmsg.TxnOffsetCommitResponse:
		return first(r.Topics, func(t *kmsg.TxnOffsetCommitResponseTopic) int16 {
			return first(t.Partitions, func(p *kmsg.TxnOffsetCommitResponseTopicPartition) int16 { return p.ErrorCode })
		})
	case *kmsg.WriteTxnMarkersResponse:
		return first(r.Markers, func(m *kmsg.WriteTxnMarkersResponseMarker) int16 {
			return first(m.Topics, func(t *kmsg.WriteTxnMarkersResponseMarkerTopic) int16 {
				return first(t.Partitions, func(p *kmsg.WriteTxnMarkersResponseMarkerTopicPartition) int16 { return p.ErrorCode })
			})
		})
	case *kmsg.DescribeTransactionsResponse:
		return first(r.TransactionStates, func(t *kmsg.DescribeTransactionsResponseTransactionState) int16 { return t.ErrorCode })
	case *kmsg.ListTransactionsResponse:
		return r.ErrorCode
	default:
		return 0
	}
}

func errorInAdditions(r *kmsg.AddPartitionsToTxnResponse) int16 {
	own := first(r.Topics, func(t *kmsg.AddPartitionsToTxnResponseTopic) int16 {
		return first(t.Partitions, func(p *kmsg.AddPartitionsToTxnResponseTopicPartition) int16 { return p.ErrorCode })
	})
	return or(r.ErrorCode, or(own, first(r.Transactions, func(x *kmsg.AddPartitionsToTxnResponseTransaction) int16 {
		return first(x.Topics, func(t *kmsg.AddPartitionsToTxnResponseTransactionTopic) int16 {
			return first(t.Partitions, func(p *kmsg.AddPartitionsToTxnResponseTransactionTopicPartition) int16 { return p.ErrorCode })
		})
	})))
}

func errorInOffsets(r *kmsg.OffsetFetchResponse) int16 {
	old := first(r.Topics, func(t *kmsg.OffsetFetchResponseTopic) int16 {
		return first(t.Partitions, func(p *kmsg.OffsetFetchResponseTopicPartition) int16 { return p.ErrorCode })
	})
	return or(r.ErrorCode, or(old, first(r.Groups, func(g *kmsg.OffsetFetchResponseGroup) int16 {
		return or(g.ErrorCode, first(g.Topics, func(t *kmsg.OffsetFetchResponseGroupTopic) int16 {
			return first(t.Partitions, func(p *kmsg.OffsetFetchResponseGroupTopicPartition) int16 { return p.ErrorCode })
		}))
	})))
}

// errorInPartitions is errorIn for requests about partitions.
func errorInPartitions(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.ListOffsetsResponse:
		return first(r.Topics, func(t *kmsg.ListOffsetsResponseTopic) int16 {
			return first(t.Partitions, func(p *kmsg.ListOffsetsResponseTopicPartition) int16 { return p.ErrorCode })
		})
	case *kmsg.DeleteRecordsResponse:
		return first(r.Topics, func(t *kmsg.DeleteRecordsResponseTopic) int16 {
			return first(t.Partitions, func(p *kmsg.DeleteRecordsResponseTopicPartition) int16 { return p.ErrorCode })
		})
	case *kmsg.OffsetForLeaderEpochResponse:
		return first(r.Topics, func(t *kmsg.OffsetForLeaderEpochResponseTopic) int16 {
			return first(t.Partitions, func(p *kmsg.OffsetForLeaderEpochResponseTopicPartition) int16 { return p.ErrorCode })
		})
	case *kmsg.DescribeProducersResponse:
		return first(r.Topics, func(t *kmsg.DescribeProducersResponseTopic) int16 {
			return first(t.Partitions, func(p *kmsg.DescribeProducersResponseTopicPartition) int16 { return p.ErrorCode })
		})
	default:
		return 0
	}
}

// errorInChanges is errorIn for requests that change what there is, and for those about settings.
func errorInChanges(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.CreateTopicsResponse:
		return first(r.Topics, func(t *kmsg.CreateTopicsResponseTopic) int16 { return t.ErrorCode })
	case *kmsg.DeleteTopicsResponse:
		return first(r.Topics, func(t *kmsg.DeleteTopicsResponseTopic) int16 { return t.ErrorCode })
	case *kmsg.CreatePartitionsResponse:
		return first(r.Topics, func(t *kmsg.CreatePartitionsResponseTopic) int16 { return t.ErrorCode })
	case *kmsg.DescribeConfigsResponse:
		return first(r.Resources, func(c *kmsg.DescribeConfigsResponseResource) int16 { return c.ErrorCode })
	case *kmsg.UpdateFeaturesResponse:
		return or(r.ErrorCode, first(r.Results, func(f *kmsg.UpdateFeaturesResponseResult) int16 { return f.ErrorCode }))
	case *kmsg.AlterConfigsResponse:
		return first(r.Resources, func(c *kmsg.AlterConfigsResponseResource) int16 { return c.ErrorCode })
	case *kmsg.IncrementalAlterConfigsResponse:
		return first(r.Resources, func(c *kmsg.IncrementalAlterConfigsResponseResource) int16 { return c.ErrorCode })
	default:
		return 0
	}
}

// first is the first error of all.
func first[T any](all []T, of func(*T) int16) int16 {
	for i := range all {
		if code := of(&all[i]); code != 0 {
			return code
		}
	}
	return 0
}

func or(code, otherwise int16) int16 {
	if code != 0 {
		return code
	}
	return otherwise
}
