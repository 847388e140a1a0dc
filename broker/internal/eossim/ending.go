package eossim

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/eossim/history"
)

// add adds the partitions of records to the transaction, for protocols where clients do that.
func (p *producer) add(writes []*history.Write) error {
	if p.speaks == raising {
		return nil
	}
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.id, p.producer, p.epoch
	var fresh []history.Partition
	for _, w := range writes {
		if p.added[w.At] {
			continue
		}
		p.added[w.At] = true
		fresh = append(fresh, w.At)
		req.Topics = append(req.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: w.At.Topic, Partitions: []int32{w.At.Index}})
	}
	if len(fresh) == 0 {
		return nil
	}
	p.tried = true
	return p.within(req, fmt.Sprint(fresh), func(r kmsg.Response) int16 {
		for _, t := range r.(*kmsg.AddPartitionsToTxnResponse).Topics {
			for _, q := range t.Partitions {
				if q.ErrorCode != 0 {
					return q.ErrorCode
				}
			}
		}
		return 0
	})
}

// within sends a request of the transaction until it is answered. What refuses it ends the transaction.
func (p *producer) within(req kmsg.Request, about string, code func(kmsg.Response) int16) error {
	began := p.w.now()
	resp, _, err := p.insist(req, p.speaks.version(kmsg.Key(req.Key())), fmt.Sprintf("%s/%d txn %d %s", p.id, p.epoch, p.txn.Number, about), code)
	switch {
	case err != nil:
		return err
	case code(resp) != 0:
		return errAbort
	}
	p.accepted(kmsg.NameForKey(req.Key()), began)
	return nil
}

// member is who commits offsets; the zero value of a client that is in no group has generation -1.
type member struct {
	id         string
	generation int32
}

func nobody() member { return member{generation: -1} }

// commit says within the transaction how far a group has come.
func (p *producer) commit(group string, by member, offsets []history.Offset) error {
	p.w.know(func(*history.History) { p.txn.Offsets = append(p.txn.Offsets, offsets...) })
	p.tried = true
	if p.speaks != raising && !p.offsets[group] {
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = p.id, group, p.producer, p.epoch
		if err := p.within(req, group, func(r kmsg.Response) int16 { return r.(*kmsg.AddOffsetsToTxnResponse).ErrorCode }); err != nil {
			return err
		}
		p.offsets[group] = true
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = p.id, group, p.producer, p.epoch, -1
	if p.speaks != ancient {
		req.Generation, req.MemberID = by.generation, by.id
	}
	for _, o := range offsets {
		req.Topics = append(req.Topics, kmsg.TxnOffsetCommitRequestTopic{Topic: o.At.Topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{
			Partition: o.At.Index, Offset: o.Next, LeaderEpoch: -1,
		}}})
	}
	p.hasty = p.dice.IntN(4) == 0
	err := p.within(req, fmt.Sprint(offsets), txnCommitCode)
	if p.hasty = false; err == errLost {
		p.unsure = true
		return errAbort
	}
	return err
}

func txnCommitCode(resp kmsg.Response) int16 {
	for _, t := range resp.(*kmsg.TxnOffsetCommitResponse).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return p.ErrorCode
			}
		}
	}
	return 0
}

// end ends the transaction and says whether it was committed. It comes back when the producer can begin another one, or with
// errFenced.
func (p *producer) end(commit bool) (bool, error) {
	defer func() { p.sent = func() {} }()
	if !p.tried {
		return false, nil
	}
	code, err := p.endOnce(commit)
	switch {
	case err != nil:
		return false, err
	case commit && code == kerr.TransactionAbortable.Code:
		commit = false
		if code, err = p.endOnce(false); err != nil {
			return false, err
		}
	}
	switch {
	case code == 0:
		return commit, p.goOn(commit)
	case !fences(code):
		p.w.problem("%s: ending transaction %d: %w", p.name, p.txn.Number, kerr.ErrorForCode(code))
		return false, errFenced
	case commit || kerr.ErrorForCode(code) != kerr.InvalidTxnState || p.speaks == ancient:
		return false, errFenced
	}
	return false, p.initialise(true) // the transaction had not begun
}

// goOn prepares for the next transaction: who does not know what may still come through takes a new epoch.
func (p *producer) goOn(committed bool) error {
	switch {
	case committed || !p.unsure || p.speaks == raising:
		p.unsure = false
		return nil
	case p.speaks == ancient:
		return errFenced
	}
	return p.initialise(true)
}

// endOnce sends EndTxn until it is answered, and notes what that says.
func (p *producer) endOnce(commit bool) (code int16, err error) {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.id, p.producer, p.epoch, commit
	t, began := p.txn, p.w.now()
	p.w.know(func(*history.History) { t.Ask(commit, began) })
	codeOf := func(r kmsg.Response) int16 { return r.(*kmsg.EndTxnResponse).ErrorCode }
	resp, lost, err := p.insist(req, p.speaks.version(kmsg.EndTxn), fmt.Sprintf("%s/%d txn %d commit=%t", p.id, p.epoch, t.Number, commit), codeOf)
	if err != nil {
		return 0, err
	}
	r := resp.(*kmsg.EndTxnResponse)
	p.w.know(func(*history.History) { t.Answer(commit, r.ErrorCode == 0, lost, p.w.now()) })
	if r.ErrorCode == 0 {
		p.accepted("EndTxn", began)
		if p.speaks == raising {
			p.became(r.ProducerID, r.ProducerEpoch)
		}
	}
	return r.ErrorCode, nil
}
