package membership

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/roster"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var everyAssignor = []assign.Assignor{assign.CooperativeSticky{}, assign.Sticky{}, assign.Range{}, assign.RoundRobin{}}

// says is what the last JoinGroup publishes and knows, by assignor: "me(you them)".
func (l *life) says() map[string]string {
	l.t.Helper()
	said := map[string]string{}
	for _, p := range l.last["join"].Req.(*kmsg.JoinGroupRequest).Protocols {
		s, err := assign.DecodeSubscription(p.Metadata)
		if err != nil {
			l.t.Fatal(err)
		}
		if _, n, found := roster.Split(s.UserData); found {
			said[p.Name] = notice(n)
		}
	}
	return said
}

func notice(n roster.Notice) string {
	known := string(bytes.Join(n.Known, []byte(" ")))
	if len(n.Missed) > 0 {
		known += "/" + string(bytes.Join(n.Missed, []byte(" ")))
	}
	return fmt.Sprintf("%s(%s)", n.Own, known)
}

func saying(own string, known ...string) roster.Notice {
	n := roster.Notice{Own: []byte(own)}
	for _, k := range known {
		n.Known = append(n.Known, []byte(k))
	}
	return n
}

// isTold is an answer to a SyncGroup with what a leader has to say; nil is nothing, as leaders of other clients say.
func (l *life) isTold(n *roster.Notice) *life {
	a := assign.Assignment{Partitions: parse(l.t, "t-0").lists()}
	if n != nil {
		a.UserData = n.Append(nil)
	}
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.MemberAssignment = a.Append(nil, assign.HighestVersion)
	return l.gets("sync", resp)
}

// comes is a member that publishes, and comes to a group where nobody is.
func (l *life) comes() *life { return l.subscribes("t").gets("describe", describedAs("Empty", "")) }

// Before it joins, it looks who is there: the last one that knew of a dead member may be the broker. No answer keeps it from joining.
func TestLookingWhoIsThere(t *testing.T) {
	begins := func() *life {
		l := newLife(t, Config{Publish: []byte("me")}).subscribes("t").did("describe the group")
		return l.does(Polled{}).does(Rejoin{Reason: "which it does in any case"}).did()
	}
	there := describedAs("Stable", cs)
	for _, m := range []kmsg.JoinGroupResponseMember{publisher("a", saying("dead", "long gone")), memberOf("b", wants("", t)), publisher("c", saying("alive"))} {
		of := kmsg.NewDescribeGroupsResponseGroupMember()
		of.MemberID, of.ProtocolMetadata = m.MemberID, m.ProtocolMetadata
		there.Groups[0].Members = append(there.Groups[0].Members, of)
	}
	there.Groups[0].Members[1].ProtocolMetadata = []byte{0}
	if l := begins().gets("describe", there); l.says()[cs] != "me(dead alive)" {
		t.Errorf("it says %v", l.says())
	}
	refused := describedAs("", "")
	refused.Groups[0].ErrorCode = kerr.GroupAuthorizationFailed.Code
	for _, l := range []*life{
		begins().gets("describe", refused), begins().gets("describe", describedAs("PreparingRebalance", "")),
		begins().gets("describe", kmsg.NewPtrDescribeGroupsResponse()),
	} {
		if l.says()[cs] != "me()" {
			t.Errorf("it says %v", l.says())
		}
	}
	l := begins()
	if l.does(Answered{ID: l.last["describe"].ID, Err: errors.New("no answer")}); l.says()[cs] != "me()" {
		t.Errorf("it says %v", l.says())
	}
	begins().does(Subscribed{}).did()
}

// A member publishes under every assignor that carries it, with what it was told last. A leader that tells nothing changes nothing of that; to
// leave the group does.
func TestPublishing(t *testing.T) {
	l := newLife(t, Config{Publish: []byte("me"), Assignors: everyAssignor}).comes()
	expects := func(want string) {
		t.Helper()
		if got := fmt.Sprint(l.says()); got != fmt.Sprintf("map[cooperative-sticky:%[1]s range:%[1]s roundrobin:%[1]s]", want) {
			t.Errorf("it says %s, want %s", got, want)
		}
	}
	expects("me()")
	told := saying("", "you", "them")
	told.Missed = [][]byte{[]byte("gone")}
	l.joins(1, rg).isTold(&told).ends().does(Rejoin{}).ends()
	expects("me(you them/gone)")
	l.joins(2, rg).isTold(nil).ends().does(Rejoin{}).ends()
	expects("me(you them/gone)")
	told = saying("")
	l.joins(3, rg).isTold(&told).ends().does(Rejoin{}).ends()
	expects("me()")
	told = saying("", "you")
	told.Missed = [][]byte{[]byte("gone")}
	l.joins(4, rg).isTold(&told).ends().does(Subscribed{}).ends().comes()
	expects("me()")
}

