package membership

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What comes in the middle of something else.

const owning = narrowed + "1, and more held back"

// R-C19, R-C23: a static member who learns that the group has gone on, while the answer to its JoinGroup is out, does not wait for
// that answer. It would be in the new generation, in whose name commits of what was given to others are taken.
func TestExpelledWhileJoining(t *testing.T) {
	l := newLife(t, Config{InstanceID: "i"}).settles(cs, "t-0").passes(3 * time.Second).does(Rejoin{})
	late := l.last["join"]
	l.hears(kerr.IllegalGeneration).did("heartbeat of generation 1", owning, "stop [t-0]", "call lost [t-0]")
	l.does(Answered{ID: late.ID, Response: joined(2)}).did()
	if got := l.m.Generation(); got.ID != 1 {
		t.Errorf("commits are of %+v, which the broker would take", got)
	}
	l.ends().did(whole + "-1")

	l = newLife(t, Config{}).settles(cs, "t-0").passes(3 * time.Second).does(Rejoin{})
	l.hears(kerr.UnknownMemberID).did("heartbeat of generation 1", owning, "stop [t-0]", "call lost [t-0]")
}

// R-B10: the round may be over while the answer to a JoinGroup is on the way. A heartbeat or a commit of the generation before is
// refused then, and says nothing about a dynamic member: had the round left it out, it would be unknown. Seen with a busy machine.
func TestTheRoundEndsBeforeItsAnswerComes(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").passes(3 * time.Second).does(Rejoin{})
	late := l.last["join"]
	l.hears(kerr.IllegalGeneration)
	l.does(CommitRefused{Code: kerr.IllegalGeneration.Code, Generation: 1, Member: "m"})
	l.did("heartbeat of generation 1", owning, "error "+ErrRebalanceInProgress.Error()+" (fatal: false)")
	l.does(Answered{ID: late.ID, Response: joined(2)}).isGiven("t-0").did("sync generation 2, plan of 0", "call assigned []")
}

func joined(generation int32) *kmsg.JoinGroupResponse {
	name := cs
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Generation, resp.MemberID, resp.LeaderID, resp.Protocol = generation, "m", "other", &name
	return resp
}

// A dynamic member is in each round, or is not known any more: a heartbeat or a commit that meets the broker after the member's own
// JoinGroup has ended the round is no expulsion, though its answer comes before that to the JoinGroup. Whom the broker does not know is out.
func TestAnswersThatCrossTheJoin(t *testing.T) {
	commit := CommitRefused{Code: kerr.IllegalGeneration.Code, Generation: 1, Member: "m"}
	l := newLife(t, Config{}).settles(cs, "t-0").passes(3 * time.Second).does(Rejoin{}).hears(kerr.IllegalGeneration).does(commit)
	l.did("heartbeat of generation 1", owning, "error "+ErrRebalanceInProgress.Error()+" (fatal: false)")
	l.joins(2, cs).isGiven("t-0").ends().did("sync generation 2, plan of 0", "call assigned []")

	l = newLife(t, Config{}).settles(cs, "t-0").passes(3 * time.Second).does(Rejoin{}).hears(kerr.UnknownMemberID)
	l.did("heartbeat of generation 1", owning, "stop [t-0]", "call lost [t-0]")
}

// R-C23: a static member that has missed a round hears nothing but a later generation. What it owned may be another's by now.
func TestMissedRounds(t *testing.T) {
	l := newLife(t, Config{InstanceID: "i"}).settles(cs, "t-0").does(Rejoin{}).joins(3, cs)
	l.did(owning, "stop [t-0]", "call lost [t-0]")
	if got := l.m.Generation(); got.ID != 1 {
		t.Errorf("commits are of %+v, which the broker would take", got)
	}
	l.ends().did(whole + "3")

	l = newLife(t, Config{InstanceID: "i"}).subscribes("t").joins(1<<31-1, cs).isGiven("t-0").ends()
	l.log = nil
	l.does(Rejoin{}).joins(1, cs).did(narrowed+"2147483647, and more held back", "sync generation 1, plan of 0") // none was missed

	name := cs
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Generation, resp.MemberID, resp.Protocol = 7, "m", &name
	l = newLife(t, Config{InstanceID: "i"}).settles(cs, "t-0").does(Rejoin{}).gets("join", resp)
	l.did(owning, "sync generation 7, plan of 0") // the broker assigns here
}

