package api

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/txn"
)

// played is a real machine without a log: one shard, on the callers' goroutines, and no time passes.
type played struct {
	write func(machine.Write) // what the machine decides for other partitions

	mu      sync.Mutex // guards what follows
	machine machine.Machine
	next    machine.Token
	waiting map[machine.Token]func(any, error)
}

func (p *played) Prepare(done func(error)) { done(nil) }

func (p *played) Do(_ string, in any, done func(any, error)) {
	out := p.step(in, done)
	for _, w := range out.Group {
		p.write(w)
	}
	for _, r := range out.Replies {
		p.take(r.To)(r.Value, nil)
	}
}

// step has the machine decide and know about it.
func (p *played) step(in any, done func(any, error)) machine.Output {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	p.waiting[p.next] = done
	out := p.machine.Step(time.UnixMilli(1_000_000), p.next, in)
	for _, r := range out.Records {
		p.machine.Apply(r)
	}
	return out
}

func (p *played) take(t machine.Token) func(any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := p.waiting[t]
	delete(p.waiting, t)
	return done
}

// apply has the machine know what somebody else has written into its log.
func (p *played) apply(r machine.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.machine.Apply(r)
}

func (p *played) All(in any, done func([]any, error)) {
	p.Do("", in, func(reply any, err error) { done([]any{reply}, err) })
}

func playedGroups() *played {
	m := group.New(group.Settings{
		MaxSessionTimeout: time.Hour, MaxSize: 3, OffsetMetadataMax: 10, UnionAdmission: true, ProtocolsPersisted: true, CommitOwnershipCheck: true,
	})
	m.Loaded(time.UnixMilli(1_000_000))
	return &played{machine: m, waiting: map[machine.Token]func(any, error){}}
}

// playedTransactions is such a machine of transactions, whose markers are written.
type playedTransactions struct {
	played
	groups *played
	broker *testBroker
	ids    sync.Mutex
	id     int64 // the last producer id that was given out
}

func playTransactions(groups *played) *playedTransactions {
	t := &playedTransactions{groups: groups}
	t.machine = txn.New(txn.Settings{MaxTimeout: 15 * time.Minute, Expiration: time.Hour, ExpiryCheck: time.Hour, AbortCheck: time.Second, Version2: true, RefuseLate: true})
	t.machine.Loaded(time.UnixMilli(1_000_000))
	t.waiting, t.played.write = map[machine.Token]func(any, error){}, t.write
	return t
}

func (t *playedTransactions) Do(id string, in any, done func(any, error)) {
	switch asked := in.(type) {
	case txn.Init:
		asked.NewProducerID = t.newID()
		in = asked
	case txn.End:
		asked.NewProducerID = t.newID()
		in = asked
	}
	t.played.Do(id, in, done)
}

func (t *playedTransactions) AddEarly(id string, in txn.Add, done func(any, error), durable func(error)) {
	t.Do(id, in, done)
	if durable != nil {
		durable(nil)
	}
}

func (t *playedTransactions) newID() int64 {
	t.ids.Lock()
	defer t.ids.Unlock()
	t.id++
	return t.id
}

func (t *playedTransactions) ProducerID(done func(int64, error)) { done(t.newID(), nil) }

// write ends a transaction in a partition: in its log, or in the machine that has it for a log.
func (t *playedTransactions) write(w machine.Write) {
	if w.Topic == offsetsTopic {
		t.groups.apply(machine.Record{Producer: w.Producer, Marker: w.Marker})
		return
	}
	t.Mark([]Mark{{
		Topic: w.Topic, Partition: w.Partition, ProducerID: w.Producer.ID, ProducerEpoch: w.Producer.Epoch,
		CoordinatorEpoch: w.Marker.CoordinatorEpoch, Commit: w.Marker.Commit,
	}}, func([]int16) {})
}

// Mark implements Transactions: one after the other, and none is waited for.
func (t *playedTransactions) Mark(marks []Mark, done func([]int16)) {
	codes := make([]int16, len(marks))
	for i, m := range marks {
		topic := t.broker.Table.Topic(m.Topic)
		if topic == nil || topic.Partition(m.Partition) == nil {
			codes[i] = kerr.UnknownTopicOrPartition.Code
			continue
		}
		kind := record.Abort
		if m.Commit {
			kind = record.Commit
		}
		a := partition.Append{Done: ignored{}, Records: record.ControlMarker(kind, m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch, 0)}
		topic.Partition(m.Partition).AppendAt(&a, partition.Anywhere)
	}
	done(codes)
}

// ignored is nobody who wants to know what becomes of an append.
type ignored struct{}

func (ignored) Appended(*partition.Append) {}
