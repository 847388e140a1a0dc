package eossim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/eossim/cluster"
	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/work"
)

// judge looks at all that becomes true, with the broker's eyes, and knows what must not.
type judge struct {
	w     *world
	found []Violation

	effects   map[source]int                // committed
	committed map[partition]int64           // by the group
	pending   map[int64]map[partition]int64 // by producer id
	applied   map[partition][]applied
	ids       map[string]*member   // by the member id that the coordinator gave
	given     map[partition]string // by the assignment in force
	by        map[int64]*member    // who has sent offsets last, by producer id

	counts Counts
}

// applied is an offset that was committed by a transaction.
type applied struct {
	by     *member
	offset int64
	at     time.Time
}

// Counts say what a run was about.
type Counts struct {
	Effects, Letters, Generations                           int
	Committed, Aborted, Unknown, Moved, Lost, Refused, Late int // transactions, by what their members were told
	Fenced, Died                                            int // attempts to fence somebody, and deaths with an open transaction
}

// Violation is something that must never be.
type Violation struct {
	Kind string // twice, lost, ghost, back, ahead, zombie, told, fatal, liveness, fenced, held
	Text string
}

func (v Violation) String() string { return v.Kind + ": " + v.Text }

func newJudge(w *world) judge {
	return judge{
		w: w, effects: map[source]int{}, committed: map[partition]int64{}, pending: map[int64]map[partition]int64{},
		applied: map[partition][]applied{}, ids: map[string]*member{}, given: map[partition]string{}, by: map[int64]*member{},
	}
}

func (j *judge) violates(kind, format string, args ...any) {
	v := Violation{kind, fmt.Sprintf(format, args...)}
	j.w.Say("VIOLATION %s", v)
	if len(j.found) < most {
		j.found = append(j.found, v)
	}
}

// Ended is what a marker decides about.
func (j *judge) Ended(at partition, commit bool, entries []cluster.Entry) {
	if !commit {
		return
	}
	for _, e := range entries {
		of := e.Value.(effect).of
		j.effects[of]++
		if at.Topic == lettersTopic {
			j.counts.Letters++
		} else {
			j.counts.Effects++
		}
		if j.effects[of] > 1 {
			j.violates("twice", "the effect of %v at %d is committed %d times", of.at, of.offset, j.effects[of])
		}
		if !j.w.cluster.Log(of.at).Visible(of.offset) {
			j.violates("ghost", "%v at %d has an effect, and is not committed", of.at, of.offset)
		}
	}
}

// Stored is a record of the group's log.
func (j *judge) Stored(r machine.Record) {
	id := r.Producer.ID
	switch {
	case r.Marker != nil:
		if r.Marker.Commit {
			for _, at := range slices.SortedFunc(maps.Keys(j.pending[id]), partition.Compare) {
				j.apply(at, j.pending[id][at], j.by[id])
			}
		}
		delete(j.pending, id)
	case len(r.Key) > 1 && r.Key[1] < 2:
		j.offset(r)
	default:
		j.groupRecord(r)
	}
}

func (j *judge) offset(r machine.Record) {
	var k kmsg.OffsetCommitKey
	v := kmsg.NewOffsetCommitValue()
	if r.Value == nil || k.ReadFrom(r.Key) != nil || v.ReadFrom(r.Value) != nil {
		return
	}
	at := partition{Topic: k.Topic, Index: k.Partition}
	if !r.Producer.Transactional {
		j.apply(at, v.Offset, nil)
		return
	}
	all := j.pending[r.Producer.ID]
	if all == nil {
		all = map[partition]int64{}
		j.pending[r.Producer.ID] = all
	}
	all[at] = v.Offset
}

// apply is an offset that is the group's from now on.
func (j *judge) apply(at partition, offset int64, who *member) {
	by := "nobody"
	if who != nil {
		by = who.name()
	}
	j.w.Say("the group is at %d of %v, by %s", offset, at, by)
	was := j.committed[at]
	if offset < was {
		j.violates("back", "%s moves %v back from %d to %d", by, at, was, offset)
	}
	l := j.w.cluster.Log(at)
	if offset > l.Stable() {
		j.violates("ahead", "%s commits %d of %v, which is stable up to %d", by, offset, at, l.Stable())
	}
	j.committed[at] = offset
	j.applied[at] = append(j.applied[at], applied{who, offset, j.w.Now})
	if !j.w.cluster.Kafka { // whose markers do not come together
		j.w.After(0, func() { j.passed(at, was, offset) })
	}
}