// R-B3, R-B8, R-B19: a rebalance that begins anew before it has brought anything calls nothing, the first one neither.
func TestFirstRoundAgain(t *testing.T) {
	const again = `join as "m" with [range], owning [] of generation 1`
	l := newLife(t, eager).subscribes("t").joins(1, rg)
	l.log = nil
	l.refusedToSync(kerr.RebalanceInProgress).did(again)
	l = newLife(t, eager).subscribes("t").joins(1, rg)
	l.log = nil
	l.isGiven("u-0").did(again)
}

// R-B6: commits are refused in every round between JoinGroup and SyncGroup. If each of them began a round, there would be no end.
func TestCommitsDuringARebalance(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").does(Rejoin{}).joins(2, cs)
	l.does(CommitRefused{Code: kerr.RebalanceInProgress.Code, Generation: 2, Member: "m"}).isGiven("t-0").ends()
	l.did(owning, "sync generation 2, plan of 0", "error "+ErrRebalanceInProgress.Error()+" (fatal: false)", "call assigned []")
}

// R-B6: a commit that a whole round has overtaken is no failure of a member that was in the round, and one of a member that has lost what it owned
// since is, though it may have the same id.
func TestCommitsOfEarlierGenerations(t *testing.T) {
	refused := func(l *life) error {
		out := l.m.Step(l.now, CommitRefused{Code: kerr.IllegalGeneration.Code, Generation: 1, Member: "m"})
		if l.note(out); len(out.Requests) > 0 || out.Call != nil {
			t.Errorf("a commit of the past has it do %v", l.log)
		}
		return out.Err
	}
	l := newLife(t, Config{}).settles(cs, "t-0").does(Rejoin{}).joins(2, cs).isGiven("t-0").ends()
	if err := refused(l); err != ErrRebalanceInProgress {
		t.Errorf("the member was in the round: %v", err)
	}
	l = newLife(t, Config{}).settles(cs, "t-0").beats(kerr.IllegalGeneration).ends().joins(3, cs).isGiven("t-0").ends()
	if err := refused(l); err != ErrCommitFailed {
		t.Errorf("the member was expelled: %v", err)
	}
	l = newLife(t, Config{InstanceID: "i"}).settles(cs, "t-0").does(Rejoin{}).joins(3, cs).ends().joins(4, cs).isGiven("t-0").ends()
	if err := refused(l); err != ErrCommitFailed {
		t.Errorf("the static member has missed a round: %v", err)
	}
	l = newLife(t, Config{}).settles(cs, "t-0").does(Rejoin{}).joins(2, rg).ends().joins(3, cs).isGiven("t-0").ends()
	if err := refused(l); err != ErrCommitFailed {
		t.Errorf("an EAGER assignor was selected: %v", err)
	}
}

// A commit without a generation says nothing of the member.
func TestCommitsWithoutAGroup(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t")
	l.log = nil
	out := l.m.Step(l.now, CommitRefused{Code: kerr.UnknownMemberID.Code, Generation: -1})
	if len(out.Requests) > 0 || out.Err == nil {
		t.Errorf("%+v", out)
	}
	out = newLife(t, Config{}).m.Step(l.now, CommitRefused{Code: kerr.UnknownMemberID.Code, Generation: -1})
	if out.Err != ErrCommitFailed {
		t.Errorf("a consumer without a subscription hears %v", out.Err)
	}
}

// R-B11: a callback that takes too long is no reason to join for a user who may be gone.
func TestSlowCallbacks(t *testing.T) {
	l := newLife(t, Config{PollInterval: 2 * time.Second}).settles(cs, "t-0 t-1").does(Rejoin{}).joins(2, cs).isGiven("t-1")
	l.log = nil
	l.passes(2*time.Second).did("stop [t-0 t-1]", "leave").ends().did().passes(time.Minute).did()
	l.does(Polled{}).did("stop [t-1]", "call lost [t-1]").ends()
	l.did(`join as "" with [cooperative-sticky range], owning [] of generation -1`)
}

// R-B17: what the plan in force gives can be committed still, if the member leaves in a callback.
func TestLeavingRightAfterASync(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0 t-1").does(Rejoin{}).joins(2, cs).isGiven("t-1 t-2")
	l.log = nil
	l.does(Close{}).did().ends().did("stop [t-1]", "call revoked [t-1]").ends().did("leave")
}

// Who subscribes again before the end of the subscription is done has a subscription.
func TestSubscribingWhileLeaving(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").does(Subscribed{}).subscribes("t").did("stop [t-0]", "call revoked [t-0]")
	l.ends().did("leave", `join as "" with [cooperative-sticky range], owning [] of generation -1`)
}

