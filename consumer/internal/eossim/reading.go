package eossim

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/eossim/cluster"
	"github.com/skeinstream/skein/internal/work"
)

// place is how far a partition is read.
type place struct {
	position  int64   // of what is handed out next
	committed int64   // what the group has, as far as it is known; -1: nothing
	records   []int64 // that were fetched, and where to go on after them
	next      int64
	known     bool // where to begin
	handed    bool // records are handed out: it was not stopped
	turn      int  // counts the times that it went back: what was fetched before is dropped
	fetching  bool
}

// polled is a record that was handed out and is not processed.
type polled struct {
	of   source
	next int64 // where its partition is when it is processed
}

// starts begins with a partition.
func (m *member) starts(at partition) {
	m.places[at] = &place{committed: -1, handed: true}
	m.w.Say("%s starts %v", m.name(), at)
	m.locate(at, 0)
}

// back has a partition read again from where the group is.
func (m *member) back(at partition) {
	m.forget(at)
	if pl := m.places[at]; pl != nil {
		pl.known, pl.records = false, nil
		pl.turn++
		m.locate(at, 0)
	}
}

// forget drops what was handed out of a partition.
func (m *member) forget(at partition) {
	m.loop.records = slices.DeleteFunc(m.loop.records, func(r polled) bool { return r.of.at == at })
}

// locate asks where the group is, until that is decided (R-D21).
func (m *member) locate(at partition, tries int) {
	pl := m.places[at]
	turn := pl.turn
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = 8, !m.w.seams.dirty
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = at.Topic, []int32{at.Index}
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.Topics = groupName, append(g.Topics, t)
	req.Groups = append(req.Groups, g)
	m.send(req, func(resp any, err error) {
		switch offset, ok := offsetOf(resp); {
		case m.places[at] != pl || pl.turn != turn || pl.known:
		case err != nil || !ok:
			m.life.Later(time.Duration(100*(1+min(tries, 9)))*time.Millisecond, func() {
				if m.places[at] == pl && pl.turn == turn {
					m.locate(at, tries+1)
				}
			})
		default:
			m.w.Say("%s reads %v from %d", m.name(), at, offset)
			pl.known, pl.committed, pl.position = true, offset, max(offset, 0)
			pl.next = pl.position
			m.fetch(at)
		}
	})
}

func offsetOf(resp any) (int64, bool) {
	r, ok := resp.(*kmsg.OffsetFetchResponse)
	if !ok || r.Groups[0].ErrorCode != 0 {
		return 0, false
	}
	p := r.Groups[0].Topics[0].Partitions[0]
	return p.Offset, p.ErrorCode == 0
}

// fetchMost is how many records one fetch brings, pollMost how many one poll.
const (
	fetchMost = 12
	pollMost  = 20
)

// fetch keeps records at hand.
func (m *member) fetch(at partition) {
	pl := m.places[at]
	if pl == nil || pl.fetching || !pl.known {
		return
	}
	pl.fetching = true
	turn := pl.turn
	m.send(cluster.Fetch{At: at, From: pl.next, Most: fetchMost, Dirty: m.w.seams.dirty}, func(resp any, err error) {
		pause := m.dice.Between(50*time.Millisecond, 700*time.Millisecond)
		if m.places[at] != pl {
			return
		}
		pl.fetching = false
		if f, ok := resp.(cluster.Fetched); ok && err == nil && pl.turn == turn && pl.known && len(pl.records) == 0 {
			m.fetched(at, pl, f)
		}
		m.life.Later(pause, func() {
			if m.places[at] == pl {
				m.fetch(at)
			}
		})
	})
}

func (m *member) fetched(at partition, pl *place, f cluster.Fetched) {
	pl.records, pl.next = f.Offsets, f.Next
	if len(pl.records) == 0 {
		pl.position = pl.next // past ends of transactions
		return
	}
	m.attend()
}

// owned are the partitions that records may come of, in order.
func (m *member) owned() (list []partition) {
	for at, pl := range m.places {
		if pl.handed && pl.known {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, partition.Compare)
	return list
}

// ready says that there are records to hand out.
func (m *member) ready() bool {
	return slices.ContainsFunc(m.owned(), func(at partition) bool { return len(m.places[at].records) > 0 })
}

// hand hands out what there is, up to a bound.
func (m *member) hand() (batches []work.Batch) {
	room := pollMost
	for _, at := range m.owned() {
		pl := m.places[at]
		n := min(room, len(pl.records))
		if n == 0 {
			continue
		}
		for i, offset := range pl.records[:n] {
			next := offset + 1
			if i == len(pl.records)-1 {
				next = pl.next
			}
			m.loop.records = append(m.loop.records, polled{source{at, offset}, next})
			pl.position = next
		}
		pl.records = pl.records[n:]
		room -= n
		batches = append(batches, work.Batch{Partition: workPartition(at), Records: n})
	}
	return batches
}

func workPartition(at partition) work.Partition {
	return work.Partition{Topic: at.Topic, Partition: at.Index}
}

// passed is how far partitions are that have nothing to be processed, where the group does not have that.
func (m *member) passed() (list []work.Reached) {
	for at, pl := range m.places {
		waits := func(r polled) bool { return r.of.at == at }
		if pl.known && pl.position != pl.committed && !slices.ContainsFunc(m.loop.records, waits) {
			list = append(list, work.Reached{Partition: workPartition(at), Offset: work.Offset{At: pl.position, LeaderEpoch: -1}})
		}
	}
	slices.SortFunc(list, func(a, b work.Reached) int { return a.Partition.Compare(b.Partition) })
	return list
}