// passed looks at what the group will not read again.
func (j *judge) passed(at partition, from, to int64) {
	l := j.w.cluster.Log(at)
	for i := from; i < min(to, l.End()); i++ {
		if l.Visible(i) && j.effects[source{at, i}] == 0 {
			j.violates("lost", "the group is at %d of %v, and that at %d has no effect", to, at, i)
		}
	}
}

// groupRecord sees who is given what.
func (j *judge) groupRecord(r machine.Record) {
	var k kmsg.GroupMetadataKey
	v := kmsg.NewGroupMetadataValue()
	if len(r.Key) < 2 || r.Key[1] != 2 || r.Value == nil || k.ReadFrom(r.Key) != nil || v.ReadFrom(r.Value) != nil {
		return
	}
	j.counts.Generations++
	for i := range v.Members {
		a, err := assign.DecodeAssignment(v.Members[i].Assignment)
		if err != nil {
			continue
		}
		for _, t := range a.Partitions {
			for _, p := range t.Partitions {
				j.given[partition{Topic: t.Topic, Index: p}] = v.Members[i].MemberID
			}
		}
	}
}

// answered sees what the broker says, once it is durable.
func (j *judge) answered(m *member, req, resp any) {
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		if r.ErrorCode == 0 {
			j.joined(m, r.MemberID)
		}
	case *kmsg.TxnOffsetCommitResponse:
		j.accepted(m, req.(*kmsg.TxnOffsetCommitRequest), r)
	}
}

// joined knows a member by its new id. A static one takes over what the one before was given.
func (j *judge) joined(m *member, id string) {
	for old, o := range j.ids {
		if old != id && m.spec.instance != "" && o.spec.instance == m.spec.instance {
			for at, given := range j.given {
				if given == old {
					j.given[at] = id
				}
			}
			delete(j.ids, old)
		}
	}
	j.ids[id] = m
}

// accepted: nothing is taken of a partition that was given to somebody else (INV2).
func (j *judge) accepted(m *member, req *kmsg.TxnOffsetCommitRequest, resp *kmsg.TxnOffsetCommitResponse) {
	for n, t := range resp.Topics {
		if t.Partitions[0].ErrorCode != 0 {
			continue
		}
		j.by[req.ProducerID] = m
		at := partition{Topic: t.Topic, Index: t.Partitions[0].Partition}
		if holder := j.ids[j.given[at]]; holder != nil && holder != m {
			j.violates("zombie", "%s commits %d of %v as %s in generation %d, and it was given to %s",
				m.name(), req.Topics[n].Partitions[0].Offset, at, req.MemberID, req.Generation, holder.name())
		}
	}
}

// told: what a member is told of a transaction is true.
func (j *judge) told(m *member, e *work.Ended) {
	j.count(e)
	for _, r := range e.Offsets {
		at := partition{Topic: r.Topic, Index: r.Partition.Partition}
		is := slices.ContainsFunc(j.applied[at], func(a applied) bool {
			return a.by == m && a.offset == r.At && !a.at.Before(e.Since)
		})
		switch {
		case e.End == work.IsCommitted && !is && !j.waits(at, r.At):
			j.violates("told", "%s was told that %d of %v is committed", m.name(), r.At, at)
		case e.End == work.IsAborted && is && e.Records > 0:
			j.violates("told", "%s was told that %d of %v is not committed", m.name(), r.At, at)
		}
	}
}

// waits says that an offset is in a transaction whose marker has not come.
func (j *judge) waits(at partition, offset int64) bool {
	for _, all := range j.pending {
		if all[at] == offset {
			return true
		}
	}
	return false
}

func (j *judge) count(e *work.Ended) {
	c := &j.counts
	switch {
	case e.End == work.IsCommitted:
		c.Committed++
		return
	case e.End == work.IsUnknown:
		c.Unknown++
	default:
		c.Aborted++
	}
	switch e.Reason {
	case work.Moved:
		c.Moved++
	case work.Lost:
		c.Lost++
	case work.Refused:
		c.Refused++
	case work.TooLong:
		c.Late++
	}
}

// fails looks at why a member has no way on.
func (j *judge) fails(name string, err error) { j.violates("fatal", "%s: %v", name, err) }

// verdict is about the end: each input has its effect, and nothing else has.
func (j *judge) verdict() {
	for _, at := range j.w.inputPartitions() {
		l := j.w.cluster.Log(at)
		for i := range l.End() {
			if n := j.effects[source{at, i}]; n == 0 && l.Visible(i) {
				j.violates("lost", "%v at %d has no effect, and the group is at %d", at, i, j.committed[at])
			}
		}
	}
}
