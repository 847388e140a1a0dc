package producer

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/transaction"
)

// byHand sends what franz-go does not: once, so that what a lost answer means is decided by the machine alone.
func (p *Producer) byHand(ctx context.Context, s transaction.Step) transaction.Answer {
	switch s.Act {
	case transaction.AddOffsets:
		return p.addOffsets(ctx, s)
	case transaction.CommitOffsets:
		return p.commitOffsets(ctx, s)
	case transaction.EndByHand:
		return p.endByHand(ctx, s)
	case transaction.Look:
		return p.look(ctx)
	case transaction.Fence:
		return p.prove(ctx, s)
	}
	return transaction.Answer{Err: fmt.Errorf("there is no act %d: %w", s.Act, kerr.UnsupportedVersion)}
}

func (p *Producer) addOffsets(ctx context.Context, s transaction.Step) transaction.Answer {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = p.cfg.TransactionalID, s.ID, s.Epoch, s.Group.Name
	resp, err := p.ask(ctx, p.ownCoordinator(), req)
	if err != nil {
		return transaction.Answer{Err: err}
	}
	return p.answered(p.ownCoordinator(), req, resp.(*kmsg.AddOffsetsToTxnResponse).ErrorCode)
}

func (p *Producer) commitOffsets(ctx context.Context, s transaction.Step) transaction.Answer {
	at := coordinator{group: true, key: s.Group.Name}
	if err := p.hears(ctx, s.Group.Name, s.Group.Offsets); err != nil {
		return transaction.Answer{Err: unsent(err)}
	}
	p.hearing.offered[s.Group.Name] = s.Group.Offsets
	req := capped{p.txnOffsetCommit(s), s.Version}
	resp, err := p.ask(ctx, at, req)
	if err != nil {
		return transaction.Answer{Err: err}
	}
	committed := resp.(*kmsg.TxnOffsetCommitResponse)
	a := transaction.Answer{Version: committed.Version}
	silent := len(s.Group.Offsets)
	for _, t := range committed.Topics {
		for _, part := range t.Partitions {
			if _, asked := s.Group.Offsets[transaction.Partition{Topic: t.Topic, Partition: part.Partition}]; asked {
				silent--
			}
			if err := kerr.ErrorForCode(part.ErrorCode); err != nil {
				p.moved(at, err)
				a.Refused = append(a.Refused, fmt.Errorf("TxnOffsetCommit of %s-%d for group %s: %w", t.Topic, part.Partition, s.Group.Name, err))
			}
		}
	}
	if silent > 0 && len(a.Refused) == 0 {
		a.Err = fmt.Errorf("TxnOffsetCommit for group %s has had no answer for %d of %d partitions", s.Group.Name, silent, len(s.Group.Offsets))
	}
	return a
}

func (p *Producer) txnOffsetCommit(s transaction.Step) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.cfg.TransactionalID, s.ID, s.Epoch
	req.Group, req.Generation, req.MemberID = s.Group.Name, s.Group.Generation, s.Group.Member
	if s.Group.Instance != "" {
		req.InstanceID = &s.Group.Instance
	}
	topics := map[string]int{}
	for part, offset := range s.Group.Offsets {
		at, ok := topics[part.Topic]
		if !ok {
			at = len(req.Topics)
			topics[part.Topic] = at
			t := kmsg.NewTxnOffsetCommitRequestTopic()
			t.Topic = part.Topic
			req.Topics = append(req.Topics, t)
		}
		o := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		o.Partition, o.Offset, o.LeaderEpoch, o.Metadata = part.Partition, offset.At, offset.LeaderEpoch, &offset.Metadata
		req.Topics[at].Partitions = append(req.Topics[at].Partitions, o)
	}
	return req
}

func (p *Producer) endByHand(ctx context.Context, s transaction.Step) transaction.Answer {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.cfg.TransactionalID, s.ID, s.Epoch, s.Commit
	at := p.ownCoordinator()
	if s.Version > explicitEnd {
		if err := p.has(ctx, at, req, s.Version); err != nil {
			return transaction.Answer{Err: err}
		}
	}
	resp, err := p.ask(ctx, at, capped{req, s.Version})
	if err != nil {
		return transaction.Answer{Err: err}
	}
	return p.answered(at, req, resp.(*kmsg.EndTxnResponse).ErrorCode)
}

// explicitEnd is the newest EndTxn that leaves the epoch as it is.
const explicitEnd = 4

// look asks whose transaction is open (KIP-664).
func (p *Producer) look(ctx context.Context) transaction.Answer {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{p.cfg.TransactionalID}
	at := p.ownCoordinator()
	if err := p.has(ctx, at, req, 0); err != nil {
		return transaction.Answer{Err: err}
	}
	resp, err := p.ask(ctx, at, req)
	if err != nil {
		return transaction.Answer{Err: err}
	}
	states := resp.(*kmsg.DescribeTransactionsResponse).TransactionStates
	if len(states) == 0 || states[0].ErrorCode == kerr.TransactionalIDNotFound.Code {
		return transaction.Answer{}
	}
	s := states[0]
	if strings.HasPrefix(s.State, "Prepare") {
		return transaction.Answer{Err: fmt.Errorf("the transaction is being ended: %w", kerr.ConcurrentTransactions)}
	}
	a := p.answered(at, req, s.ErrorCode)
	a.ID, a.Epoch, a.Ongoing = s.ProducerID, s.ProducerEpoch, s.State == "Ongoing"
	return a
}

// provenSince is the InitProducerId of Kafka 2.5, which takes the producer id and epoch of who asks (KIP-360). An older one would fence
// whoever has come since.
const provenSince = 3

func (p *Producer) prove(ctx context.Context, s transaction.Step) transaction.Answer {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &p.cfg.TransactionalID, int32(p.cfg.TransactionTimeout.Milliseconds())
	req.ProducerID, req.ProducerEpoch = s.ID, s.Epoch
	at := p.ownCoordinator()
	if err := p.has(ctx, at, req, provenSince); err != nil {
		return transaction.Answer{Err: err}
	}
	resp, err := p.ask(ctx, at, req)
	if err != nil {
		return transaction.Answer{Err: err}
	}
	return p.answered(at, req, resp.(*kmsg.InitProducerIDResponse).ErrorCode)
}

// answered is what a code means to the machine, with the request it is the answer to.
func (p *Producer) answered(at coordinator, req kmsg.Request, code int16) transaction.Answer {
	err := kerr.ErrorForCode(code)
	if err == nil {
		return transaction.Answer{}
	}
	p.moved(at, err)
	return transaction.Answer{Err: fmt.Errorf("%s: %w", kmsg.NameForKey(req.Key()), err)}
}
