package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/machine"
)

// herd is a group of many members, driven without the checks of a stage, which look at everybody after each step.
type herd struct {
	t       testing.TB
	m       *Machine
	now     time.Time
	token   machine.Token
	ids     []string
	waiting map[machine.Token]int
	leads   *kmsg.JoinGroupResponse
	gen     int32
	bytes   int // of records
}

func newHerd(t testing.TB) *herd {
	h := &herd{t: t, m: New(memberSettings()), now: time.UnixMilli(1_700_000_000_000), waiting: map[machine.Token]int{}}
	h.m.settings.MaxSize = 1 << 20
	h.take(h.m.Loaded(h.now))
	return h
}

func (h *herd) step(who int, in any) {
	h.token++
	h.waiting[h.token] = who
	h.take(h.m.Step(h.now, h.token, in))
}

func (h *herd) take(o machine.Output) {
	for _, r := range o.Records {
		h.bytes += len(r.Value)
		h.m.Apply(r)
	}
	for _, r := range o.Replies {
		who := h.waiting[r.To]
		delete(h.waiting, r.To)
		if v, ok := r.Value.(*kmsg.JoinGroupResponse); ok {
			h.ids[who], h.gen = v.MemberID, v.Generation
			if len(v.Members) > 0 {
				h.leads = v
			}
		}
	}
}

// join lets a member join, with the subscription of a consumer of one topic.
func (h *herd) join(who int) {
	for len(h.ids) <= who {
		h.ids = append(h.ids, "")
	}
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.ProtocolType = 9, "g", h.ids[who], consumerProtocol
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 45_000, 300_000
	subscription := assign.Subscription{Topics: []string{"orders"}}.Append(nil, 3)
	r.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription}, {Name: "cooperative-sticky", Metadata: subscription}}
	h.step(who, Join{Request: r, ClientID: "client", Host: "/127.0.0.1", NewID: fmt.Sprint(h.token)})
}

// joinFresh is join, and join again with the id.
func (h *herd) joinFresh(who int) {
	h.join(who)
	h.join(who)
}

func (h *herd) advance(d time.Duration) {
	h.now = h.now.Add(d)
	h.take(h.m.Tick(h.now))
}

// sync lets everybody ask for the assignment, the leader first.
func (h *herd) sync() {
	for i, id := range h.ids {
		if id == h.leads.MemberID {
			h.syncOne(i, h.leads.Members)
		}
	}
	for i, id := range h.ids {
		if id != h.leads.MemberID {
			h.syncOne(i, nil)
		}
	}
}

func (h *herd) syncOne(who int, members []kmsg.JoinGroupResponseMember) {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 4, "g", h.ids[who], h.gen
	for i := range members {
		assignment := assign.Assignment{Partitions: []assign.TopicPartitions{{Topic: "orders", Partitions: []int32{int32(3 * i), int32(3*i + 1), int32(3*i + 2)}}}}
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: members[i].MemberID, MemberAssignment: assignment.Append(nil, 3)})
	}
	h.step(who, Sync{Request: r})
}

func (h *herd) beat(who int, r *kmsg.HeartbeatRequest) {
	r.Version, r.Group, r.MemberID, r.Generation = 4, "g", h.ids[who], h.gen
	h.step(who, Heartbeat{Request: r})
}

// grown is a Stable group.
func grown(t testing.TB, members int) *herd {
	h := newHerd(t)
	for i := range members {
		h.joinFresh(i)
	}
	h.advance(3 * time.Second)
	h.advance(3 * time.Second)
	h.sync()
	if g := h.m.group("g"); g.state != Stable || g.generation != 1 || g.members.len() != members || len(h.waiting) > 0 {
		t.Fatalf("%v, generation %d, %d members, %d wait", g.state, g.generation, g.members.len(), len(h.waiting))
	}
	return h
}

// TestBurstIntoALargeGroup: FR-B7, FR-B10: 1,000 members come at once into a group of 7,000: everybody is in the next
// generation. And back: they all fall silent, which is one more.
func TestBurstIntoALargeGroup(t *testing.T) {
	h := grown(t, 7000)
	for i := range 1000 {
		h.join(7000 + i)
	}
	for i := range 7000 {
		if i < 1000 {
			h.join(7000 + i)
		}
		h.join(i)
	}
	g := h.m.group("g")
	expect(t, "waiting", len(h.waiting), 0)
	expect(t, "state", g.state, CompletingRebalance)
	expect(t, "generation", g.generation, 2)
	expect(t, "members", g.members.len(), 8000)
	h.sync()
	expect(t, "state", g.state, Stable)
	h.advance(44 * time.Second)
	for i := range 7000 {
		h.beat(i, kmsg.NewPtrHeartbeatRequest())
	}
	h.advance(time.Second)
	expect(t, "state", g.state, PreparingRebalance)
	expect(t, "members", g.members.len(), 7000)
	for i := range 7000 {
		h.join(i)
	}
	expect(t, "generation", g.generation, 3)
	expect(t, "history", len(g.history), 3)
}

// TestHeartbeatsAreCheap: a heartbeat allocates its request and answer and little else (FR-B10).
func TestHeartbeatsAreCheap(t *testing.T) {
	h := grown(t, 100)
	r := kmsg.NewPtrHeartbeatRequest()
	var in any = Heartbeat{Request: r}
	r.Version, r.Group, r.MemberID, r.Generation = 4, "g", h.ids[7], h.gen
	now := h.now
	if n := testing.AllocsPerRun(1000, func() {
		now = now.Add(time.Millisecond)
		h.m.Step(now, 1, in)
	}); n > 3 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	for _, members := range []int{10, 7000} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			h := grown(b, members)
			r := kmsg.NewPtrHeartbeatRequest()
			var in any = Heartbeat{Request: r}
			r.Version, r.Group, r.Generation = 4, "g", h.gen
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r.MemberID = h.ids[i%members]
				h.now = h.now.Add(time.Microsecond)
				h.m.Step(h.now, 1, in)
			}
		})
	}
}

// BenchmarkRound is one whole round of a Stable group: everybody joins, the leader assigns, everybody syncs.
func BenchmarkRound(b *testing.B) {
	for _, members := range []int{70, 700, 7000} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			h := grown(b, members)
			b.ReportAllocs()
			h.bytes = 0
			for b.Loop() {
				for i := range members { // the first of them leads, which begins the round
					h.join(i)
				}
				h.sync()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(members), "ns/member")
			b.ReportMetric(float64(h.bytes)/float64(b.N)/float64(members), "bytes/member")
		})
	}
}

// BenchmarkLoad is a restart with a large group in the log.
func BenchmarkLoad(b *testing.B) {
	h := grown(b, 7000)
	record := h.m.group("g").record()
	b.ReportAllocs()
	for b.Loop() {
		m := New(h.m.settings)
		m.Apply(record)
		m.Loaded(h.now)
	}
}
