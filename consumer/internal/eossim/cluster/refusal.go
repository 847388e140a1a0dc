package cluster

import "github.com/twmb/franz-go/pkg/kmsg"

// refusal answers a request with one code for all that it names.
func refusal(req kmsg.Request, code int16) kmsg.Response {
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		r.ErrorCode, r.Generation, r.MemberID = code, -1, req.(*kmsg.JoinGroupRequest).MemberID
	case *kmsg.SyncGroupResponse:
		r.ErrorCode = code
	case *kmsg.HeartbeatResponse:
		r.ErrorCode = code
	case *kmsg.LeaveGroupResponse:
		r.ErrorCode = code
	case *kmsg.DescribeGroupsResponse:
		g := kmsg.NewDescribeGroupsResponseGroup()
		g.ErrorCode = code
		r.Groups = append(r.Groups, g)
	case *kmsg.OffsetFetchResponse:
		g := kmsg.NewOffsetFetchResponseGroup()
		g.ErrorCode = code
		r.Groups = append(r.Groups, g)
	case *kmsg.OffsetCommitResponse:
		for _, t := range req.(*kmsg.OffsetCommitRequest).Topics {
			to := kmsg.NewOffsetCommitResponseTopic()
			to.Topic = t.Topic
			for _, p := range t.Partitions {
				to.Partitions = append(to.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: code})
			}
			r.Topics = append(r.Topics, to)
		}
	default:
		refuseTxn(req, resp, code)
	}
	return resp
}

// refuseTxn is refusal for requests of transactions.
func refuseTxn(req kmsg.Request, resp kmsg.Response, code int16) {
	switch r := resp.(type) {
	case *kmsg.InitProducerIDResponse:
		r.ErrorCode, r.ProducerID, r.ProducerEpoch = code, -1, -1
	case *kmsg.DescribeTransactionsResponse:
		s := kmsg.NewDescribeTransactionsResponseTransactionState()
		s.ErrorCode = code
		r.TransactionStates = append(r.TransactionStates, s)
	case *kmsg.AddOffsetsToTxnResponse:
		r.ErrorCode = code
	case *kmsg.EndTxnResponse:
		r.ErrorCode, r.ProducerID, r.ProducerEpoch = code, -1, -1
	case *kmsg.AddPartitionsToTxnResponse:
		for _, t := range req.(*kmsg.AddPartitionsToTxnRequest).Topics {
			to := kmsg.NewAddPartitionsToTxnResponseTopic()
			to.Topic = t.Topic
			for _, p := range t.Partitions {
				to.Partitions = append(to.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: p, ErrorCode: code})
			}
			r.Topics = append(r.Topics, to)
		}
	case *kmsg.TxnOffsetCommitResponse:
		for _, t := range req.(*kmsg.TxnOffsetCommitRequest).Topics {
			to := kmsg.NewTxnOffsetCommitResponseTopic()
			to.Topic = t.Topic
			for _, p := range t.Partitions {
				to.Partitions = append(to.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: code})
			}
			r.Topics = append(r.Topics, to)
		}
	}
}
