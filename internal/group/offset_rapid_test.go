package group

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/skeinstream/skein/assign"
)

// place names an offset.
type place struct {
	group, topic string
	partition    int32
}

// accepted is what the oracle remembers of a commit.
type accepted struct {
	offset   int64
	epoch    int32
	metadata string
	at       time.Time
	expires  time.Time // zero: as the group's
}

// oracle is a map of the last accepted commit. The group "live" has a member, subscribed to topic "a", whose session never
// ends; the others are simple.
type oracle struct {
	w      *world
	have   map[place]accepted
	member string
}

func newOracle(t *rapid.T) *oracle {
	s := offsetSettings()
	s.MaxSessionTimeout, s.OffsetsRetention, s.OffsetsRetentionCheck = 590*time.Hour, time.Hour, 10*time.Minute
	s.OffsetMetadataMax = 3
	o := &oracle{w: newWorld(t, s), have: map[place]accepted{}}
	o.member = joinAlone(o.w, "live", "a")
	return o
}

// joinAlone makes a group of one member, Stable in generation 1.
func joinAlone(w *world, group string, topics ...string) string {
	j := kmsg.NewPtrJoinGroupRequest()
	j.Version, j.Group, j.ProtocolType = 3, group, consumerProtocol
	j.SessionTimeoutMillis = int32(w.settings.MaxSessionTimeout.Milliseconds())
	j.RebalanceTimeoutMillis = 60_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", assign.Subscription{Topics: topics}.Append(nil, 1)
	j.Protocols = append(j.Protocols, p)
	joined := w.ask(Join{Request: j, ClientID: "c", Host: "/127.0.0.1", NewID: group}).(*kmsg.JoinGroupResponse)
	y := kmsg.NewPtrSyncGroupRequest()
	y.Version, y.Group, y.Generation, y.MemberID = 3, group, joined.Generation, joined.MemberID
	y.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID, MemberAssignment: []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}
	w.ask(Sync{Request: y})
	return joined.MemberID
}

func drawPlace(t *rapid.T) place {
	return place{
		rapid.SampledFrom([]string{"live", "s1", "s2"}).Draw(t, "group"),
		rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "topic"),
		rapid.SampledFrom([]int32{0, 1, 2, 7, 1000}).Draw(t, "partition"),
	}
}

// commit commits one partition, with a right or a wrong identity, and keeps what must have been accepted.
func (o *oracle) commit(t *rapid.T) {
	p := drawPlace(t)
	a := accepted{offset: rapid.Int64Range(-2, 1000).Draw(t, "offset"), epoch: rapid.Int32Range(-1, 5).Draw(t, "epoch"), at: o.w.now}
	a.metadata = rapid.SampledFrom([]string{"", "m", "abc", "äöü", "🙂x", "🙂🙂", "abcd"}).Draw(t, "metadata")
	r := commitOf(p.group, p.topic, p.partition, a.offset)
	r.Topics[0].Partitions[0].Metadata, r.Topics[0].Partitions[0].LeaderEpoch = &a.metadata, a.epoch
	if p.group == "live" {
		r.Generation, r.MemberID = 1, o.member
	}
	if keep := rapid.SampledFrom([]int64{-1, -1, -1, 0, 1000, 5_000_000}).Draw(t, "retention"); keep >= 0 {
		r.Version, r.RetentionTimeMillis = 4, keep
		r.Topics[0].Partitions[0].LeaderEpoch, a.epoch = -1, -1
		a.expires = o.w.now.Add(time.Duration(keep) * time.Millisecond)
	}
	var want int16
	switch rapid.SampledFrom([]string{"", "", "", "generation", "member"}).Draw(t, "wrong") {
	case "generation":
		r.Generation, want = 9, kerr.IllegalGeneration.Code
		if p.group != "live" {
			r.Generation, r.MemberID, want = 9, "x", o.unknownGroup(p.group)
		}
	case "member":
		r.MemberID = "stranger"
		if p.group == "live" {
			want = kerr.UnknownMemberID.Code
		}
	}
	if want == 0 && slices.Contains([]string{"🙂🙂", "abcd"}, a.metadata) {
		want = kerr.OffsetMetadataTooLarge.Code
	}
	if got := o.w.commit(r); got != want {
		t.Fatalf("commit %+v %+v: %d, want %d", p, a, got, want)
	}
	if want == 0 {
		o.have[p] = a
	}
}

