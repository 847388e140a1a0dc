package partition

import (
	"cmp"
	"slices"

	"github.com/skeinstream/skein/broker/internal/producers"
)

// OpenTransactions is the producers that have a transaction open here, those whose batch or marker is on its way included,
// by its first offset.
func (p *Partition) OpenTransactions() (all []producers.Entry) {
	if p.Refusal() != 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.log.OpenTransactions() {
		if _, pending := p.overlay.get(e.ProducerID); !pending {
			all = append(all, e)
		}
	}
	for _, o := range p.overlay.entries {
		if o.entry.InTransaction() {
			all = append(all, o.entry)
		}
	}
	slices.SortFunc(all, func(a, b producers.Entry) int { return cmp.Compare(a.TxnFirstOffset, b.TxnFirstOffset) })
	return all
}
