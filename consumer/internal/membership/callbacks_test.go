package membership

import (
	"errors"
	"testing"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/twmb/franz-go/pkg/kerr"
)

var eager = Config{Assignors: []assign.Assignor{assign.Range{}}}

const (
	cs = "cooperative-sticky"
	rg = "range"
)

// R-B19: nothing is owned, so that there is no callback before the first generation, in either protocol.
func TestFirstJoin(t *testing.T) {
	for _, cfg := range []Config{eager, {}} {
		l := newLife(t, cfg).subscribes("t")
		if len(l.log) != 1 {
			t.Errorf("%v", l.log)
		}
		l.refusedToJoin(kerr.MemberIDRequired).joins(1, rg).isGiven("t-0 t-1")
		l.log = l.log[2:]
		l.did("sync generation 1, plan of 0", "start [t-0 t-1]", "call assigned [t-0 t-1]").ends().did()
	}
}

// R-B2, R-B3, R-B18: EAGER gives up everything first, and owns nothing then.
func TestEagerRebalance(t *testing.T) {
	l := newLife(t, eager).settles(rg, "t-0 t-1").beats(kerr.RebalanceInProgress)
	l.did("heartbeat of generation 1", "stop [t-0 t-1]", "call revoked [t-0 t-1]").ends()
	l.did(`join as "m" with [range], owning [] of generation 1`).joins(2, rg).isGiven("t-1").ends()
	l.did("sync generation 2, plan of 0", "start [t-1]", "call assigned [t-1]")
}

// With nothing to give up the callback comes, too, but not a second time when the rebalance begins anew.
func TestEagerRebalanceWithNothing(t *testing.T) {
	l := newLife(t, eager).settles(rg, "").beats(kerr.RebalanceInProgress)
	l.did("heartbeat of generation 1", "call revoked []").ends().joins(2, rg).refusedToSync(kerr.RebalanceInProgress)
	l.did(`join as "m" with [range], owning [] of generation 1`, "sync generation 2, plan of 0", `join as "m" with [range], owning [] of generation 2`)
}

// R-B4, R-B5, R-B7: COOPERATIVE keeps what it may, gives up the rest at the end, and joins once more.
func TestCooperativeRebalance(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0 t-1").beats(kerr.RebalanceInProgress)
	l.did("heartbeat of generation 1", `join as "m" with [cooperative-sticky], owning [t-0 t-1] of generation 1, and more held back`)
	l.joins(2, cs).isGiven("t-1 t-2")
	l.did("sync generation 2, plan of 0", "stop [t-0]", "call revoked [t-0]")
	l.ends().did("start [t-2]", "call assigned [t-2]")
	l.ends().did(`join as "m" with [cooperative-sticky], owning [t-1 t-2] of generation 2, and more held back`)
	l.joins(3, cs).isGiven("t-1 t-2").ends().did("sync generation 3, plan of 0", "call assigned []")
}

// R-B3: a topic that is not wanted any more is given up before joining.
func TestCooperativeDropsTopics(t *testing.T) {
	l := newLife(t, Config{})
	l.subscribes("a", "b").joins(1, cs).isGiven("a-0 b-0 b-1").ends()
	l.log = nil
	l.subscribes("a").did("stop [b-0 b-1]", "call revoked [b-0 b-1]").ends()
	l.did(`join as "m" with [cooperative-sticky], owning [a-0] of generation 1, and more held back`)
}

// R-B10, R-B12: what the group gave to others is lost before the next JoinGroup, and never claimed.
func TestExpelled(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").beats(kerr.UnknownMemberID)
	l.did("heartbeat of generation 1", "stop [t-0]", "call lost [t-0]").ends()
	l.did(`join as "" with [cooperative-sticky range], owning [] of generation -1`)
	if got := l.m.Generation(); got.ID != 1 || got.Member != "m" {
		t.Errorf("commits would be in the name of %+v, which no broker refuses (R-B13)", got)
	}
	l = newLife(t, Config{}).settles(cs, "t-0").beats(kerr.IllegalGeneration)
	l.ends().did("heartbeat of generation 1", "stop [t-0]", "call lost [t-0]", `join as "m" with [cooperative-sticky range], owning [] of generation -1`)
}

// The answer of a heartbeat that was sent in another generation's name says nothing.
func TestLateHeartbeat(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").passes(3 * time.Second)
	l.does(Rejoin{Reason: "now"}).joins(2, cs).isGiven("t-0").ends()
	l.log = nil
	l.hears(kerr.UnknownMemberID).did()
}

// An expulsion in the middle of a callback: what is left is lost when it has ended.
func TestExpelledDuringACallback(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0 t-1").does(Rejoin{}).joins(2, cs).isGiven("t-1 t-2")
	l.log = nil
	l.passes(3 * time.Second).hears(kerr.IllegalGeneration).ends()
	l.did("heartbeat of generation 2", "stop [t-1]", "call lost [t-1]").ends()
	l.did(`join as "m" with [cooperative-sticky range], owning [] of generation -1`)
}

