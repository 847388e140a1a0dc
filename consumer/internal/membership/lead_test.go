package membership

import (
	"errors"
	"testing"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func wants(owned string, t *testing.T) assign.Subscription {
	return assign.Subscription{Topics: []string{"t"}, Owned: parse(t, owned).lists(), Generation: 1}
}

func topic(partitions int32) Metadata {
	return Metadata{Topics: []assign.Topic{{Name: "t", Partitions: partitions}, {Name: "other", Partitions: 9}}}
}

// plan is what the leader has sent, by member.
func (l *life) plan() map[string]string {
	plan := map[string]string{}
	for _, a := range l.last["sync"].Req.(*kmsg.SyncGroupRequest).GroupAssignment {
		got, err := assign.DecodeAssignment(a.MemberAssignment)
		if err != nil {
			l.t.Fatal(err)
		}
		plan[a.MemberID] = words(setOf(got.Partitions))
	}
	return plan
}

// The leader plans when it has metadata of what the members want, and watches it from then on (R-B9).
func TestLeading(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t").leads(1, cs, memberOf("m", wants("", t)), memberOf("n", wants("", t)))
	l.log = l.log[1:]
	l.did("want [t]").does(topic(2)).did("sync generation 1, plan of 2")
	if plan := l.plan(); plan["m"] == plan["n"] || len(plan) != 2 {
		t.Error(plan)
	}
	l.isGiven("t-0").ends()
	l.log = nil
	l.does(topic(2)).did()
	l.does(topic(3)).did(narrowed + "1, and more held back")
	if reason := *l.last["join"].Req.(*kmsg.JoinGroupRequest).Reason; reason != "the partitions of t have changed" {
		t.Error(reason)
	}
}

// Others do not watch; nor does one who led once.
func TestFollowersDoNotWatch(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t").leads(1, cs, memberOf("m", wants("", t))).does(topic(2)).isGiven("t-0").ends()
	l.does(Rejoin{}).joins(2, cs).isGiven("t-0").ends()
	l.log = nil
	l.does(topic(3)).did()
}

// Racks count only for members that have one (R-B9, R-A23).
func TestRacksAreWatched(t *testing.T) {
	racks := func(a string) Metadata {
		return Metadata{Topics: []assign.Topic{{Name: "t", Partitions: 1, Racks: [][]string{{a}}}}}
	}
	for _, rack := range []string{"", "a"} {
		l := newLife(t, Config{Rack: rack}).subscribes("t").leads(1, cs, memberOf("m", wants("", t))).does(racks("a")).isGiven("t-0").ends()
		l.log = nil
		if l.does(racks("b")); len(l.log) > 0 != (rack != "") {
			t.Errorf("with rack %q it did %v", rack, l.log)
		}
	}
}

// R-A19: what another claims is given to nobody, and the leader asks for the next round itself when the owner does not.
func TestLeadersFollowUp(t *testing.T) {
	cfg := Config{SessionTimeout: 10 * time.Second, HeartbeatInterval: 9500 * time.Millisecond}
	l := newLife(t, cfg).subscribes("t").leads(1, cs, memberOf("m", wants("", t)), memberOf("n", wants("t-0 t-1", t))).does(topic(2))
	if plan := l.plan(); plan["m"] != "[]" || len(plan["n"]) != len("[t-0]") {
		t.Fatal(plan)
	}
	l.isGiven("").ends()
	l.log = nil
	l.passes(9 * time.Second).did().passes(time.Second)
	l.did("heartbeat of generation 1", `join as "m" with [cooperative-sticky range], owning [] of generation 1`)

	l = newLife(t, cfg).subscribes("t").leads(1, cs, memberOf("m", wants("", t)), memberOf("n", wants("t-0", t))).does(topic(2)).isGiven("t-1").ends()
	l.log = nil
	l.passes(time.Minute).did("heartbeat of generation 1") // nothing was held back
}

// comesBack is a static leader that is back in a group of two, for a topic of some partitions.
func comesBack(t *testing.T, assignor string, partitions int32) *life {
	l := newLife(t, Config{InstanceID: "i"}).subscribes("t")
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Generation, resp.Protocol, resp.MemberID, resp.LeaderID, resp.SkipAssignment = 7, &assignor, "m", "m", true
	resp.Members = append(resp.Members, memberOf("m", wants("", t)))
	l.gets("join", resp).does(topic(partitions))
	l.log = l.log[1:]
	return l.did("want [t]", "sync generation 7, plan of 0").isGiven("t-0").ends().did("start [t-0]", "call assigned [t-0]", "describe the group")
}

// plans is the answer to DescribeGroups with what members have.
func plans(t *testing.T, given ...string) *kmsg.DescribeGroupsResponse {
	resp := describedAs("Stable", cs)
	for _, words := range given {
		m := kmsg.NewDescribeGroupsResponseGroupMember()
		m.MemberAssignment = assign.PlanOf([][]assign.TopicPartitions{parse(t, words).lists()}).AppendAssignment(nil, 0)
		resp.Groups[0].Members = append(resp.Groups[0].Members, m)
	}
	return resp
}

// KIP-814: a static leader that comes back makes no plan. It looks whether the one in force suits the cluster, whatever the
// assignor: topics may have grown meanwhile, and what was held back may belong to nobody.
func TestStaticLeaderComesBack(t *testing.T) {
	for _, name := range []string{cs, rg} {
		comesBack(t, name, 2).gets("describe", plans(t, "t-0", "t-1")).passes(2 * time.Second).did()
		l := comesBack(t, name, 3).gets("describe", plans(t, "t-0", "t-1"))
		if len(l.log) == 0 {
			t.Errorf("%s: a partition belongs to nobody, and the leader is content", name)
		}
		l = comesBack(t, name, 1).gets("describe", plans(t, "t-0", "t-1"))
		if len(l.log) == 0 {
			t.Errorf("%s: a partition is gone, and the leader is content", name)
		}
	}
}

// A group that rebalances has another plan soon. Who gets no answer asks again; who may not ask makes sure by a round, where
// something can have been held back.
func TestPlansThatCannotBeSeen(t *testing.T) {
	comesBack(t, cs, 3).gets("describe", describedAs("PreparingRebalance", "")).passes(2 * time.Second).did()
	l := comesBack(t, cs, 1)
	l.does(Answered{ID: l.last["describe"].ID, Err: errors.New("no answer")}).passes(time.Second).did("describe the group")
	l.gets("describe", plans(t, "t-0")).passes(time.Second).did()
	refused := describedAs("", "")
	refused.Groups[0].ErrorCode = kerr.GroupAuthorizationFailed.Code
	comesBack(t, cs, 1).gets("describe", refused).did(narrowed + "7, and more held back")
	comesBack(t, rg, 1).gets("describe", refused).did()
}

// R-D6: a static member that comes back to a Stable group is given what it had, whatever it subscribes to by now. Of a topic that
// is there, and of which nobody has anything, it makes the leader hear.
func TestStaticMemberWantsMore(t *testing.T) {
	back := func(metadata ...assign.Topic) *life {
		l := newLife(t, Config{InstanceID: "i"}).subscribes("t", "u", "v").joins(7, rg).isGiven("t-0").ends()
		l.log = l.log[3:]
		return l.did("call assigned [t-0]", "want [u v]").does(Metadata{Topics: append(metadata, assign.Topic{Name: "t", Partitions: 1})})
	}
	u := assign.Topic{Name: "u", Partitions: 1}
	back().did() // nothing else is there
	back(u).did("describe the group").gets("describe", plans(t, "t-0", "u-0")).did()
	l := back(u).did("describe the group").gets("describe", plans(t, "t-0", "w-0"))
	if len(l.log) == 0 {
		t.Error("nobody has u, and the member is content")
	}
	refused := describedAs("", "")
	refused.Groups[0].ErrorCode = kerr.GroupAuthorizationFailed.Code
	l = back(u)
	l.log = nil
	l.gets("describe", refused).does(Metadata{Topics: []assign.Topic{u}}).did() // it does what it can
}

// R-C16: foreign members may claim under an EAGER assignor. They keep what they claim for this round.
func TestForeignClaims(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t").leads(1, rg, memberOf("a", wants("", t)), memberOf("m", wants("", t)), memberOf("z", wants("t-0 t-1", t))).does(topic(3))
	if plan := l.plan(); plan["a"] != "[]" || plan["m"] != "[]" || plan["z"] != "[t-2]" {
		t.Fatal(plan)
	}
	l.isGiven("")
	l.log = nil
	l.ends().did("call revoked []")
}

// One member whose subscription cannot be read does not stop the others.
func TestUnreadableSubscription(t *testing.T) {
	broken := kmsg.NewJoinGroupResponseMember()
	broken.MemberID, broken.ProtocolMetadata = "x", []byte{0}
	l := newLife(t, Config{}).subscribes("t").leads(1, cs, memberOf("m", wants("", t)), broken).does(topic(2))
	if plan := l.plan(); plan["m"] != "[t-0 t-1]" || plan["x"] != "[]" {
		t.Error(plan)
	}
}

// R-B14: the answers to SyncGroup.
func TestSyncErrors(t *testing.T) {
	lost := func(err *kerr.Error) *life {
		l := newLife(t, Config{}).settles(cs, "t-0").does(Rejoin{}).joins(2, cs)
		l.log = nil
		return l.refusedToSync(err)
	}
	lost(kerr.RebalanceInProgress).did(narrowed + "2, and more held back")
	lost(kerr.IllegalGeneration).did("stop [t-0]", "call lost [t-0]")
	lost(kerr.UnknownMemberID).did("stop [t-0]", "call lost [t-0]")
	lost(kerr.NotCoordinator).did().passes(100 * time.Millisecond).did("sync generation 2, plan of 0")
	lost(kerr.FencedInstanceID).did("stop [t-0]", `error joining group "g": `+kerr.FencedInstanceID.Error()+`: another process has taken over group.instance.id "": give each process one of its own (fatal: true)`)
}
