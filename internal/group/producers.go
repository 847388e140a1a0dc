package group

import "github.com/skeinstream/skein/internal/machine"

// producers is what a machine knows of those who commit within transactions. It is durable state: it changes in Apply alone,
// by the records of the producers and by their markers.
//
// A transaction in which a commit is written after its marker is one that nobody ends: its offsets would be pending for
// ever, and fetches that want stable ones would wait for ever. Whoever sends a commit has asked the coordinator of
// transactions, but a marker may come between the answer and the commit. So markers are counted. A guard is taken before
// the question and says how many there were; the commit is refused if one of its producer has come since (R-K19). And no
// commit has an older epoch than the last marker or commit of its producer: that is a producer who was replaced.
//
// To remember the last marker of every producer there ever was would be too much. Those of the last few thousand producers
// are remembered one by one, of all others only the newest: guards older than that are refused, whether they had to be
// or not. Guards live as long as a question to the coordinator of transactions takes.
type producers struct {
	open map[int64]*transaction

	markers           uint64           // how many have been seen
	recent, older     map[int64]ending // recent has been filled since older was full
	turned, forgotten uint64           // no marker in older is newer than turned, and none that is in neither than forgotten
}

// transaction is one that has records in the log and no marker yet.
type transaction struct {
	epoch int16
	in    []pendingIn // where it has offsets
}

// pendingIn counts a transaction's offsets of one topic and group.
type pendingIn struct {
	topic *topicOffsets
	count int
}

// ending is the last marker of a producer.
type ending struct {
	marker uint64 // its number
	epoch  int16
}

// rememberedEndings is how many endings recent and older have at most each.
const rememberedEndings = 4096

// life is one machine, from one replay on: guards of another say nothing about it.
type life struct{ _ byte }

// seen is told of each record of a transaction.
func (p *producers) seen(of machine.Producer) *transaction {
	x := p.open[of.ID]
	if x == nil {
		if p.open == nil {
			p.open = map[int64]*transaction{}
		}
		x = &transaction{}
		p.open[of.ID] = x
	}
	x.epoch = of.Epoch
	return x
}

// end is told of each marker. It returns what has ended, nil for nothing here.
func (p *producers) end(of machine.Producer) *transaction {
	x := p.open[of.ID]
	delete(p.open, of.ID)
	p.markers++
	if len(p.recent) >= rememberedEndings {
		p.recent, p.older = nil, p.recent
		p.turned, p.forgotten = p.markers-1, p.turned
	}
	if p.recent == nil {
		p.recent = map[int64]ending{}
	}
	p.recent[of.ID] = ending{marker: p.markers, epoch: of.Epoch}
	return x
}

// last is the last marker of a producer, or one that is not older.
func (p *producers) last(id int64) ending {
	if e, known := p.recent[id]; known {
		return e
	}
	if e, known := p.older[id]; known {
		return e
	}
	return ending{marker: p.forgotten, epoch: -1}
}

// epoch is the newest that has been seen of a producer; -1: none.
func (p *producers) epoch(id int64) int16 {
	e := p.last(id).epoch
	if x := p.open[id]; x != nil {
		e = max(e, x.epoch)
	}
	return e
}

// add counts n more offsets in t, or fewer. Nearly always a transaction has offsets of one or two topics.
func (x *transaction) add(t *topicOffsets, n int) {
	for i := len(x.in) - 1; i >= 0; i-- {
		if x.in[i].topic != t {
			continue
		}
		x.in[i].count += n
		if x.in[i].count == 0 {
			last := len(x.in) - 1
			x.in[i] = x.in[last]
			x.in[last] = pendingIn{}
			x.in = x.in[:last]
		}
		return
	}
	x.in = append(x.in, pendingIn{t, n})
}
