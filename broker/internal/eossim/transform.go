package eossim

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/eossim/history"
)

// transforming is a life of consuming one partition, as of before KIP-447: whoever has the transactional id has the partition, and
// nobody else's commits are pending once it is initialised.
func (w *world) transforming(group string, at history.Partition) func(p *producer) error {
	return func(p *producer) error {
		if err := p.initialise(false); err != nil {
			return err
		}
		x := &transformer{producer: p, group: group, by: nobody, positions: map[history.Partition]int64{}}
		if err := x.seek(at); err != nil {
			return err
		}
		for !w.trouble() {
			fed := w.fed.Load() // before it looks whether there is more
			switch n, ended, err := x.step(at); {
			case err != nil:
				return err
			case n == 0 && ended && fed:
				return nil
			case n == 0:
				p.rest(300 * time.Millisecond)
			}
		}
		return nil
	}
}

// transformer makes of each input record one output record, and commits what it has consumed in the same transaction.
type transformer struct {
	*producer
	group     string
	by        func() member // who commits
	positions map[history.Partition]int64
}

// seek goes to where the group has come to, once nothing is pending there.
func (x *transformer) seek(at history.Partition) error {
	next, err := x.committed(x.group, at)
	if err != nil {
		return err
	}
	x.positions[at] = max(next, 0)
	return nil
}

// committed is the group's stable offset; -1: there is none.
func (c *client) committed(group string, at history.Partition) (int64, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: group, MemberEpoch: -1, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: at.Topic, Partitions: []int32{at.Index}}}}}
	resp, _, err := c.insist(req, 8, fmt.Sprintf("%s %v", group, at), offsetCode)
	if err != nil {
		return 0, err
	}
	g := resp.(*kmsg.OffsetFetchResponse).Groups[0]
	if code := offsetCode(resp); code != 0 {
		c.w.problem("%s: fetching the offset of %s: code %d", c.name, group, code)
		return 0, errDead
	}
	return g.Topics[0].Partitions[0].Offset, nil
}

func offsetCode(resp kmsg.Response) int16 {
	g := resp.(*kmsg.OffsetFetchResponse).Groups[0]
	if g.ErrorCode != 0 || len(g.Topics) == 0 {
		return g.ErrorCode
	}
	return g.Topics[0].Partitions[0].ErrorCode
}

// step transforms some records of an input, in one transaction. ended: the input has no more.
func (x *transformer) step(at history.Partition) (n int, ended bool, err error) {
	from := x.positions[at]
	got, err := x.fetch(at, from, int32(100+x.dice.IntN(600)))
	if err != nil {
		return 0, false, err
	}
	records := got.records[:min(len(got.records), 1+x.dice.IntN(5))]
	if len(records) == 0 {
		return 0, got.known && got.next >= got.high, nil
	}
	next := records[len(records)-1].Offset + 1
	committed, err := x.transform(at, records, next)
	switch {
	case err != nil:
		return 0, false, err
	case committed:
		x.positions[at] = next
		return len(records), false, nil
	}
	return len(records), false, x.seek(at)
}

// transform is the transaction of one step.
func (x *transformer) transform(at history.Partition, records []history.Seen, next int64) (bool, error) {
	x.begin()
	err := x.outputs(at, records, next)
	if err == errDead || err == errFenced {
		return false, err
	}
	return x.end(err == nil && x.dice.IntN(8) > 0)
}

func (x *transformer) outputs(at history.Partition, records []history.Seen, next int64) error {
	early := x.dice.IntN(3) == 0
	offsets := []history.Offset{{Group: x.group, At: at, Next: next}}
	if early {
		if err := x.commit(x.group, x.by(), offsets); err != nil {
			return err
		}
	}
	var writes []*history.Write
	for _, r := range records {
		to := outputs()[int(at.Index)%len(outputs())]
		writes = append(writes, x.write(to, fmt.Sprintf("%s %v", x.group, at), int(r.Offset), &history.Source{Group: x.group, At: at, Offset: r.Offset}))
	}
	if err := x.send(writes); err != nil {
		return err
	}
	if x.dice.IntN(30) == 0 {
		x.rest(3 * x.timeout)
	}
	if early {
		return nil
	}
	return x.commit(x.group, x.by(), offsets)
}
