package eossim

import (
	"errors"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/eossim/transport"
	"github.com/skeinstream/skein/consumer/internal/membership"
	"github.com/skeinstream/skein/internal/transaction"
	"github.com/skeinstream/skein/internal/work"
)

// producing is the shell around the machine of a producer, and what package exactlyonce has around that.
type producing struct {
	m          *member
	machine    *transaction.Machine
	client     *transport.Producer
	connection uint64
	open       bool // a transaction is begun
	again      bool // its commit is to be asked for again
	closed     bool
	call       *call
}

// call is a Begin, Commit or Abort that is under way, until it is answered or its caller goes.
type call struct {
	done   func(error)
	over   bool
	answer func(transaction.Answer) // of the act that is under way
}

func newProducing(m *member) *producing {
	p := &producing{m: m, machine: transaction.New()}
	p.renew()
	return p
}

// renew makes a client.
func (p *producing) renew() {
	m := p.m
	p.connect()
	p.client = transport.New(transport.Config{
		TransactionalID: m.id, Timeout: m.w.script.timeout(), Version2: m.w.script.Version == 2, Tries: max(1, m.w.script.Tries),
		Clock: m.w.Clock, Life: m.life, Dice: m.dice, Send: p.send,
	})
}

// connect opens connections anew.
func (p *producing) connect() {
	p.m.connect()
	p.connection = p.m.connection
}

// send sends a request of the client once. A connection that did not bring an answer is not used again.
func (p *producing) send(req any, done func(resp any, err error)) {
	m := p.m
	of := m.client(p.connection)
	if f := m.w.seams.request; f != nil {
		f(m, req)
	}
	copies, heard := 0, false
	m.w.net.Send(m.life, 5*time.Second, func(_ time.Duration, answer func(any)) {
		copies++
		switch left := of.Connection != p.connection; {
		case copies > 1 && (heard || !left):
			return // it is not sent again, and not over the same connection
		case left && m.w.script.Broker == "kafka" && m.w.script.Version == 1:
			return // it could not be told from one that comes in time (FR-H4)
		}
		m.w.cluster.Ask(of, req, func(resp any) {
			m.w.judge.answered(m, req, resp)
			answer(resp)
		})
	}, func(resp any, err error) {
		heard = err == nil
		if err != nil && of.Connection == p.connection {
			p.connect()
		}
		if m.w.Tracing() {
			m.w.Say("%s hears %s: %s", m.name(), tellAsk(req), tellAnswer(resp, err))
		}
		done(resp, err)
	})
}

func (p *producing) close() {
	p.closed, p.call = true, nil
	p.client.Close()
}

// produce sends a record.
func (p *producing) produce(at partition, value any) {
	if err := p.machine.Send(); err != nil {
		return // the commit will say so
	}
	done := func(err error) {
		if err != nil && !p.closed && !p.m.w.seams.ignoreFailed {
			p.machine.Failed(err)
		}
	}
	if p.m.w.net.Happens(p.m.w.script.Expire) {
		p.client.Expire(p.m.dice.Between(0, time.Second), done)
		return
	}
	p.client.Produce(at, value, done)
}

func (p *producing) begin(until time.Time, done func(work.Outcome, error)) {
	if p.open {
		done(work.Done, nil)
		return
	}
	p.run(until, p.machine.Begin(), func(err error) {
		p.open = err == nil
		done(outcome(err), err)
	})
}

// commit sends offsets and commits, as package exactlyonce does.
func (p *producing) commit(until time.Time, offsets []work.Reached, as membership.Generation, done func(work.Outcome, error)) {
	p.begin(until, func(o work.Outcome, err error) {
		if o != work.Done {
			done(o, err)
			return
		}
		g := transaction.Group{Name: groupName, Generation: as.ID, Member: as.Member, Instance: as.Instance, Offsets: map[transaction.Partition]transaction.Offset{}}
		for _, r := range offsets {
			g.Offsets[transaction.Partition(r.Partition)] = transaction.Offset{At: r.At, LeaderEpoch: -1}
		}
		if err := p.machine.Offsets(g); err != nil && !p.again {
			done(outcome(err), err)
			return
		}
		p.run(until, p.machine.Commit(), func(err error) {
			p.open, p.again = err != nil, outcome(err) == work.Again
			done(outcome(err), err)
		})
	})
}

func (p *producing) abort(until time.Time, done func(work.Outcome, error)) {
	p.run(until, p.machine.Abort(), func(err error) {
		p.open = err != nil
		done(outcome(err), err)
	})
}

// outcome is what an error means to the loop.
func outcome(err error) work.Outcome {
	var e *transaction.Error
	switch {
	case err == nil:
		return work.Done
	case errors.Is(err, transaction.ErrGroupMoved):
		return work.GroupMoved
	case !errors.As(err, &e):
		return work.Fatal
	}
	switch {
	case e.Class == transaction.Retriable:
		return work.Again
	case e.Class == transaction.AbortAndContinue:
		return work.Abortable
	case errors.Is(err, transaction.ErrOutcomeUnknown):
		return work.Unknown
	}
	return work.Fatal
}

