package broker

import (
	"context"
	"time"

	"github.com/skeinstream/skein/broker/internal/api"
	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/settings"
	"github.com/skeinstream/skein/internal/txn"
)

// transactionsTopic is Kafka's name for the topic of transactional ids and their state.
const transactionsTopic = "__transaction_state"

// transactions is the coordinator of transactions, which comes with its topic as that of groups does. What its machines
// cannot know, which partitions take a marker and which producer ids are free, comes to them through here, and so does what they
// ask for.
type transactions struct {
	coordinated
	ids   producerIDs
	later later

	// Guarded by mu.
	counts  txnCounts
	loaded  map[int32]bool // the shards of the current topic that have been loaded once
	hanging int64          // open transactions of partitions that were found and that no coordinator knows
	told    time.Time      // the start of the transaction that watch has told of
}

var _ api.Transactions = (*transactions)(nil)

func newTransactions(b *Broker) *transactions {
	s := b.settings().Transactions
	t := &transactions{ids: producerIDs{catalog: b.catalog}, later: later{now: b.cfg.now}, counts: txnCounts{}, loaded: map[int32]bool{}}
	t.coordinated = coordinated{
		broker: b,
		topic: internalTopic{
			name: transactionsTopic, partitions: s.StateTopicPartitions, segmentBytes: s.StateTopicSegmentBytes, compression: "uncompressed",
		},
		config: t.config,
		changed: func() {
			clear(t.counts)
			clear(t.loaded)
		},
	}
	t.later.start()
	t.later.after(watchInterval, t.watch)
	return t
}

// follow is called with every change of the catalog, in order.
func (t *transactions) follow(after *catalog.Snapshot) { t.attend(after.Topic(transactionsTopic)) }

// config is a coordinator over the topic.
func (t *transactions) config(topic *catalog.Topic) coordinator.Config {
	b := t.broker
	t.warn(topic, "transaction.state.log.num.partitions")
	set := txnSettings(b.settings().Transactions)
	return coordinator.Config{
		Shards: int(topic.Partitions),
		Open: func(shard int32) (coordinator.Log, error) {
			return t.openLog(topic.ID, shard, record.None)
		},
		Machine: func(int32) machine.Machine {
			of := set
			of.CoordinatorEpoch = b.catalog.StartCount()
			return txn.New(of)
		},
		Loaded:    func(_ int32, step coordinator.Step) { t.recall(step) },
		Neighbour: b.coordinatorOf,
		Ask:       func(_ int32, ask any) { t.ask(ask.(txn.Ask)) },
		Now:       b.cfg.now,
		Logger:    b.cfg.Logger.With("topic", transactionsTopic),
		Events: coordinator.Events{
			Loaded: func(shard int32, _ int64, took time.Duration) {
				b.monitor.CoordinatorLoaded(took)
				t.shardLoaded(topic, shard)
			},
		},
	}
}

// coordinatorOf is who writes to a topic's partitions, beside clients: the coordinator of groups, for its own.
func (b *Broker) coordinatorOf(topic string) *coordinator.Coordinator {
	if topic == offsetsTopic {
		return b.groups.current.Load()
	}
	return nil
}

// txnSettings is what the settings say to the transactions. Version 2 is what the broker says of itself to clients.
func txnSettings(s settings.Transactions) txn.Settings {
	return txn.Settings{
		MaxTimeout:  milliseconds(s.MaxTimeoutMs),
		Expiration:  milliseconds(s.IDExpirationMs),
		ExpiryCheck: milliseconds(s.IDExpirationCheckMs),
		AbortCheck:  milliseconds(s.AbortCheckMs),
		Version2:    true,
		RefuseLate:  s.RefuseLateRequests,
	}
}

// Do implements api.Transactions.
func (t *transactions) Do(id string, in any, done func(reply any, err error)) {
	switch in := in.(type) {
	case txn.Init:
		(&ending{txns: t, id: id, in: func(e txn.Ends) any { in.Ends = e; return in }, done: done}).start()
	case txn.End:
		(&ending{txns: t, id: id, plain: !in.Raises(), in: func(e txn.Ends) any { in.Ends = e; return in }, done: done}).start()
	default:
		t.do(id, in, done)
	}
}

// AddEarly implements api.Transactions. What is appended in done or later is behind the addition in the write-ahead log, and so
// is durable after it. Should the addition alone fail to get there, recall adds it again.
func (t *transactions) AddEarly(id string, in txn.Add, done func(reply any, err error), durable func(error)) {
	if now := t.there(); now != nil {
		now.DoEarly(coordinator.Shard(id, now.Shards()), in, done, durable)
		return
	}
	t.do(id, in, func(reply any, err error) {
		done(reply, err)
		if err == nil && durable != nil {
			durable(nil)
		}
	})
}

// recall tells a shard that was loaded what partitions have open, before it hears anybody.
func (t *transactions) recall(step coordinator.Step) {
	var in txn.Found
	for topic := range t.broker.table.Topics {
		for _, p := range topic.Partitions() {
			for _, e := range p.OpenTransactions() {
				in.Open = append(in.Open, txn.Opened{
					ProducerID: e.ProducerID, Epoch: e.Epoch, Partition: txn.Partition{Topic: topic.Name, Partition: p.Index()},
				})
			}
		}
	}
	if len(in.Open) > 0 {
		step(in, nil)
	}
}

// ProducerID implements api.Transactions.
func (t *transactions) ProducerID(done func(id int64, err error)) { t.ids.take(done) }

// shutdown answers everybody who waits and ends the coordinator. That of groups must not have ended before: transactions
// write to its logs.
func (t *transactions) shutdown(ctx context.Context) error {
	t.later.stop()
	return t.coordinated.shutdown(ctx)
}
