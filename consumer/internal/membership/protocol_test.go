package membership

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	whole    = `join as "m" with [cooperative-sticky range], owning [] of generation `
	narrowed = `join as "m" with [cooperative-sticky], owning [t-0] of generation `
)

// R-C4, R-C11, row M9: what is offered by default, of which the first round is EAGER, the next COOPERATIVE.
func TestClimb(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t").joins(1, rg).isGiven("t-0").ends()
	l.log = nil
	l.does(Rejoin{}).ends().did("stop [t-0]", "call revoked [t-0]", whole+"1")
	l.joins(2, cs).isGiven("t-0").ends().did("sync generation 2, plan of 0", "start [t-0]", "call assigned [t-0]")
	l.does(Rejoin{}).did(narrowed + "2, and more held back")
}

// R-C12, row M10: an old member comes into a group that is COOPERATIVE. What is owned is given up in peace, in the generation that
// still holds, and everything is offered once.
func TestYield(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").beats(kerr.RebalanceInProgress)
	l.did("heartbeat of generation 1", narrowed+"1, and more held back")
	l.refusedToJoin(kerr.InconsistentGroupProtocol).did("stop [t-0]", "call revoked [t-0]")
	if got := l.m.Generation(); got.ID != 1 {
		t.Errorf("commits of what is revoked are of %+v", got)
	}
	l.passes(3 * time.Second).did("heartbeat of generation 1") // it lives
	l.hears(kerr.RebalanceInProgress).ends().did(whole + "1")
	l.joins(2, rg).isGiven("t-0").ends().did("sync generation 2, plan of 0", "start [t-0]", "call assigned [t-0]")
	l.does(Rejoin{}).did("stop [t-0]", "call revoked [t-0]") // EAGER now
}

// R-C15: what is held back is told to brokers that know the field.
func TestWithheldIsTold(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").does(Rejoin{})
	req := l.last["join"].Req.(*kmsg.JoinGroupRequest)
	req.UnknownTags.Each(func(key uint32, b []byte) {
		list, err := grouptags.ReadProtocols(b)
		if key != grouptags.JoinWithheld || err != nil || len(list) != 1 || list[0].Name != rg || len(list[0].Metadata) == 0 {
			t.Errorf("tag %d: %v, %v", key, list, err)
		}
	})
	if req.UnknownTags.Len() != 1 {
		t.Errorf("%d tags", req.UnknownTags.Len())
	}
}

// R-C14: who prefers an EAGER assignor is EAGER, and lets others be.
func TestEagerFirst(t *testing.T) {
	cfg := Config{Assignors: []assign.Assignor{assign.Range{}, assign.CooperativeSticky{}}}
	l := newLife(t, cfg).settles(cs, "t-0").does(Rejoin{}).ends()
	l.did("stop [t-0]", "call revoked [t-0]", `join as "m" with [range cooperative-sticky], owning [] of generation 1`)
}

// R-C17, row M17: if an EAGER assignor is selected all the same, nothing is handed out or committed from that moment on.
func TestShortCircuit(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").does(Rejoin{}).joins(2, rg)
	l.did(narrowed+"1, and more held back", "stop [t-0]", "call lost [t-0]")
	if got := l.m.Generation(); got.ID != 1 {
		t.Errorf("commits are of %+v, which the broker would take", got)
	}
	l.ends().did(whole + "2")
}

// R-B1: Kafka's way. The highest protocol of all assignors, for ever.
func TestStaticProtocol(t *testing.T) {
	both := []assign.Assignor{assign.CooperativeSticky{}, assign.Range{}}
	l := newLife(t, Config{Static: true, Assignors: both}).settles(cs, "t-0").does(Rejoin{}).ends()
	l.did("stop [t-0]", "call revoked [t-0]", whole+"1")
	l = newLife(t, Config{Static: true, Assignors: both[:1]}).settles(cs, "t-0").does(Rejoin{})
	l.did(narrowed + "1")
}

func describedAs(state, protocol string) *kmsg.DescribeGroupsResponse {
	resp := kmsg.NewPtrDescribeGroupsResponse()
	g := kmsg.NewDescribeGroupsResponseGroup()
	g.Group, g.State, g.ProtocolType, g.Protocol = "g", state, "consumer", protocol
	resp.Groups = append(resp.Groups, g)
	return resp
}

