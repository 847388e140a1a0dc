package membership

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker that gives a name and does not know it afterwards is not asked without a pause, nor one that does not know who has no name.
func TestABrokerThatForgetsNames(t *testing.T) {
	for _, err := range []*kerr.Error{kerr.MemberIDRequired, kerr.UnknownMemberID} {
		l := newLife(t, Config{}).subscribes("t")
		joins := 0
		for range 20 {
			l.log = nil
			l.refusedToJoin(err)
			joins += len(l.log)
		}
		if joins > 2 {
			t.Errorf("%d joins at once after %v", joins, err)
		}
		if l.passes(time.Second); len(l.log) == 0 {
			t.Errorf("no join a second after %v", err)
		}
	}
}

// Nor one that takes a member into a generation which it does not know when it is asked for the assignment.
func TestABrokerThatForgetsGenerations(t *testing.T) {
	for _, err := range []*kerr.Error{kerr.UnknownMemberID, kerr.IllegalGeneration} {
		l := newLife(t, Config{}).subscribes("t").joins(1, cs)
		l.log = nil
		l.refusedToSync(err)
		if len(l.log) != 1 {
			t.Errorf("after %v once: %v", err, l.log)
		}
		joins := 0
		for n := range int32(20) {
			l.joins(2+n, cs)
			l.log = nil
			l.refusedToSync(err)
			joins += len(l.log)
			l.passes(time.Second)
		}
		if joins > 0 {
			t.Errorf("%d joins at once after %v", joins, err)
		}
		if l.joins(22, cs).isGiven("t-0").ends(); l.m.astray != 0 {
			t.Errorf("it counts %d rounds that led nowhere", l.m.astray)
		}
	}
}

// A leader that assigns topics to which the member does not subscribe, again and again, does not keep the group in a storm of rounds; once, after
// a change of the subscription, it costs no time.
func TestALeaderThatDoesNotListen(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t").joins(1, cs).isGiven("t-0 u-0")
	l.log = nil
	l.joins(2, cs).isGiven("t-0 u-0").did("sync generation 2, plan of 0")
	l.passes(time.Second).joins(3, cs).isGiven("t-0").ends()
	l.did(`join as "m" with [cooperative-sticky range], owning [] of generation 2`, "sync generation 3, plan of 0", "start [t-0]", "call assigned [t-0]")
}

// R-H8, R-C10: a group of the new protocol is said to be dead, and refuses who has no name in common with its classic members. It is asked after pauses that
// grow, until there has been time enough for a rebalance; and joined as soon as it takes the member.
func TestAGroupThatRefusesAndIsSaidToBeDead(t *testing.T) {
	for _, said := range []*kmsg.DescribeGroupsResponse{describedAs("Dead", ""), describedAs("Stable", rg)} {
		l := newLife(t, Config{PollInterval: time.Minute}).subscribes("t")
		requests, began := 0, l.now
		for range 100 {
			l.log = nil
			l.refusedToJoin(kerr.InconsistentGroupProtocol)
			if l.m.phase == failed {
				break
			}
			if l.m.flight.id == 0 {
				l.passes(time.Second)
			}
			l.gets("describe", said)
			requests += len(l.log)
		}
		if l.m.phase != failed || !strings.Contains(l.log[len(l.log)-1], "no assignor in common") {
			t.Errorf("after %v it still tries: %v", l.now.Sub(began), l.log)
		}
		if requests > 160 {
			t.Errorf("%d requests in a minute", requests)
		}
	}
	l := newLife(t, Config{}).subscribes("t").refusedToJoin(kerr.InconsistentGroupProtocol).gets("describe", describedAs("Dead", ""))
	l.refusedToJoin(kerr.InconsistentGroupProtocol).passes(time.Second).gets("describe", describedAs("Stable", "roundrobin"))
	l.log = nil
	l.joins(1, "roundrobin").isGiven("t-0").ends().did("sync generation 1, plan of 0", "start [t-0]", "call assigned [t-0]")
}

