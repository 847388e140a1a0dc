package broker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/monitor"
	"github.com/skeinstream/skein/internal/txn"
)

// Who holds up committed readers, as metrics: the partitions that have waited longest, and for whose transaction. Each of them is
// a time series with a producer's name, so there are few: not those that have just begun, as of a busy producer at any moment,
// and of the rest as many as one looks at.
const (
	heldLong = 10 * time.Second
	heldMost = 10
)

// held asks the partitions who holds them up, and the coordinators of c, if there is one, who that is and since when. A
// transaction that no coordinator knows counts from its last write on: it has been open for at least as long.
func (t *transactions) held(c *coordinator.Coordinator) []monitor.Held {
	open := t.firstOpen()
	if len(open) == 0 {
		return nil
	}
	owners, now := t.owners(c), t.broker.cfg.now()
	var all []monitor.Held
	for _, o := range open {
		since, owner := time.UnixMilli(o.entry.LastTimestamp), owners[o.entry.ProducerID]
		if running(&owner) {
			since = owner.Started
		}
		h := monitor.Held{
			Topic: o.at.Topic().Name, Partition: o.at.Index(), ProducerID: o.entry.ProducerID, TransactionalID: owner.TransactionalID, For: now.Sub(since),
		}
		if h.For >= heldLong {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b monitor.Held) int {
		return cmp.Or(cmp.Compare(b.For, a.For), strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return all[:min(len(all), heldMost)]
}

// running says that an id has a transaction that has not ended.
func running(l *txn.Listed) bool {
	return !l.Started.IsZero() && (l.TransactionState == "Ongoing" || strings.HasPrefix(l.TransactionState, "Prepare"))
}

// firstOpen is the oldest open transaction of each partition that has one.
func (t *transactions) firstOpen() (open []openTransaction) {
	for topic := range t.broker.table.Topics {
		for _, p := range topic.Partitions() {
			if e, ok := p.FirstOpen(); ok {
				open = append(open, openTransaction{p, e})
			}
		}
	}
	return open
}

// owners is the transactional ids by producer id, of the shards that answer in time.
func (t *transactions) owners(c *coordinator.Coordinator) map[int64]txn.Listed {
	owners := map[int64]txn.Listed{}
	if c == nil {
		return owners
	}
	each(c, txn.List{}, func(_ int32, reply any) {
		for _, l := range reply.([]txn.Listed) {
			owners[l.ProducerID] = l
		}
	})
	return owners
}