// R-C10: a group that runs an assignor of Kafka's is joined with that one, too.
func TestAdopt(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t").refusedToJoin(kerr.InconsistentGroupProtocol)
	l.gets("describe", describedAs("PreparingRebalance", "")).passes(100*time.Millisecond).gets("describe", describedAs("Stable", "roundrobin"))
	l.log = l.log[1:]
	l.did("describe the group", "describe the group", `join as "" with [cooperative-sticky range roundrobin], owning [] of generation -1`)
	l.joins(1, "roundrobin").isGiven("t-0").ends().did("sync generation 1, plan of 0", "start [t-0]", "call assigned [t-0]")
	l.does(Rejoin{}).did("stop [t-0]", "call revoked [t-0]")
}

// When it cannot be, the error names both sides.
func TestNothingInCommon(t *testing.T) {
	refused := func(cfg Config, answers ...*kmsg.DescribeGroupsResponse) *ProtocolError {
		t.Helper()
		l := newLife(t, cfg).subscribes("t")
		out := l.m.Step(l.now, Answered{ID: l.last["join"].ID, Response: &kmsg.JoinGroupResponse{ErrorCode: kerr.InconsistentGroupProtocol.Code}})
		for _, a := range answers {
			l.note(out)
			out = l.m.Step(l.now, Answered{ID: l.last["describe"].ID, Response: a})
		}
		var err *ProtocolError
		if !errors.As(out.Err, &err) || !out.Fatal {
			t.Fatalf("%+v", out)
		}
		return err
	}
	if err := refused(Config{}, describedAs("Stable", "mine")); !strings.Contains(err.Error(), `group "g" runs the assignor "mine", this member offers cooperative-sticky, range: add "mine"`) {
		t.Error(err)
	}
	if err := refused(Config{StrictAssignors: true}); !strings.Contains(err.Error(), "no assignor in common with this member, which offers cooperative-sticky, range") {
		t.Error(err)
	}
	cooperativeOnly := Config{Static: true, Assignors: []assign.Assignor{assign.CooperativeSticky{}}}
	if err := refused(cooperativeOnly, describedAs("Stable", rg)); err.Selected != rg {
		t.Error(err)
	}
}

// A group that never becomes Stable is not waited for longer than a rebalance may take.
func TestAskingEnds(t *testing.T) {
	l := newLife(t, Config{PollInterval: time.Second}).subscribes("t").refusedToJoin(kerr.InconsistentGroupProtocol)
	for range 20 {
		if l.m.phase != asking {
			break
		}
		l.gets("describe", describedAs("PreparingRebalance", "")).passes(time.Second)
	}
	if last := l.log[len(l.log)-1]; !strings.Contains(last, "fatal: true") {
		t.Errorf("%v", l.log)
	}
}

// Nor is a broker that never answers the question.
func TestAskingInVainEnds(t *testing.T) {
	l := newLife(t, Config{PollInterval: time.Minute}).subscribes("t").refusedToJoin(kerr.InconsistentGroupProtocol)
	for range 70 {
		l.does(Answered{ID: l.last["describe"].ID, Err: errors.New("no answer")}).passes(time.Second)
	}
	if last := l.log[len(l.log)-1]; l.m.phase != failed || !strings.Contains(last, "has no assignor in common") {
		t.Errorf("%v", last)
	}
}

// R-C11: with a hysteresis of three rounds, an assignor that is not COOPERATIVE in between begins the count anew.
func TestUpgradeRounds(t *testing.T) {
	l := newLife(t, Config{UpgradeRounds: 3}).subscribes("t")
	for i, name := range []string{cs, cs, rg, cs, cs} {
		l.joins(int32(i+1), name).isGiven("t-0").ends()
		l.log = nil
		l.does(Rejoin{}).ends().did("stop [t-0]", "call revoked [t-0]", whole+string(rune('1'+i)))
	}
	l.joins(6, cs).isGiven("t-0").ends()
	l.log = nil
	l.does(Rejoin{}).did(narrowed + "6, and more held back")
}

