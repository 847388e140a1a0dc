package cluster

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/simulation"
	"github.com/skeinstream/skein/internal/txn"
)

// Fetch asks for what is committed in a partition. It is answered by a Fetched.
type Fetch struct {
	At   Partition
	From int64
	Most int
	// Dirty is read_uncommitted.
	Dirty bool
}

// Fetched are the offsets of records, where to go on, and the last stable offset.
type Fetched struct {
	Offsets      []int64
	Next, Stable int64
}

// Ask takes a request off the network: a kmsg.Request, a Fetch or a Produce. What it is answered with goes out when it is durable.
// Some requests are never answered.
func (c *Cluster) Ask(from Client, req any, answer func(resp any)) {
	switch r := req.(type) {
	case Fetch:
		offsets, next := c.logs[r.At].Read(r.From, r.Most, r.Dirty)
		answer(Fetched{offsets, next, c.logs[r.At].Stable()})
	case Produce:
		c.produce(from, r, answer)
	case *kmsg.InitProducerIDRequest, *kmsg.AddPartitionsToTxnRequest, *kmsg.AddOffsetsToTxnRequest, *kmsg.EndTxnRequest,
		*kmsg.DescribeTransactionsRequest:
		c.askTxns(from, req.(kmsg.Request), answer)
	case *kmsg.TxnOffsetCommitRequest:
		if c.absent(c.groups, r, answer) || c.absent(c.txns, r, answer) {
			return
		}
		c.txnOffsetCommit(from, r, answer)
	default:
		c.askGroups(from, req.(kmsg.Request), answer)
	}
}

// absent answers for a coordinator that is not there. Some brokers say nothing.
func (c *Cluster) absent(at *simulation.Coordinator, req kmsg.Request, answer func(any)) bool {
	if at.Up() {
		return false
	}
	code := simulation.Pick(c.dice, kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code, kerr.CoordinatorLoadInProgress.Code, 0)
	if code != 0 {
		answer(refusal(req, code))
	}
	return true
}

func (c *Cluster) askGroups(from Client, req kmsg.Request, answer func(any)) {
	if c.absent(c.groups, req, answer) {
		return
	}
	var in any
	switch r := req.(type) {
	case *kmsg.JoinGroupRequest:
		c.ids++
		in = group.Join{Request: r, ClientID: from.ID, Host: "/127.0.0.1", NewID: strconv.Itoa(c.ids)}
	case *kmsg.SyncGroupRequest:
		in = group.Sync{Request: r}
	case *kmsg.HeartbeatRequest:
		in = group.Heartbeat{Request: r}
	case *kmsg.LeaveGroupRequest:
		in = group.Leave{Request: r}
	case *kmsg.OffsetCommitRequest:
		in = group.Commit{Request: r}
	case *kmsg.DescribeGroupsRequest:
		in = group.Describe{Group: r.Groups[0], Version: 6}
	case *kmsg.OffsetFetchRequest:
		in = group.Fetch{Group: r.Groups[0].Group, Topics: r.Groups[0].Topics, RequireStable: r.RequireStable}
	default:
		panic(fmt.Sprintf("eossim: nobody sends a %T", req))
	}
	c.groups.Ask(from.Life, in, func(value any) { answer(response(value)) })
}

// response makes one of what the machine of groups says.
func response(value any) any {
	switch v := value.(type) {
	case *kmsg.DescribeGroupsResponseGroup:
		resp := kmsg.NewPtrDescribeGroupsResponse()
		resp.Groups = append(resp.Groups, *v)
		return resp
	case *kmsg.OffsetFetchResponseGroup:
		resp := kmsg.NewPtrOffsetFetchResponse()
		resp.Groups = append(resp.Groups, *v)
		return resp
	}
	return value
}

func (from Client) caller(version int16) txn.Caller {
	return txn.Caller{Connection: from.Connection, Version: version}
}

func (c *Cluster) askTxns(from Client, req kmsg.Request, answer func(any)) {
	if c.absent(c.txns, req, answer) {
		return
	}
	caller := from.caller(req.GetVersion())
	switch r := req.(type) {
	case *kmsg.InitProducerIDRequest:
		c.initialise(from, caller, r, answer)
	case *kmsg.DescribeTransactionsRequest:
		c.describe(from, r.TransactionalIDs[0], func(s *kmsg.DescribeTransactionsResponseTransactionState) {
			resp := kmsg.NewPtrDescribeTransactionsResponse()
			resp.TransactionStates = append(resp.TransactionStates, *s)
			answer(resp)
		})
	case *kmsg.AddPartitionsToTxnRequest:
		c.addPartitions(from, caller, r, answer)
	case *kmsg.AddOffsetsToTxnRequest:
		in := txn.Add{
			Caller: caller, TransactionalID: r.TransactionalID, ProducerID: r.ProducerID, Epoch: r.ProducerEpoch,
			Partitions: []txn.Partition{offsets}, Offsets: true,
		}
		c.add(from, in, func(a txn.Added) { answer(refusal(req, a.Code)) })
	case *kmsg.EndTxnRequest:
		in := txn.End{
			Caller: caller, Ends: c.ends(), TransactionalID: r.TransactionalID, ProducerID: r.ProducerID, Epoch: r.ProducerEpoch, Commit: r.Commit,
		}
		c.txns.Ask(from.Life, in, func(value any) {
			e := value.(txn.Ended)
			if e.Late {
				return
			}
			resp := kmsg.NewPtrEndTxnResponse()
			resp.Version, resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = r.Version, e.Code, e.ProducerID, e.Epoch
			answer(resp)
		})
	}
}