// FR-G1: a static member that unsubscribes does not leave, so that it comes back as who it was: the broker neither fences what of it is still under
// way, nor lets it take the place of another process that has its name by now.
func TestAStaticMemberSubscribesAgain(t *testing.T) {
	const again = `join as "m" with [cooperative-sticky range], owning [] of generation -1`
	l := newLife(t, Config{InstanceID: "i"}).settles(cs, "t-0").does(Rejoin{})
	late := l.last["join"]
	l.does(Subscribed{}).did(owning, "stop [t-0]", "call lost [t-0]").ends().subscribes("t").did(again)
	l.does(Answered{ID: late.ID, Response: joined(2)}).did()
	l.joins(3, cs).isGiven("t-0").ends().did("sync generation 3, plan of 0", "start [t-0]", "call assigned [t-0]")

	l.does(Subscribed{}).ends().subscribes("t")
	l.log = nil
	l.refusedToJoin(kerr.UnknownMemberID).did(`join as "" with [cooperative-sticky range], owning [] of generation -1`) // the session has ended
	l.does(Subscribed{}).subscribes("t")
	l.log = nil
	l.refusedToJoin(kerr.FencedInstanceID)
	if l.m.phase != failed {
		t.Errorf("another has its name, and it did %v", l.log)
	}

	l = newLife(t, Config{InstanceID: "i", PollInterval: 2 * time.Second}).settles(cs, "t-0").passes(2 * time.Second).did("stop [t-0]")
	l.does(Polled{}).did("stop [t-0]", "call lost [t-0]").ends().did(again)
}

// The error of the last callback is told, too.
func TestTheLastCallbackFails(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").does(Close{}).does(Called{Err: errors.New("no")})
	l.did("stop [t-0]", "call revoked [t-0]", "leave", "error the callback for revoked partitions: no (fatal: false)")
}

// After a fatal error the user closes the member: what it owned is lost, and it leaves.
func TestClosingAfterAFatalError(t *testing.T) {
	l := newLife(t, Config{}).settles(cs, "t-0").beats(kerr.GroupAuthorizationFailed)
	l.did("heartbeat of generation 1", "stop [t-0]", `error joining group "g": `+kerr.GroupAuthorizationFailed.Error()+` (fatal: true)`).does(Subscribed{}).does(Polled{}).passes(time.Hour).did()
	l.does(Close{}).did("stop [t-0]", "call lost [t-0]").ends().did("leave").does(Close{}).did()
}

// One callback at a time, whatever ends the membership meanwhile.
func TestAFatalErrorDuringACallback(t *testing.T) {
	l := newLife(t, eager).settles(rg, "t-0").does(Rejoin{}).passes(3 * time.Second).hears(kerr.GroupAuthorizationFailed)
	l.log = nil
	l.does(Close{}).did().ends().did("leave")
}

// R-B9: what the cluster has changed during a rebalance counts after it.
func TestMetadataDuringARebalance(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t").leads(1, cs, memberOf("m", wants("", t))).does(topic(1)).isGiven("t-0").does(topic(2))
	l.log = nil
	l.ends().did(owning)
}

// A pattern that nothing matches yet leaves the leader nothing to wait for.
func TestLeadingWithoutTopics(t *testing.T) {
	l := newLife(t, Config{}).does(Subscribed{Matches: func(string) bool { return false }})
	none := wants("", t)
	none.Topics = nil
	l.leads(1, cs, memberOf("m", none))
	l.log = l.log[1:]
	l.did("sync generation 1, plan of 1")
}

// R-C16: what two foreign members claim goes to neither under an EAGER assignor.
func TestContestedClaims(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t").leads(1, rg, memberOf("z", wants("t-0 t-1", t)), memberOf("m", wants("", t)), memberOf("a", wants("t-0", t))).does(topic(2))
	if plan := l.plan(); plan["a"] != "[]" || plan["m"] != "[]" || plan["z"] != "[]" {
		t.Error(plan)
	}
}

// R-C10: a group that runs an assignor of the member's own by the time it is asked is joined as before.
func TestNothingToAdopt(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t").refusedToJoin(kerr.InconsistentGroupProtocol)
	l.log = nil
	l.gets("describe", describedAs("Stable", rg)).did(`join as "" with [cooperative-sticky range], owning [] of generation -1`)
}
