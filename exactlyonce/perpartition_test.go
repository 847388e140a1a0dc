package exactlyonce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/producer"
)

var (
	in0 = consumer.TopicPartition{Topic: "in", Partition: 0}
	in1 = consumer.TopicPartition{Topic: "in", Partition: 1}
)

// producers makes producers that do nothing but write down what they are told, and fail as they are told.
type producers struct {
	mu   sync.Mutex
	log  []string
	errs map[string]error // by what fails, as it is written down
}

func (p *producers) does(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, what)
	return p.errs[what]
}

// did is what was done since it was asked last, in order of the words: lanes work side by side.
func (p *producers) did() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.log)
	all := strings.Join(p.log, " ")
	p.log = nil
	return all
}

func (p *producers) open(_ context.Context, tp consumer.TopicPartition) (transactional, error) {
	name := fmt.Sprint(tp.Partition)
	return &fakeProducer{p, name}, p.does("take" + name)
}

type fakeProducer struct {
	all  *producers
	name string
}

func (f *fakeProducer) Begin(context.Context) error  { return f.all.does("begin" + f.name) }
func (f *fakeProducer) Commit(context.Context) error { return f.all.does("commit" + f.name) }
func (f *fakeProducer) Abort(context.Context) error  { return f.all.does("abort" + f.name) }
func (f *fakeProducer) Close(context.Context) error  { return f.all.does("close" + f.name) }
func (f *fakeProducer) Send(_ context.Context, r *producer.Record, done func(*producer.Record, error)) {
	done(r, f.all.does("send"+f.name))
}

func (f *fakeProducer) SendOffsets(_ context.Context, offsets consumer.Offsets, as consumer.GroupMetadata) error {
	for tp, o := range offsets {
		return f.all.does(fmt.Sprintf("at%d=%d/%d", tp.Partition, o.At, as.Generation))
	}
	return nil
}

// pair is two partitions, whose ids are taken.
func pair(t *testing.T) (*perPartition, *producers) {
	t.Helper()
	p, all := idle()
	if err := p.taken(t.Context(), []consumer.TopicPartition{in0, in1}); err != nil {
		t.Fatal(err)
	}
	expect(t, all, "take0 take1")
	return p, all
}

func idle() (*perPartition, *producers) {
	all := &producers{errs: map[string]error{}}
	p := newPerPartition(Config{Consumer: consumer.Config{Group: "g", HeartbeatInterval: time.Second}, Logger: slog.New(slog.DiscardHandler)})
	p.open = all.open
	return p, all
}

func expect(t *testing.T, all *producers, want string) {
	t.Helper()
	if got := all.did(); got != want {
		t.Errorf("did %q, want %q", got, want)
	}
}

// sends is what a send of a partition ends with.
func sends(t *testing.T, p *perPartition, from consumer.TopicPartition) (failed error) {
	t.Helper()
	p.send(t.Context(), from, &producer.Record{}, func(err error) { failed = err })
	return failed
}

func TestTransactionalIDsOfPartitions(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Consumer: consumer.Config{Group: "billing"}}, "billing-in-1"},
		{Config{Consumer: consumer.Config{Group: "billing"}, TransactionalIDPrefix: "app"}, "app-in-1"},
		{Config{TransactionalIDPrefix: "app", TransactionalIDOf: func(tp consumer.TopicPartition) string { return fmt.Sprint(tp.Topic, tp.Partition) }}, "in1"},
	} {
		c.cfg.UpgradeFrom = "2.4"
		if got := c.cfg.producerOf(in1); got.TransactionalID != c.want || got.UpgradeFrom != "2.4" || got.Group != c.cfg.Consumer.Group {
			t.Errorf("%+v, want the id %s", got, c.want)
		}
	}
}

// R-F8: each partition has its own transaction, with its own offset.
func TestEachPartitionCommitsItsOwn(t *testing.T) {
	p, all := pair(t)
	as := consumer.GroupMetadata{Group: "g", Generation: 7, Member: "m"}
	for range 2 { // the first transaction of each is begun with its id
		if err := errors.Join(p.begin(t.Context()), sends(t, p, in0), sends(t, p, in0)); err != nil {
			t.Fatal(err)
		}
		if err := p.commit(t.Context(), consumer.Offsets{in0: {At: 2}, in1: {At: 5}}, as); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, all, "at0=2/7 at0=2/7 at1=5/7 at1=5/7 begin0 begin1 commit0 commit0 commit1 commit1 send0 send0 send0 send0")
	p.dropped(t.Context(), []consumer.TopicPartition{in1})
	expect(t, all, "close1")
	if err := errors.Join(p.begin(t.Context()), sends(t, p, in0), p.close(t.Context())); err != nil {
		t.Error(err)
	}
	expect(t, all, "abort0 begin0 close0 send0")
}

