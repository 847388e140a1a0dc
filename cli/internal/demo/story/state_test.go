package story

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/internal/ownership"
)

// play is a state that is told what happens, a tenth of a second after the other.
type play struct {
	*State
	now time.Time
}

func newPlay() *play {
	return &play{NewState(Script(Cluster{Admits: true, Restart: true})), time.Unix(1_700_000_000, 0)}
}

func (p *play) see(e Event) {
	p.now = p.now.Add(100 * time.Millisecond)
	e.At = p.now
	p.See(e)
}

func (p *play) does(slot int, kind ownership.Kind, partitions ...int32) {
	p.see(Event{Event: ownership.Event{Kind: kind, Member: p.Members[slot-1].Name, Partitions: partitions}, Slot: slot})
}

func (p *play) starts(slot int, code Code) {
	p.see(Event{Event: ownership.Event{Kind: Started, Member: fmt.Sprintf("%s-%d", code, slot)}, Slot: slot, Code: code})
}

func (p *play) joins(slot int, generation int32, assignor string, leader bool) {
	e := ownership.Event{Member: p.Members[slot-1].Name, Generation: generation, Assignor: assignor, Leader: leader}
	e.Kind = ownership.Joined
	p.see(Event{Event: e, Slot: slot})
	e.Kind = Completed
	p.see(Event{Event: e, Slot: slot, Cooperative: assignor == cooperative && p.Members[slot-1].Code == New})
}

func (p *play) handles(slot int, partition int32, first, last int64) {
	p.see(Event{Event: ownership.Event{
		Kind: ownership.Handled, Member: p.Members[slot-1].Name, Partitions: []int32{partition}, First: first, Last: last, Count: last - first + 1,
	}, Slot: slot})
}

// third are the partitions that range gives a member of three.
func third(slot int) []int32 {
	n := int32(slot-1) * 4
	return []int32{n, n + 1, n + 2, n + 3}
}

// whole is a group of three old members that share everything, and have handled a record of each partition.
func whole() *play {
	p := newPlay()
	p.see(p.Opening(0))
	for slot := 1; slot <= Members; slot++ {
		p.starts(slot, Old)
	}
	for slot := 1; slot <= Members; slot++ {
		p.joins(slot, 1, eager, slot == 2)
		p.does(slot, ownership.Assigned, third(slot)...)
	}
	for slot := 1; slot <= Members; slot++ {
		for _, id := range third(slot) {
			p.handles(slot, id, 0, 0)
		}
	}
	return p
}

func TestTheStateFollowsFromTheEvents(t *testing.T) {
	p := whole()
	assignor, protocol := p.InForce()
	if assignor != eager || protocol != "EAGER" || p.Generation() != 1 || p.Leader() != 2 || p.Parts[11].Owner != 3 || p.Parts[11].Handled != 1 {
		t.Errorf("%+v", p.State)
	}
	p.does(2, ownership.Revoked, 4, 5)
	if got := Ranges(p.Members[1].Owns); got != "6-7" || p.Parts[4].Owner != 0 {
		t.Errorf("after giving up two of four: %s, %+v", got, p.Parts[4])
	}
	p.does(2, Killed)
	p.does(2, ownership.Ended)
	if m := p.Members[1]; m.Alive || m.End != "killed" || len(m.Owns) != 0 || p.Parts[6].Owner != 0 || p.LastKilled() != 2 || p.Leader() != 0 {
		t.Errorf("after its death: %+v", m)
	}
	p.starts(2, New)
	p.joins(2, 2, cooperative, false)
	if m := p.Members[1]; !m.Alive || m.Name != "new-2" || !m.Cooperative || p.Generation() != 2 {
		t.Errorf("the next one: %+v", m)
	}
}

// What is still under way is not taken for settled.
func TestWhenAGroupHasSettled(t *testing.T) {
	p := whole()
	if !p.Settled(p.Began) {
		t.Fatal("a group that shares everything and reads has not settled")
	}
	if p.Settled(p.now.Add(-200 * time.Millisecond)) {
		t.Error("it has settled although no record has come of most partitions since")
	}
	for name, breaks := range map[string]func(*play){
		"a partition is nobody's":                func(p *play) { p.does(1, ownership.Revoked, 0) },
		"a member is in a rebalance":             func(p *play) { p.does(1, Rejoining) },
		"a member has joined a newer generation": func(p *play) { p.joins(1, 2, eager, false) },
		"a member is killed":                     func(p *play) { p.does(3, ownership.Ended) },
		"a member has just started":              func(p *play) { p.does(3, ownership.Ended); p.starts(3, New) },
		"the broker is down":                     func(p *play) { p.see(Event{Event: ownership.Event{Kind: BrokerDown}}) },
		"who has a partition now has handled nothing of it": func(p *play) {
			p.does(1, ownership.Revoked, 0)
			p.does(2, ownership.Assigned, 0)
		},
		"a member has nothing, and all is another's": func(p *play) {
			p.does(3, ownership.Revoked, third(3)...)
			p.does(2, ownership.Assigned, third(3)...)
			for _, id := range third(3) {
				p.handles(2, id, 1, 1)
			}
		},
	} {
		p := whole()
		breaks(p)
		if p.Settled(p.Began) {
			t.Errorf("%s, and it counts as settled", name)
		}
	}
}

