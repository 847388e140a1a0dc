package txn

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A partition that comes into a transaction with its first batch (KIP-890 part 2) is added early: the batch does not wait for
// the record of it to be durable, and stands behind it in the write-ahead log. But the disk may refuse the first and take
// the second, or a power cut may leave a large batch that has gone to its segment at once. Then the batch may have been
// acknowledged, or be acknowledged as a repetition, and the end of its transaction would pass it by.
//
// So before the machine hears anybody it is told what partitions have open. What is of the current producer id and epoch has
// been added once, since partitions take nothing else, and is added again.

// Opened is a transaction as a partition has it.
type Opened struct {
	ProducerID int64
	Epoch      int16
	Partition  Partition
}

// found takes up Found.
func (m *Machine) found(all []Opened) {
	open := map[identity][]Partition{}
	for _, o := range all {
		p := identity{o.ProducerID, o.Epoch}
		open[p] = append(open[p], o.Partition)
	}
	var lost []*transaction
	for _, t := range m.transactions {
		if t.begun() && !containsAll(t.partitions, open[t.identity]) {
			lost = append(lost, t)
		}
	}
	slices.SortFunc(lost, func(a, b *transaction) int { return strings.Compare(a.id, b.id) })
	for _, t := range lost {
		m.note(slog.LevelWarn, "partitions come back into a transaction, since the record of them was lost",
			slog.String("transactional id", t.id), slog.Int64("producer id", t.ProducerID), slog.Any("partitions", open[t.identity]))
		m.open(t, &Add{Implicit: true, Partitions: open[t.identity]})
	}
}

// begun says whether what a partition has open of the producer's epoch is of its current transaction. Where epochs do not
// change with every transaction it may be a late batch of the last one.
func (t *transaction) begun() bool {
	return t.state == kmsg.TransactionStateEmpty || t.version == 2 && !t.decided()
}