// R-B14: what is tried again and what is not.
func TestJoinErrors(t *testing.T) {
	for _, err := range []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.RebalanceInProgress} {
		l := newLife(t, Config{}).subscribes("t").refusedToJoin(err)
		l.log = nil
		l.passes(100 * time.Millisecond).did(`join as "" with [cooperative-sticky range], owning [] of generation -1`)
	}
	for _, err := range []*kerr.Error{kerr.FencedInstanceID, kerr.InvalidSessionTimeout, kerr.InvalidGroupID, kerr.GroupAuthorizationFailed, kerr.GroupMaxSizeReached, kerr.UnsupportedVersion} {
		l := newLife(t, Config{InstanceID: "i"}).subscribes("t")
		out := l.m.Step(l.now, Answered{ID: l.last["join"].ID, Response: &kmsg.JoinGroupResponse{ErrorCode: err.Code}})
		if !out.Fatal || !errors.Is(out.Err, err) {
			t.Errorf("%v: %+v", err, out)
		}
	}
	// It is unknown, with partitions: they are lost first.
	l := newLife(t, Config{}).settles(cs, "t-0").does(Rejoin{}).refusedToJoin(kerr.UnknownMemberID)
	l.did(narrowed+"1, and more held back", "stop [t-0]", "call lost [t-0]")
}

// An answer that was lost is asked for again, later each time, up to a bound.
func TestLostAnswers(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t")
	var waits []time.Duration
	for range 6 {
		l.does(Answered{ID: l.last["join"].ID, Err: errors.New("broken")})
		waits = append(waits, l.wake.Sub(l.now))
		l.passes(time.Second)
	}
	if waits[0] != 100*time.Millisecond || waits[1] != 200*time.Millisecond || waits[5] != time.Second {
		t.Errorf("%v", waits)
	}
	l.joins(1, cs)
	l.log = nil
	l.does(Answered{ID: l.last["sync"].ID, Err: errors.New("broken")}).passes(100 * time.Millisecond).did("sync generation 1, plan of 0")
}

// R-B6: what a refused commit means.
func TestRefusedCommits(t *testing.T) {
	refuse := func(l *life, code *kerr.Error, generation int32) error {
		out := l.m.Step(l.now, CommitRefused{Code: code.Code, Generation: generation, Member: "m"})
		l.note(out)
		return out.Err
	}
	l := newLife(t, Config{}).settles(cs, "t-0")
	if err := refuse(l, kerr.RebalanceInProgress, 1); err != ErrRebalanceInProgress {
		t.Error(err)
	}
	l.log = l.log[:1]
	l.did(narrowed + "1, and more held back")
	if err := refuse(l, kerr.IllegalGeneration, 0); err != ErrRebalanceInProgress {
		t.Error(err)
	}
	l = newLife(t, Config{}).settles(cs, "t-0")
	if err := refuse(l, kerr.UnknownMemberID, 1); err != ErrCommitFailed {
		t.Error(err)
	}
	if l.log[0] != "stop [t-0]" || l.log[1] != "call lost [t-0]" {
		t.Error(l.log)
	}
	l = newLife(t, Config{InstanceID: "i"}).settles(cs, "t-0")
	if err := refuse(l, kerr.FencedInstanceID, 1); !errors.Is(err, kerr.FencedInstanceID) {
		t.Error(err)
	}
}

// R-A1: two assignors have two names.
func TestConfigurations(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want error
	}{
		{Config{Group: "g", Assignors: []assign.Assignor{assign.Range{}, assign.Range{}}}, ErrDuplicateAssignor},
		{Config{}, ErrNoGroup},
		{Config{Group: "g", InstanceID: "a b"}, ErrInstanceID},
		{Config{Group: "g", InstanceID: strings.Repeat("a", 250)}, ErrInstanceID},
		{Config{Group: "g", Static: true, Assignors: []assign.Assignor{onlyCooperative{}, assign.Range{}}}, ErrNoCommonProtocol},
		{Config{Group: "g", SessionTimeout: 10 * time.Second, HeartbeatInterval: 10 * time.Second}, ErrHeartbeat},
		{Config{Group: "g", HeartbeatInterval: time.Minute}, ErrHeartbeat},
		{Config{Group: "g", PollInterval: -1}, ErrNegative},
		{Config{Group: "g", UpgradeRounds: -1}, ErrNegative},
		{Config{Group: "g", SessionTimeout: 2 * time.Second}, nil}, // heartbeats follow
		{Config{Group: "g", InstanceID: "a.b_c-9", Assignors: []assign.Assignor{}}, nil},
	} {
		if _, err := New(c.cfg); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
}

type onlyCooperative struct{ assign.CooperativeSticky }

func (onlyCooperative) Protocols() []assign.Protocol { return []assign.Protocol{assign.Cooperative} }
func (onlyCooperative) Name() string                 { return "mine" }
