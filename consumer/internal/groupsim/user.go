package groupsim

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/membership"
	"github.com/skeinstream/skein/internal/simulation"
)

// poll is the user's loop: it comes for records and processes them, and does nothing while a callback runs.
func (i *incarnation) poll() {
	w := i.p.w
	i.Later(i.p.dice.Between(200*time.Millisecond, 700*time.Millisecond), i.poll)
	if i.callback != nil || i.closing || w.Now.Before(i.away) {
		return
	}
	i.feed(membership.Polled{})
	if i.callback != nil || !i.Lives() {
		return
	}
	for _, at := range i.handed() {
		i.process(at, i.places[at])
	}
}

// process takes some records of a partition.
func (i *incarnation) process(at partition, pos *place) {
	l := i.p.w.logs[at]
	for range 1 + i.p.dice.N(8) {
		if pos.next >= l.end {
			return
		}
		if pos.next > l.processed {
			i.p.w.judge.violates("lost", "%s reads %v from %d, and nobody has processed what is from %d on", i.name(), at, pos.next, l.processed)
		}
		if pos.next == l.processed {
			l.processed++
		} else {
			l.twice++
		}
		pos.next++
	}
}

// locate asks where to go on.
func (i *incarnation) locate(list []membership.TopicPartition, tries int) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group = 7, groupName
	for _, tp := range list {
		req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: tp.Topic, Partitions: []int32{tp.Partition}})
	}
	places := map[partition]*place{}
	for _, tp := range list {
		at := partition{tp.Topic, tp.Partition}
		places[at] = i.places[at]
	}
	i.send(req, func(resp any, err error) {
		g, ok := resp.(*kmsg.OffsetFetchResponseGroup)
		if err != nil || !ok {
			i.Later(time.Duration(100*(1+min(tries, 9)))*time.Millisecond, func() { i.locate(list, tries+1) })
			return
		}
		for _, t := range g.Topics {
			at := partition{t.Topic, t.Partitions[0].Partition}
			if pos := i.places[at]; pos != nil && pos == places[at] && !pos.known {
				pos.known, pos.next, pos.committed = true, max(t.Partitions[0].Offset, 0), t.Partitions[0].Offset
			}
		}
	})
}

// autoCommit commits now and then what has been processed.
func (i *incarnation) autoCommit() {
	i.Later(i.p.dice.Between(500*time.Millisecond, 1500*time.Millisecond), i.autoCommit)
	if i.callback != nil || i.commiting || i.p.w.Now.Before(i.away) {
		return
	}
	var fresh []partition
	for _, at := range i.handed() {
		if pos := i.places[at]; pos.next > pos.committed {
			fresh = append(fresh, at)
		}
	}
	if len(fresh) > 0 {
		i.commit(fresh, func(error) {})
	}
}

// commit sends how far partitions are processed, in the name of the generation in force.
func (i *incarnation) commit(list []partition, done func(error)) {
	g := i.brain.Generation()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation, req.MemberID = 8, groupName, g.ID, g.Member
	if i.spec.code == 'K' {
		req.Version = 9
	}
	if g.Instance != "" {
		req.InstanceID = &g.Instance
	}
	sent := map[*place]int64{}
	for _, at := range list {
		next := i.places[at].next
		if f := i.p.w.seams.commit; f != nil {
			next = f(i.p, next)
		}
		sent[i.places[at]] = next
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = at.index, next
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.Partitions = at.topic, append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	i.commits++
	i.commiting = true
	i.send(req, func(resp any, err error) {
		i.commiting = false
		done(i.committed(resp, err, g, sent))
	})
}

// committed takes the answer to a commit.
func (i *incarnation) committed(resp any, err error, g membership.Generation, sent map[*place]int64) error {
	r, ok := resp.(*kmsg.OffsetCommitResponse)
	if err != nil || !ok {
		return simulation.ErrNoAnswer
	}
	for _, t := range r.Topics {
		at := partition{t.Topic, t.Partitions[0].Partition}
		if code := t.Partitions[0].ErrorCode; code != 0 {
			i.p.w.Say("%s hears of its commit of %v in generation %d: %v", i.name(), at, g.ID, kerr.ErrorForCode(code))
			i.feed(membership.CommitRefused{Code: code, Generation: g.ID, Member: g.Member})
			return kerr.ErrorForCode(code)
		}
		if pos := i.places[at]; pos != nil {
			pos.committed = max(pos.committed, sent[pos])
		}
	}
	return nil
}

// runs runs a callback (R-B18). What is revoked is committed in it; what is lost cannot be.
func (i *incarnation) runs(c *membership.Call) {
	i.callback = c
	if c.Callback == membership.Lost {
		i.p.w.judge.lost++
	}
	i.p.w.Say("%s runs the callback for %v %v", i.name(), c.Callback, c.Partitions)
	takes := i.p.dice.Between(0, 20*time.Millisecond)
	if i.p.w.net.Happens(i.p.w.script.Slow) {
		takes = i.p.dice.Between(0, 20*time.Second)
	}
	i.Later(takes, func() {
		if takes > time.Second {
			i.p.w.judge.disturbed()
		}
		i.during(c, 0)
	})
}

// during is what a callback does.
func (i *incarnation) during(c *membership.Call, tries int) {
	list := i.known(c.Partitions)
	switch {
	case i.callback != c:
	case i.p.w.net.Happens(i.p.w.script.Fail):
		i.returns(c, errors.New("the user's code fails"))
	case c.Callback != membership.Revoked || tries > 3 || len(list) == 0:
		i.returns(c, nil)
	default:
		i.commit(list, func(err error) {
			if errors.Is(err, simulation.ErrNoAnswer) || errors.Is(err, kerr.RebalanceInProgress) || errors.Is(err, kerr.StaleMemberEpoch) {
				i.Later(200*time.Millisecond, func() { i.during(c, tries+1) })
				return
			}
			i.returns(c, nil)
		})
	}
}

// known are those partitions of which it is known where to go on.
func (i *incarnation) known(all []membership.TopicPartition) (list []partition) {
	for _, tp := range all {
		if at := (partition{tp.Topic, tp.Partition}); i.places[at] != nil && i.places[at].known {
			list = append(list, at)
		}
	}
	return list
}

// returns ends a callback, and with it ownership of what it took.
func (i *incarnation) returns(c *membership.Call, err error) {
	if i.callback != c {
		return
	}
	i.callback = nil
	i.p.w.Say("%s's callback for %v has ended: %v", i.name(), c.Callback, err)
	if c.Callback != membership.Assigned {
		for _, tp := range c.Partitions {
			delete(i.places, partition{tp.Topic, tp.Partition})
		}
	}
	i.feed(membership.Called{Err: err})
}