// Who publishes nothing sends what it always has.
func TestNothingIsPublished(t *testing.T) {
	l := newLife(t, Config{Assignors: everyAssignor}).subscribes("t")
	if said := l.says(); len(said) > 0 {
		t.Errorf("it says %v", said)
	}
	told := saying("", "you")
	l.joins(1, rg).isTold(&told).ends().does(Rejoin{}).ends()
	if said := l.says(); len(said) > 0 {
		t.Errorf("it says %v", said)
	}
	if _, err := New(Config{Group: "g", Publish: make([]byte, roster.Longest+1)}); !errors.Is(err, ErrPublish) {
		t.Errorf("too much is published: %v", err)
	}
}

// member is one with a notice, under any assignor.
func publisher(id string, n roster.Notice) kmsg.JoinGroupResponseMember {
	return memberOf(id, assign.Subscription{Topics: []string{"t"}, Generation: 1, UserData: n.Append([]byte{0, 0, 0, 9})})
}

// The leader sees who is there and who is not, before anything is planned; and tells those who publish, and nobody else.
func TestTheLeaderCallsTheRoster(t *testing.T) {
	for _, assignor := range []string{cs, rg} {
		l := newLife(t, Config{Publish: []byte("me")}).comes()
		static := memberOf("o", wants("", t))
		static.InstanceID = kmsg.StringPtr("i")
		l.leads(4, assignor, publisher("m", saying("me", "you", "gone")), publisher("n", saying("you", "me", "them")), static)
		r := l.roster
		if r == nil || fmt.Sprint(r.Instances) != "[i]" {
			t.Fatalf("%s: %+v", assignor, r)
		}
		if r == nil || r.Generation != 4 || string(bytes.Join(r.Present, []byte(" "))) != "me you" || string(bytes.Join(r.Missing, []byte(" "))) != "gone them" {
			t.Fatalf("%s: %+v", assignor, r)
		}
		l.does(topic(3))
		if told := l.tells(); told != "m: (you/gone them), n: (me/them gone), o" {
			t.Errorf("%s: it tells %s", assignor, told)
		}
		if plan := l.plan(); plan["m"] == "[]" || plan["n"] == "[]" || plan["o"] == "[]" {
			t.Errorf("%s: %v", assignor, plan)
		}
	}
}

// tells is what the plan says to each member besides.
func (l *life) tells() string {
	var out []string
	for _, a := range l.last["sync"].Req.(*kmsg.SyncGroupRequest).GroupAssignment {
		got, err := assign.DecodeAssignment(a.MemberAssignment)
		if err != nil {
			l.t.Fatal(err)
		}
		rest, n, found := roster.Split(got.UserData)
		switch {
		case found && len(rest) == 0:
			out = append(out, a.MemberID+": "+notice(n))
		case got.UserData == nil:
			out = append(out, a.MemberID)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// Under an assignor that does not carry what members publish nobody is missed, though nobody is seen; and nobody is told anything.
func TestNoRosterWithoutNotices(t *testing.T) {
	l := newLife(t, Config{Publish: []byte("me"), Assignors: everyAssignor}).comes()
	l.leads(1, "sticky", publisher("m", saying("me", "gone")), memberOf("n", wants("", t))).does(topic(2))
	if l.roster != nil || l.tells() != "m, n" {
		t.Errorf("%+v, it tells %s", l.roster, l.tells())
	}
	l = newLife(t, Config{}).subscribes("t").leads(1, cs, memberOf("m", wants("", t)), memberOf("n", wants("", t))).does(topic(2))
	if l.roster != nil || l.tells() != "m, n" {
		t.Errorf("%+v, it tells %s", l.roster, l.tells())
	}
}

// nosy is an assignor that looks at user data.
type nosy struct {
	assign.Range
	saw *[]string
}

func (n nosy) Assign(in assign.Input) (assign.Plan, error) {
	for _, m := range in.Members {
		*n.saw = append(*n.saw, fmt.Sprintf("%s %x", m.ID, m.UserData))
	}
	return n.Range.Assign(in)
}

func (nosy) SubscriptionUserData([]string, assign.History) []byte { return []byte("theirs") }

// Assignors see what assignors wrote, on both ways.
func TestAssignorsSeeNoNotices(t *testing.T) {
	var saw []string
	l := newLife(t, Config{Publish: []byte("me"), Assignors: []assign.Assignor{nosy{saw: &saw}}}).comes()
	l.leads(1, rg, publisher("m", saying("me")), publisher("n", saying("you"))).does(topic(2))
	if fmt.Sprint(saw) != "[m 00000009 n 00000009]" {
		t.Errorf("it saw %q", saw)
	}
	told := saying("", "you")
	if l.isTold(&told); l.m.history.UserData != nil {
		t.Errorf("the assignor is told %x", l.m.history.UserData)
	}
}