// R-B11: a user who does not poll leaves, and hears of it at the next poll.
func TestSlowPolls(t *testing.T) {
	l := newLife(t, Config{PollInterval: 2 * time.Second}).settles(cs, "t-0").passes(2 * time.Second)
	l.did("stop [t-0]", "leave").passes(time.Minute).did()
	l.does(Polled{}).did("stop [t-0]", "call lost [t-0]").ends()
	l.did(`join as "" with [cooperative-sticky range], owning [] of generation -1`)

	l = newLife(t, Config{PollInterval: 2 * time.Second, InstanceID: "i"}).settles(cs, "t-0").passes(2 * time.Second)
	l.did("stop [t-0]")
}

// R-B17: the end of a subscription.
func TestLeaving(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").does(Subscribed{}).did("stop [t-0]", "call revoked [t-0]").ends().did("leave")
	l.subscribes("t").did(`join as "" with [cooperative-sticky range], owning [] of generation -1`)

	newLife(t, Config{}).settles(cs, "t-0").does(Rejoin{}).does(Close{}).ends().
		did(`join as "m" with [cooperative-sticky], owning [t-0] of generation 1, and more held back`, "stop [t-0]", "call lost [t-0]", "leave")
	newLife(t, Config{InstanceID: "i"}).settles(cs, "t-0").does(Close{}).ends().did("stop [t-0]", "call revoked [t-0]")
	newLife(t, Config{StayOnClose: true}).settles(cs, "").does(Close{}).did()
	newLife(t, Config{}).does(Close{}).did()
}

// R-K3, KIP-394: a member that leaves before it was named gives the name back, or each round of the group would wait for it.
func TestLeavingBeforeBeingNamed(t *testing.T) {
	first := `join as "" with [cooperative-sticky range], owning [] of generation -1`
	for _, end := range []Input{Close{}, Subscribed{}} {
		l := newLife(t, Config{}).subscribes("t").does(end).did(first)
		if l.m.Closed() {
			t.Error("it is closed while its name is on the way")
		}
		l.refusedToJoin(kerr.MemberIDRequired).did("leave")
		if _, closes := end.(Close); closes != l.m.Closed() {
			t.Errorf("closed after %T: %t", end, l.m.Closed())
		}
		newLife(t, Config{}).subscribes("t").does(end).joins(1, cs).did(first, "leave") // of a broker from before KIP-394
		newLife(t, Config{}).subscribes("t").does(end).refusedToJoin(kerr.NotCoordinator).did(first)
		newLife(t, Config{InstanceID: "i"}).subscribes("t").does(end).joins(1, cs).did(first)
	}
	l := newLife(t, Config{}).subscribes("t").does(Subscribed{}).subscribes("t").did(first, first)
	again := l.last["join"]
	l.last["join"] = Request{ID: again.ID - 1}
	l.refusedToJoin(kerr.MemberIDRequired).did("leave") // of the first, not of the second
	l.last["join"] = again
	l.joins(1, cs).did("sync generation 1, plan of 0")

	if l := newLife(t, Config{StayOnClose: true}).subscribes("t").does(Close{}); !l.m.Closed() {
		t.Error("it waits for a name that it would not give back")
	}
	l = newLife(t, Config{}).subscribes("t").does(Close{}).passes(time.Second)
	if !l.m.Closed() {
		t.Error("it waits for ever")
	}
	l.refusedToJoin(kerr.MemberIDRequired).did(first)
}

// A callback under way ends before the member leaves.
func TestLeavingDuringACallback(t *testing.T) {
	l := newLife(t, eager).settles(rg, "t-0").does(Rejoin{}).did("stop [t-0]", "call revoked [t-0]")
	l.does(Close{}).did().ends().did("leave")
}

// R-B4: an error of a callback is told, and stops nothing.
func TestCallbacksFail(t *testing.T) {
	l := newLife(t, eager).settles(rg, "t-0").does(Rejoin{}).does(Called{Err: errors.New("no")}).joins(2, rg).isGiven("t-0").ends()
	l.did("stop [t-0]", "call revoked [t-0]", `join as "m" with [range], owning [] of generation 1`, "sync generation 2, plan of 0", "start [t-0]", "call assigned [t-0]",
		"error the callback for revoked partitions: no (fatal: false)")
}

// R-B8: an assignment of topics that the member does not want is not taken; those of its pattern are.
func TestAssignmentOfOtherTopics(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").does(Rejoin{}).joins(2, cs).isGiven("t-0 u-0")
	l.did(`join as "m" with [cooperative-sticky], owning [t-0] of generation 1, and more held back`, "sync generation 2, plan of 0",
		`join as "m" with [cooperative-sticky], owning [t-0] of generation 2, and more held back`)
	l = newLife(t, Config{}).does(Subscribed{Topics: []string{"t"}, Matches: func(topic string) bool { return topic == "t2" }})
	l.joins(1, cs).isGiven("t-0 t2-0")
	l.log = l.log[2:]
	l.did("start [t-0 t2-0]", "call assigned [t-0 t2-0]")
}