// initialise: Kafka does not look at who asks where a transaction is open, but fences whoever has it.
func (c *Cluster) initialise(from Client, caller txn.Caller, r *kmsg.InitProducerIDRequest, answer func(any)) {
	ask := func(r *kmsg.InitProducerIDRequest) {
		c.txns.Ask(from.Life, txn.Init{Caller: caller, Ends: c.ends(), Request: r}, answer)
	}
	if !c.Kafka || r.ProducerID < 0 {
		ask(r)
		return
	}
	c.describe(from, *r.TransactionalID, func(s *kmsg.DescribeTransactionsResponseTransactionState) {
		if s.State == "Ongoing" && (s.ProducerID != r.ProducerID || s.ProducerEpoch != r.ProducerEpoch) {
			anybody := *r
			anybody.ProducerID, anybody.ProducerEpoch = -1, -1
			r = &anybody
		}
		ask(r)
	})
}

func (c *Cluster) describe(from Client, id string, then func(*kmsg.DescribeTransactionsResponseTransactionState)) {
	c.txns.Ask(from.Life, txn.Describe{TransactionalID: id}, func(value any) {
		then(value.(*kmsg.DescribeTransactionsResponseTransactionState))
	})
}

// add asks the coordinator of transactions about partitions. A late request is not answered: its connection is closed.
func (c *Cluster) add(from Client, in txn.Add, then func(txn.Added)) {
	if !c.txns.Up() {
		then(txn.Added{Code: kerr.NotCoordinator.Code})
		return
	}
	c.txns.Ask(from.Life, in, func(value any) {
		if a := value.(txn.Added); !a.Late {
			then(a)
		}
	})
}

func (c *Cluster) addPartitions(from Client, caller txn.Caller, r *kmsg.AddPartitionsToTxnRequest, answer func(any)) {
	in := txn.Add{Caller: caller, TransactionalID: r.TransactionalID, ProducerID: r.ProducerID, Epoch: r.ProducerEpoch}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			in.Partitions = append(in.Partitions, txn.Partition{Topic: t.Topic, Partition: p})
		}
	}
	c.add(from, in, func(a txn.Added) { answer(refusal(r, a.Code)) })
}

// The versions of TxnOffsetCommit from which it knows TRANSACTION_ABORTABLE, and adds the partition of the offsets itself (KIP-890).
const (
	txnCommitAbortable = 4
	txnCommitAdds      = 5
)

// txnOffsetCommit asks for the group's guard, then the transaction, then has the group decide (R-K19).
func (c *Cluster) txnOffsetCommit(from Client, r *kmsg.TxnOffsetCommitRequest, answer func(any)) {
	c.groups.Ask(from.Life, group.Guard{Group: r.Group, ProducerID: r.ProducerID}, func(value any) {
		in := txn.Add{
			Caller: from.caller(r.Version), TransactionalID: r.TransactionalID, ProducerID: r.ProducerID, Epoch: r.ProducerEpoch,
			Partitions: []txn.Partition{offsets}, VerifyOnly: r.Version < txnCommitAdds, Implicit: true, Offsets: true,
		}
		c.add(from, in, func(a txn.Added) {
			code := a.Code
			if code == 0 && len(a.Codes) > 0 {
				code = a.Codes[0]
			}
			switch {
			case code != 0:
				answer(refusal(r, txnCommitCode(r.Version, code)))
			case !c.groups.Up():
				answer(refusal(r, kerr.NotCoordinator.Code))
			default:
				c.groups.Ask(from.Life, group.TxnCommit{Request: r, Token: value.(group.GuardToken)}, answer)
			}
		})
	})
}

// txnCommitCode is what a version says for an answer of the coordinator of transactions (T36).
func txnCommitCode(version, code int16) int16 {
	switch {
	case version >= txnCommitAbortable:
		return code
	case code == kerr.TransactionAbortable.Code:
		return kerr.InvalidTxnState.Code
	case code == kerr.ConcurrentTransactions.Code:
		return kerr.CoordinatorLoadInProgress.Code
	}
	return code
}
