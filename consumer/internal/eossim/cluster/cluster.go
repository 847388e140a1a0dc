package cluster

import (
	"maps"
	"slices"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/simulation"
	"github.com/skeinstream/skein/internal/txn"
)

// Config is what kind of broker it is.
type Config struct {
	// Kafka: markers follow the decision one by one, what is withheld is not understood, late requests are let in.
	Kafka bool
	// Version2 is transaction.version 2 (KIP-890): every end of a transaction raises the epoch.
	Version2 bool
	// Fences: commits of a partition that was given to another are refused (R-C18).
	Fences bool
}

// Watcher is told of what becomes true.
type Watcher interface {
	// Stored is a record of the group's log that is durable, a marker too.
	Stored(machine.Record)
	// Ended is a marker that a partition has taken, and what it decides about.
	Ended(at Partition, commit bool, entries []Entry)
}

// Client is who asks.
type Client struct {
	Life       *simulation.Life
	ID         string
	Connection uint64 // grows with each that is opened; 0 is never late
}

// Offsets is the partition of the group's offsets.
var offsets = txn.Partition{Topic: "__consumer_offsets"}

// Cluster is the broker.
type Cluster struct {
	Config
	clock   *simulation.Clock
	dice    *simulation.Dice
	disk    *simulation.Disk
	watch   Watcher
	groups  *simulation.Coordinator
	txns    *simulation.Coordinator
	logs    map[Partition]*Log
	ids     int
	nextPID int64
}

// New starts a broker with topics.
func New(cfg Config, clock *simulation.Clock, seed uint64, topics []assign.Topic, watch Watcher) *Cluster {
	d := simulation.NewDice(seed, "cluster")
	c := &Cluster{
		Config: cfg, clock: clock, dice: d, disk: simulation.NewDisk(clock, d), watch: watch,
		logs: map[Partition]*Log{}, nextPID: 1000,
	}
	for _, t := range topics {
		for i := range t.Partitions {
			at := Partition{t.Name, i}
			c.logs[at] = newLog(at)
		}
	}
	c.groups = &simulation.Coordinator{
		Clock: clock, Dice: d, Disk: c.disk, Durable: watch.Stored,
		New: func() machine.Machine { return group.New(c.groupSettings()) },
	}
	c.txns = &simulation.Coordinator{
		Clock: clock, Dice: d, Disk: c.disk, Durable: func(machine.Record) {}, Lend: c.lend, Asked: c.asked, Begun: c.found,
		New: func() machine.Machine { return txn.New(c.txnSettings()) },
	}
	c.groups.Begin()
	c.txns.Begin()
	return c
}

func (c *Cluster) groupSettings() group.Settings {
	return group.Settings{
		MinSessionTimeout: time.Second, MaxSessionTimeout: time.Hour, InitialRebalanceDelay: time.Second, MaxSize: 1 << 20,
		OffsetsRetention: 24 * time.Hour, OffsetsRetentionCheck: time.Hour, OffsetMetadataMax: 4096,
		UnionAdmission: !c.Kafka, ProtocolsPersisted: !c.Kafka, CommitOwnershipCheck: c.Fences,
	}
}

func (c *Cluster) txnSettings() txn.Settings {
	return txn.Settings{
		MaxTimeout: 15 * time.Minute, Expiration: 7 * 24 * time.Hour, ExpiryCheck: time.Hour, AbortCheck: 2 * time.Second,
		Version2: c.Version2, RefuseLate: !c.Kafka,
	}
}

// Log is a partition; nil where there is none.
func (c *Cluster) Log(at Partition) *Log { return c.logs[at] }

// Partitions are all there are of a topic, in order.
func (c *Cluster) Partitions(topic string) (list []Partition) {
	for _, at := range slices.SortedFunc(maps.Keys(c.logs), Partition.Compare) {
		if at.Topic == topic {
			list = append(list, at)
		}
	}
	return list
}

// Fail ends the coordinators: both, where there is one broker, or one of them. What they had decided and is not durable is lost.
func (c *Cluster) Fail(groups, txns bool) (failed bool) {
	if groups && c.groups.Fail() {
		failed = true
	}
	if txns && c.txns.Fail() {
		failed = true
	}
	return failed
}

// lend takes markers for partitions: the group's hears nothing more until its own is durable, or lost.
func (c *Cluster) lend(writes []machine.Write) func(bool) {
	holds := slices.ContainsFunc(writes, func(w machine.Write) bool { return w.Topic == offsets.Topic })
	if holds {
		c.groups.Hold()
	}
	return func(written bool) {
		if written {
			for _, w := range writes {
				c.mark(w)
			}
		}
		if holds {
			c.groups.Release()
		}
	}
}

func (c *Cluster) mark(w machine.Write) {
	if w.Topic == offsets.Topic {
		c.groups.Append(machine.Record{Producer: w.Producer, Marker: w.Marker})
		return
	}
	at := Partition{w.Topic, w.Partition}
	if c.clock.Tracing() {
		c.clock.Say("%v takes a marker of %d/%d, commit %t", at, w.Producer.ID, w.Producer.Epoch, w.Marker.Commit)
	}
	c.watch.Ended(at, w.Marker.Commit, c.logs[at].Mark(w.Producer, w.Marker.Commit))
}

// ends is what an end of a transaction needs to know. On Kafka no partition takes its marker at once.
func (c *Cluster) ends() txn.Ends {
	c.nextPID++
	e := txn.Ends{NewProducerID: c.nextPID}
	if c.Kafka {
		e.Unreachable = c.all(func() bool { return true })
	}
	return e
}

func (c *Cluster) all(is func() bool) (list []txn.Partition) {
	for _, at := range slices.SortedFunc(maps.Keys(c.logs), Partition.Compare) {
		if is() {
			list = append(list, txn.Partition{Topic: at.Topic, Partition: at.Index})
		}
	}
	if is() {
		list = append([]txn.Partition{offsets}, list...)
	}
	return list
}

// asked goes on with a transaction that misses markers, or is out of time. On Kafka some of the partitions take theirs now.
func (c *Cluster) asked(ask any) {
	a := ask.(txn.Ask)
	after := a.After
	if c.Kafka && after > 0 {
		after = c.dice.Between(0, after) // its brokers are not as patient
	}
	c.clock.After(after, func() {
		if !c.txns.Up() {
			return // the next one asks again
		}
		e := c.ends()
		if c.Kafka && !a.Abort {
			e.Unreachable = c.all(func() bool { return c.dice.N(3) == 0 })
		}
		c.txns.Ask(nil, txn.Finish{Ends: e, TransactionalID: a.TransactionalID, ProducerID: a.ProducerID, Epoch: a.Epoch}, func(any) {})
	})
}

// found tells a new coordinator of transactions what partitions have open.
func (c *Cluster) found() {
	var in txn.Found
	for _, at := range slices.SortedFunc(maps.Keys(c.logs), Partition.Compare) {
		for _, p := range c.logs[at].open {
			in.Open = append(in.Open, txn.Opened{ProducerID: p.id, Epoch: p.epoch, Partition: txn.Partition{Topic: at.Topic, Partition: at.Index}})
		}
	}
	c.txns.Ask(nil, in, func(any) {})
}

// Make makes a partition, unless it is there.
func (c *Cluster) Make(at Partition) {
	if c.logs[at] == nil {
		c.logs[at] = newLog(at)
	}
}