func TestTickersSayWhoHandlesRecords(t *testing.T) {
	p := whole()
	p.Tick(p.now)
	p.Tick(p.now)
	p.handles(1, 0, 1, 1)
	p.does(1, ownership.Revoked, 0)
	p.does(3, ownership.Assigned, 0)
	p.Tick(p.now)
	p.handles(3, 0, 2, 2)
	p.Tick(p.now)
	if got := p.Parts[0].Cells; !slices.Equal(got, []int{1, 0, 1, 3}) {
		t.Errorf("%v", got)
	}
	for range 2 * maxCells {
		p.Tick(p.now)
	}
	if n := len(p.Parts[0].Cells); n != maxCells {
		t.Errorf("a ticker remembers %d cells", n)
	}
}

// The verdict is bad when the history is, when an act does not come to where it should, and when something failed; and good else.
func TestTheVerdict(t *testing.T) {
	ends := map[int32]int64{}
	for id := range int32(Partitions) {
		ends[id] = 1
	}
	for name, c := range map[string]struct {
		does func(*play)
		want string
	}{
		"nothing":    {func(*play) {}, ""},
		"two owners": {func(p *play) { p.does(1, ownership.Assigned, 11) }, "partition 11 is still owned by old-3"},
		"an act that ends elsewhere": {func(p *play) {
			for slot := 1; slot <= Members; slot++ {
				p.joins(slot, 2, cooperative, false)
			}
			p.Meets()
		}, `"three members of the old code" ends with cooperative-sticky and EAGER, not with range and EAGER`},
		"a failure": {func(p *play) { p.see(Event{Event: ownership.Event{Kind: Failed}, Text: "no"}) }, "no"},
		"a record that nobody handles": {func(p *play) {
			more := map[int32]int64{7: 3}
			p.Ends(more)
		}, "partition 7 was handled up to 1 of 3"},
	} {
		p := whole()
		p.Meets()
		p.Ends(ends)
		if !p.Drained() {
			t.Fatal("all is handled, and it is not drained")
		}
		c.does(p)
		v := p.Verdict()
		if got := strings.Join(v.Wrongs, "; "); v.Good() != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestRanges(t *testing.T) {
	for want, list := range map[string][]int32{"": nil, "3": {3}, "0-3": {0, 1, 2, 3}, "0,2-3,5": {0, 2, 3, 5}, "0,2": {0, 2}} {
		if got := Ranges(list); got != want {
			t.Errorf("%v: %q, want %q", list, got, want)
		}
	}
}

// What people read is one line without anything that moves a cursor, and silence where it is none of their concern.
func TestLines(t *testing.T) {
	member := func(kind ownership.Kind, partitions ...int32) Event {
		return Event{Event: ownership.Event{Kind: kind, Member: "new-2", Partitions: partitions, Generation: 7, Assignor: eager}, Slot: 2}
	}
	leader := member(ownership.Joined)
	leader.Leader = true
	failed := member(Failed)
	failed.Text = "a\n\x1b[2Jb"
	for want, e := range map[string]Event{
		"new-2 gives up 1-2":                   member(ownership.Revoked, 1, 2),
		"new-2 gets 4":                         member(ownership.Assigned, 4),
		"new-2 has lost 4":                     member(ownership.Lost, 4),
		"generation 7 runs range; new-2 leads": leader,
		"FAILED: a  [2Jb":                      failed,
		"new-2 is killed (-9)":                 member(Killed),
	} {
		if got := e.Line(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, e := range []Event{member(ownership.Revoked), member(ownership.Assigned), member(ownership.Joined), member(ownership.Handled, 1), member(ownership.Committed, 1), member(ownership.Ended)} {
		if got := e.Line(); got != "" {
			t.Errorf("%s is told: %q", e.Kind, got)
		}
	}
}