// A partition whose id is not had is not worked on: the loop aborts, has the id, and goes back to where the group is.
func TestTheIDComesBeforeTheWork(t *testing.T) {
	p, all := idle()
	_ = p.begin(t.Context())
	for _, err := range []error{sends(t, p, in0), p.commit(t.Context(), consumer.Offsets{in1: {At: 1}}, consumer.GroupMetadata{})} {
		if !errors.Is(err, errUnclaimed) || producer.ClassOf(err) != producer.AbortAndContinue {
			t.Errorf("%v", err)
		}
	}
	expect(t, all, "")
	if err := p.abort(t.Context()); err != nil {
		t.Error(err)
	}
	expect(t, all, "take0 take1")
	if err := sends(t, p, in0); err != nil {
		t.Error(err)
	}
}

// A commit that the group's rebalance has refused in part is taken up again where it stopped.
func TestACommitIsTakenUpWhereItStopped(t *testing.T) {
	p, all := pair(t)
	moved := &producer.Error{Op: "commit", Class: producer.AbortAndContinue, Err: producer.ErrGroupMoved}
	all.errs["commit1"] = moved
	offsets := consumer.Offsets{in0: {At: 2}, in1: {At: 5}}
	if err := p.commit(t.Context(), offsets, consumer.GroupMetadata{Generation: 1}); !errors.Is(err, producer.ErrGroupMoved) {
		t.Fatal(err)
	}
	all.did()
	delete(all.errs, "commit1")
	if err := p.commit(t.Context(), offsets, consumer.GroupMetadata{Generation: 2}); err != nil {
		t.Error(err)
	}
	expect(t, all, "at1=5/2 commit1")
}

// What is committed of some partitions is no transaction that was aborted: nobody is told so.
func TestATransactionInPart(t *testing.T) {
	for _, cause := range []error{
		&producer.Error{Op: "commit", Class: producer.AbortAndContinue, Err: errors.New("no room")},
		&producer.Error{Op: "commit", Class: producer.AbortAndContinue, Err: producer.ErrGroupMoved},
	} {
		p, all := pair(t)
		all.errs["commit1"] = cause
		err := p.commit(t.Context(), consumer.Offsets{in0: {At: 2}, in1: {At: 5}}, consumer.GroupMetadata{})
		if errors.Is(cause, producer.ErrGroupMoved) {
			err = p.abort(t.Context())
		}
		if !errors.Is(err, producer.ErrOutcomeUnknown) {
			t.Errorf("%v", err)
		}
	}
}

// Who was fenced leaves the partition to who has fenced him, until the group has told whose it is.
func TestAFencedPartitionIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, all := pair(t)
		all.errs["commit0"] = &producer.Error{Op: "commit", Class: producer.Fatal, Err: producer.ErrFenced}
		err := p.commit(t.Context(), consumer.Offsets{in0: {At: 2}}, consumer.GroupMetadata{})
		if !errors.Is(err, producer.ErrFenced) || producer.ClassOf(err) != producer.AbortAndContinue {
			t.Errorf("%v", err)
		}
		all.did()
		for _, want := range []string{"abort1 close0", ""} {
			if err := p.abort(t.Context()); err != nil {
				t.Error(err)
			}
			expect(t, all, want)
			if err := sends(t, p, in0); !errors.Is(err, errUnclaimed) {
				t.Errorf("it is worked on: %v", err)
			}
		}
		time.Sleep(time.Second)
		if err := p.abort(t.Context()); err != nil {
			t.Error(err)
		}
		expect(t, all, "take0")
	})
}

// What will never pass is the end of the loop, not of a transaction.
func TestWhatNeverPassesIsNotTriedAgain(t *testing.T) {
	p, all := idle()
	all.errs["take0"] = &producer.Error{Op: "begin", Class: producer.Fatal, Err: producer.ErrCannotFence}
	if err := p.taken(t.Context(), []consumer.TopicPartition{in0}); !errors.Is(err, producer.ErrCannotFence) || producer.ClassOf(err) != producer.Fatal {
		t.Errorf("%v", err)
	}
}

// UpgradeFrom is for brokers that need it, and for the way of working that they need.
func TestUpgradeFromIsForOldBrokers(t *testing.T) {
	for _, c := range []struct {
		producers   Producers
		upgradeFrom string
		right       bool
	}{
		{OnePerPartition, "0.11", true}, {OnePerPartition, "2.4", true}, {OnePerPartition, "", true}, {OnePerMember, "", true},
		{OnePerMember, "2.4", false}, {OnePerPartition, "2.5", false}, {OnePerPartition, "2.4.1", false}, {OnePerPartition, "old", false},
	} {
		cfg := Config{Consumer: consumer.Config{Group: "g"}, Topics: []string{"in"}, Producers: c.producers, UpgradeFrom: c.upgradeFrom}
		if err := cfg.withDefaults().check(); (err == nil) != c.right {
			t.Errorf("%d from %q: %v", c.producers, c.upgradeFrom, err)
		}
	}
}