// run drives the machine through a call that was begun, or refused.
func (p *producing) run(until time.Time, refused error, done func(error)) {
	if refused != nil {
		done(refused)
		return
	}
	c := &call{done: done}
	p.call = c
	p.m.life.Later(max(0, until.Sub(p.m.w.Now)), func() {
		c.over = true
		p.give(c)
	})
	p.next(c)
}

// errOver is what a caller hears whose context has ended.
var errOver = errors.New("the caller waits no longer")

func gone() transaction.Answer {
	return transaction.Answer{Err: errOver, Over: true}
}

// next does what the machine wants, until the call returns.
func (p *producing) next(c *call) {
	s := p.machine.Step()
	if s.Act == transaction.Return {
		p.call = nil
		c.done(s.Err)
		return
	}
	answered := false
	answer := func(a transaction.Answer) {
		if answered || p.closed {
			return
		}
		answered, c.answer = true, nil
		if p.m.w.Tracing() {
			p.m.w.Say("%s: the producer's act %d: %v", p.m.name(), s.Act, a.Err)
		}
		if f := p.m.w.seams.answer; f != nil {
			f(s, &a)
		}
		p.machine.Answer(a)
		p.next(c)
	}
	c.answer = answer
	p.act(s, answer)
	if c.over {
		p.give(c)
	}
}

// give ends the act that is under way, since the caller has gone.
func (p *producing) give(c *call) {
	if answer := c.answer; answer != nil && !p.closed {
		answer(gone())
		p.client.Cancel(errOver)
	}
}

func (p *producing) act(s transaction.Step, answer func(transaction.Answer)) {
	plain := func(err error) { answer(transaction.Answer{Err: err}) }
	switch s.Act {
	case transaction.Load:
		p.client.ProducerID(func(id int64, epoch int16, err error) {
			answer(transaction.Answer{Err: err, ID: id, Epoch: epoch, Implicit: p.m.w.script.Version == 2})
		})
	case transaction.Open:
		p.client.Begin(plain)
	case transaction.Drain:
		p.client.Flush(func() { plain(nil) })
	case transaction.Discard:
		p.client.AbortBuffered(func() { plain(nil) })
	case transaction.End:
		p.client.End(s.Commit, plain)
	case transaction.Renew:
		p.client.Close()
		p.renew()
		plain(nil)
	case transaction.Pause:
		p.m.life.Later(s.Wait, func() { plain(nil) })
	default:
		p.byHand(s, answer)
	}
}

// byHand sends a request beside the client's own, once.
func (p *producing) byHand(s transaction.Step, answer func(transaction.Answer)) {
	p.send(p.request(s), func(resp any, err error) {
		a := transaction.Answer{Err: err, Version: s.Version}
		switch r := resp.(type) {
		case *kmsg.AddOffsetsToTxnResponse:
			a.Err = kerr.ErrorForCode(r.ErrorCode)
		case *kmsg.EndTxnResponse:
			a.Err = kerr.ErrorForCode(r.ErrorCode)
		case *kmsg.InitProducerIDResponse:
			a.Err = kerr.ErrorForCode(r.ErrorCode)
		case *kmsg.DescribeTransactionsResponse:
			looked(&a, r.TransactionStates[0])
		case *kmsg.TxnOffsetCommitResponse:
			for _, t := range r.Topics {
				for _, q := range t.Partitions {
					if q.ErrorCode != 0 {
						a.Refused = append(a.Refused, kerr.ErrorForCode(q.ErrorCode))
					}
				}
			}
		}
		answer(a)
	})
}

// looked says whose transaction is open.
func looked(a *transaction.Answer, s kmsg.DescribeTransactionsResponseTransactionState) {
	switch {
	case s.ErrorCode == kerr.TransactionalIDNotFound.Code:
	case strings.HasPrefix(s.State, "Prepare"):
		a.Err = kerr.ConcurrentTransactions
	default:
		a.Err = kerr.ErrorForCode(s.ErrorCode)
		a.ID, a.Epoch, a.Ongoing = s.ProducerID, s.ProducerEpoch, s.State == "Ongoing"
	}
}

func (p *producing) request(s transaction.Step) kmsg.Request {
	id := p.m.id
	switch s.Act {
	case transaction.Look:
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = []string{id}
		return req
	case transaction.AddOffsets:
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = 3, id, s.ID, s.Epoch, s.Group.Name
		return req
	case transaction.EndByHand:
		req := kmsg.NewPtrEndTxnRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = s.Version, id, s.ID, s.Epoch, s.Commit
		return req
	case transaction.Fence:
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 4, &id, s.ID, s.Epoch
		req.TransactionTimeoutMillis = int32(p.m.w.script.timeout().Milliseconds())
		return req
	}
	return p.offsets(s)
}

func (p *producing) offsets(s transaction.Step) kmsg.Request {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = s.Version, p.m.id, s.ID, s.Epoch
	req.Group, req.Generation, req.MemberID = s.Group.Name, s.Group.Generation, s.Group.Member
	if s.Group.Instance != "" {
		req.InstanceID = &s.Group.Instance
	}
	for _, at := range sortedOffsets(s.Group.Offsets) {
		q := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		q.Partition, q.Offset = at.Partition, s.Group.Offsets[at].At
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic, t.Partitions = at.Topic, append(t.Partitions, q)
		req.Topics = append(req.Topics, t)
	}
	return req
}