// unknownGroup is the answer to a commit with a generation where no members are: groups without offsets may have been
// removed, or not yet.
func (o *oracle) unknownGroup(name string) int16 {
	if o.w.m.group(name) == nil {
		return kerr.IllegalGeneration.Code
	}
	return kerr.UnknownMemberID.Code
}

func (o *oracle) deleteOffset(t *rapid.T) {
	p := drawPlace(t)
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = p.group
	r.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: p.topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: p.partition}}}}
	got := o.w.ask(DeleteOffsets{Request: r}).(*kmsg.OffsetDeleteResponse)
	switch {
	case o.w.m.group(p.group) == nil && got.ErrorCode != kerr.GroupIDNotFound.Code:
		t.Fatalf("%+v: %+v", p, got)
	case p.group == "live" && p.topic == "a":
		if code := got.Topics[0].Partitions[0].ErrorCode; code != kerr.GroupSubscribedToTopic.Code {
			t.Fatalf("%+v: %d", p, code)
		}
	default:
		delete(o.have, p)
	}
}

func (o *oracle) deleteTopics(t *rapid.T) {
	topics := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "x"}), 1, 3).Draw(t, "topics")
	o.w.ask(DeleteTopics{Topics: topics})
	o.drop(func(p place, _ accepted) bool { return slices.Contains(topics, p.topic) })
}

func (o *oracle) deleteGroup(t *rapid.T) {
	group := rapid.SampledFrom([]string{"live", "s1", "s2"}).Draw(t, "group")
	known := o.w.m.group(group) != nil
	code := o.w.ask(Delete{Group: group}).(int16)
	switch {
	case group == "live" && code != kerr.NonEmptyGroup.Code,
		group != "live" && known && code != 0,
		!known && code != kerr.GroupIDNotFound.Code:
		t.Fatalf("delete of %s, known %v: %d", group, known, code)
	case group != "live":
		o.drop(func(p place, _ accepted) bool { return p.group == group })
	}
}

// pass lets time go by in steps of the check, so that what has expired is known to be gone after each.
func (o *oracle) pass(t *rapid.T) {
	for range rapid.IntRange(1, 12).Draw(t, "checks") {
		o.w.advance(o.w.settings.OffsetsRetentionCheck)
	}
	o.drop(func(p place, a accepted) bool {
		last := o.w.now // time passes in whole intervals, so the last check was just now
		if p.group == "live" && p.topic == "a" {
			return false
		}
		if !a.expires.IsZero() {
			return !last.Before(a.expires)
		}
		return last.Sub(a.at) >= o.w.settings.OffsetsRetention
	})
}

func (o *oracle) drop(gone func(place, accepted) bool) {
	for p, a := range o.have {
		if gone(p, a) {
			delete(o.have, p)
		}
	}
}

// check compares everything that is fetched with everything that was accepted.
func (o *oracle) check(t *rapid.T) {
	var got, want []string
	for _, group := range []string{"live", "s1", "s2"} {
		for _, topic := range o.w.ask(Fetch{Group: group, All: true}).(*kmsg.OffsetFetchResponseGroup).Topics {
			for _, p := range topic.Partitions {
				got = append(got, fmt.Sprint(group, topic.Topic, p.Partition, p.Offset, p.LeaderEpoch, *p.Metadata, p.ErrorCode))
			}
		}
	}
	for p, a := range o.have {
		want = append(want, fmt.Sprint(p.group, p.topic, p.partition, a.offset, a.epoch, a.metadata, 0))
	}
	slices.SortFunc(got, cmp.Compare[string])
	slices.SortFunc(want, cmp.Compare[string])
	if !slices.Equal(got, want) {
		t.Fatalf("fetched:\n%s\naccepted:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if int(o.w.m.offsets.stored) != len(o.have) {
		t.Fatalf("%d offsets counted, %d there", o.w.m.offsets.stored, len(o.have))
	}
}

// FR-C13, R-D16: whatever happens, what is fetched is the last commit that was accepted, before and after a restart. The
// world compares with a replay after every single step.
func TestOffsetsAgainstAnOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newOracle(t)
		t.Repeat(map[string]func(*rapid.T){
			"":              o.check,
			"commit":        o.commit,
			"commit again":  o.commit,
			"and again":     o.commit,
			"delete offset": o.deleteOffset,
			"delete topics": o.deleteTopics,
			"delete group":  o.deleteGroup,
			"pass":          o.pass,
			"restart":       func(*rapid.T) { o.w.restart() },
		})
	})
}