func leaderless() *kmsg.JoinGroupResponse {
	resp, name := kmsg.NewPtrJoinGroupResponse(), cs
	resp.Generation, resp.Protocol, resp.MemberID = 7, &name, "m"
	return resp
}

// R-H8, R-C23: a group of the new protocol takes a member that it has expelled for a new one of the same name. Whose session may be over when it is let
// in counts what it had as lost; whose is not keeps it.
func TestLetInAgainByAGroupWithoutALeader(t *testing.T) {
	const session = 9 * time.Second
	after := func(d time.Duration) *life {
		l := newLife(t, Config{SessionTimeout: session}).settles(cs, "t-0").beats(kerr.RebalanceInProgress)
		l.log = nil
		return l.passes(d).gets("join", leaderless())
	}
	after(session - time.Millisecond).did("sync generation 7, plan of 0")
	l := after(session).did("stop [t-0]", "call lost [t-0]")
	l.log = nil
	l.ends().gets("join", leaderless()).isGiven("t-1").ends()
	l.did(`join as "m" with [cooperative-sticky range], owning [] of generation 7`, "sync generation 7, plan of 0", "start [t-1]", "call assigned [t-1]")
}

// R-H8: such a group expels who was told to join and has not for the time of a rebalance, too, however long its session is.
func TestLetInAgainAfterTheTimeToJoin(t *testing.T) {
	const rebalance = 10 * time.Second
	after := func(d time.Duration, told func(l *life)) *life {
		l := newLife(t, Config{SessionTimeout: time.Minute, PollInterval: rebalance}).settles(cs, "t-0")
		told(l)
		l.log = nil
		return l.passes(d/2).does(Polled{}).passes(d-d/2).gets("join", leaderless())
	}
	byHeartbeat := func(l *life) { l.beats(kerr.RebalanceInProgress) }
	bySync := func(l *life) { l.does(Rejoin{}).joins(2, cs).refusedToSync(kerr.RebalanceInProgress) }
	for _, told := range []func(*life){byHeartbeat, bySync} {
		after(rebalance, told).did("stop [t-0]", "call lost [t-0]")
		l := after(rebalance-time.Millisecond, told).did("sync generation 7, plan of 0").isGiven("t-0").ends().does(Polled{})
		l.beats(kerr.RebalanceInProgress) // which is another summons
		l.log = nil
		l.gets("join", leaderless()).did("sync generation 7, plan of 0")
	}
}

// R-H7, R-H9: the group has been converted since it was joined, and does not know the name under which the member syncs. It joins again, in peace, and a
// broker that goes on like that is not asked without a pause.
func TestASyncUnderANameThatIsNotSelectedAnyMore(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").does(Rejoin{}).joins(2, cs)
	l.log = nil
	l.refusedToSync(kerr.InconsistentGroupProtocol).did(narrowed+"2, and more held back").joins(3, cs).isGiven("t-0").ends()
	l.did("sync generation 3, plan of 0", "call assigned []")
	if l.does(Rejoin{}); l.m.astray != 0 {
		t.Errorf("it counts %d rounds that led nowhere", l.m.astray)
	}
	asked := 0
	for n := range int32(20) {
		l.joins(4+n, cs)
		l.log = nil
		l.refusedToSync(kerr.InconsistentGroupProtocol)
		asked += len(l.log)
		l.passes(time.Second)
	}
	if asked > 1 {
		t.Errorf("it joins %d times at once", asked)
	}
}

// There are no partitions below 0, whoever assigns them.
func TestNegativePartitions(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t").joins(1, cs).isGiven("t--1 t-0 t-0")
	l.ends().did(`join as "" with [cooperative-sticky range], owning [] of generation -1`, "sync generation 1, plan of 0", "start [t-0]", "call assigned [t-0]")
}
