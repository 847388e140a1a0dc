package broker

import (
	"errors"
	"slices"
	"time"

	"github.com/skeinstream/skein/broker/internal/api"
	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/internal/txn"
)

// A transaction that is open in a partition while no coordinator knows it hangs: nobody will end it, committed readers stop
// before it, and compaction too. The coordinator here knows of a transaction before a partition does and both forget it in
// one step, so that few ways are left to one: a data directory brings it along, from Kafka before KIP-890 or from a
// __transaction_state that was damaged and repaired. Where a partition alone knows of the current transaction of a producer
// it comes back into it instead (recall). They are looked for whenever every shard has been loaded, at a start or after a failure.
//
// A marker that aborts is written only where nothing can be missed: every shard of the topic has answered, so that all
// partitions of it are whole, and partitions verify what clients append, so that none has been opened since without its
// coordinator's knowledge. Else they are reported, and `skein txn` can end them.

// shardLoaded is called after each load of a shard.
func (t *transactions) shardLoaded(topic *catalog.Topic, shard int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.id != topic.ID {
		return
	}
	t.loaded[shard] = true
	if len(t.loaded) == int(topic.Partitions) {
		t.later.after(hangingAfter, t.findHanging)
	}
}

// hangingAfter lets the shards of groups be loaded, too, in most cases.
const hangingAfter = time.Second

// openTransaction is a transaction as a partition knows it.
type openTransaction struct {
	at    *partition.Partition
	entry producers.Entry
}

// findHanging looks at what partitions have open and asks the coordinator afterwards, so that none that it has just begun is
// missed. The answer comes when what it says is durable, so that what has ended meanwhile is not open any more.
func (t *transactions) findHanging() {
	found := t.openTransactions()
	if len(found) == 0 {
		return
	}
	t.All(txn.Unended{}, func(replies []any, err error) {
		if err != nil {
			if !errors.Is(err, errStopping) {
				t.later.after(hangingAfter, t.findHanging) // a shard is loaded again
			}
			return
		}
		known := map[int64][]txn.Partition{}
		for _, reply := range replies {
			for _, r := range reply.([]txn.Reached) {
				known[r.ProducerID] = append(known[r.ProducerID], r.Partitions...)
			}
		}
		for _, o := range found {
			if !slices.Contains(known[o.entry.ProducerID], txn.Partition{Topic: o.at.Topic().Name, Partition: o.at.Index()}) {
				t.endHanging(o)
			}
		}
	})
}

func (t *transactions) openTransactions() (found []openTransaction) {
	for topic := range t.broker.table.Topics {
		for _, p := range topic.Partitions() {
			if p.LastStableOffset() == p.HighWatermark() {
				continue
			}
			all, _ := p.Producers()
			for _, e := range all {
				if e.InTransaction() {
					found = append(found, openTransaction{p, e})
				}
			}
		}
	}
	return found
}

// endHanging aborts a transaction that hangs, if it still does, or reports it.
func (t *transactions) endHanging(o openTransaction) {
	if now := o.at.Producer(o.entry.ProducerID); now.TxnFirstOffset != o.entry.TxnFirstOffset {
		return
	}
	t.mu.Lock()
	t.hanging++
	t.mu.Unlock()
	log := t.broker.cfg.Logger.With("topic", o.at.Topic().Name, "partition", o.at.Index(), "producer id", o.entry.ProducerID,
		"epoch", o.entry.Epoch, "first offset", o.entry.TxnFirstOffset)
	if !t.broker.settings().Transactions.PartitionVerification {
		log.Warn("a transaction is open that no coordinator knows; it is left alone, since partitions do not verify transactions")
		return
	}
	t.mark(api.Mark{
		Topic: o.at.Topic().Name, Partition: o.at.Index(), ProducerID: o.entry.ProducerID, ProducerEpoch: o.entry.Epoch,
		CoordinatorEpoch: max(o.entry.CoordinatorEpoch, t.broker.catalog.StartCount()),
	}, func(err error) {
		if err != nil {
			log.Error("a transaction is open that no coordinator knows, and it cannot be aborted", "error", err)
			return
		}
		log.Warn("a transaction was open that no coordinator knows, and has been aborted")
	})
}
