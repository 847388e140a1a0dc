package group

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/scripts"
)

// joinOf is the Join of a new member of "g" that offers "range".
func joinOf(version int16, id string, metadata []byte) Join {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.ProtocolType = version, "g", id, consumerProtocol
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 45_000, 60_000
	r.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: metadata}}
	return Join{Request: r, ClientID: "c", Host: "/127.0.0.1"}
}

// lone runs a machine without the checks of a stage, which would copy what is large.
type lone struct {
	m     *Machine
	now   time.Time
	token machine.Token
}

func newLone() *lone {
	l := &lone{m: New(memberSettings()), now: time.UnixMilli(1_700_000_000_000)}
	l.m.settings.MaxSize = 1 << 30
	return l
}

// join returns the code and the id that whoever joins is told, 0 when he waits.
func (l *lone) join(t testing.TB, in Join) (code int16, id string) {
	t.Helper()
	l.token++
	in.NewID = fmt.Sprint(l.token)
	out := l.m.Step(l.now, l.token, in)
	for _, r := range out.Records {
		l.m.Apply(r)
	}
	for _, r := range out.Replies {
		if v, ok := r.Value.(*kmsg.JoinGroupResponse); ok && r.To == l.token {
			return v.ErrorCode, v.MemberID
		}
	}
	return 0, ""
}

// What members say together fits one response and one record, whatever they say.
func TestAGroupDoesNotOutgrowItsRecord(t *testing.T) {
	l := newLone()
	metadata := make([]byte, 4<<20)
	for range groupBytesMax/len(metadata) - 1 {
		if code, _ := l.join(t, joinOf(3, "", metadata)); code != 0 {
			t.Fatalf("refused with %s at %d bytes", scripts.Code(code), l.m.group("g").members.bytes)
		}
	}
	for range 3 {
		l.join(t, joinOf(3, "", metadata))
	}
	code, _ := l.join(t, joinOf(3, "", metadata))
	expect(t, "one too many", code, kerr.GroupMaxSizeReached.Code)
	code, _ = l.join(t, joinOf(3, "", []byte("small")))
	expect(t, "a small one", code, 0)
	g := l.m.group("g")
	if g.members.bytes > groupBytesMax {
		t.Errorf("%d bytes", g.members.bytes)
	}
	code, _ = l.join(t, joinOf(3, g.members.first.id, metadata))
	expect(t, "a member that says it again", code, 0)
}

// A member with more protocols than anybody has is refused, and what it holds back is not looked at.
func TestProtocolsThatAreTooMany(t *testing.T) {
	l := newLone()
	in := joinOf(3, "", nil)
	held := make([]grouptags.Protocol, protocolsMax+1)
	for i := range held {
		held[i].Name = fmt.Sprint("held ", i)
		in.Request.Protocols = append(in.Request.Protocols, kmsg.JoinGroupRequestProtocol{Name: fmt.Sprint(i)})
	}
	code, _ := l.join(t, in)
	expect(t, "offered", code, kerr.InvalidRequest.Code)
	withheld := joinOf(6, "", nil)
	instance := "i"
	withheld.Request.InstanceID = &instance
	withheld.Request.UnknownTags.Set(grouptags.JoinWithheld, grouptags.AppendProtocols(nil, held))
	code, _ = l.join(t, withheld)
	expect(t, "held back", code, 0)
	expect(t, "names", len(l.m.group("g").members.accepting), 1)
}

// A client that never joins with the ids it is given does not fill the memory, nor keep others from joining.
func TestPendingIDsThatAreTooMany(t *testing.T) {
	l := newLone()
	_, first := l.join(t, joinOf(9, "", nil))
	_, joins := l.join(t, joinOf(9, "", nil))
	code, _ := l.join(t, joinOf(9, joins, nil))
	expect(t, "an id that is used", code, 0)
	for range pendingMax + 10 {
		l.join(t, joinOf(9, "", nil))
	}
	g := l.m.group("g")
	expect(t, "pending", g.pending.len(), pendingMax)
	expect(t, "timers", l.m.timers.Len(), pendingMax+2)
	code, _ = l.join(t, joinOf(9, first, nil))
	expect(t, "the oldest", code, kerr.UnknownMemberID.Code)
	_, last := l.join(t, joinOf(9, "", nil))
	code, _ = l.join(t, joinOf(9, last, nil))
	expect(t, "the newest", code, 0)
	for range 5 * pendingMax {
		_, id := l.join(t, joinOf(9, "", nil))
		g.drop(id)
	}
	if len(g.pending.order) > 2*pendingMax {
		t.Errorf("%d ids are remembered", len(g.pending.order))
	}
}

// Whatever a client offers, a refusal is one line that people can read.
func TestRefusalsAreShortInTheLog(t *testing.T) {
	l := newLone()
	l.join(t, joinOf(3, "", nil))
	in := joinOf(3, "", nil)
	in.Request.Protocols = nil
	for i := range protocolsMax {
		in.Request.Protocols = append(in.Request.Protocols, kmsg.JoinGroupRequestProtocol{Name: strings.Repeat(fmt.Sprint(i), 5000)})
	}
	in.NewID = "new"
	out := l.m.Step(l.now, 1000, in)
	expect(t, "notes", len(out.Notes), 1)
	if n := len(fmt.Sprint(out.Notes)); n > 10*reasonMax+500 {
		t.Errorf("the line has %d bytes", n)
	}
}

// A member and the history keep what is counted, and not the request that it came in.
func TestNothingOfARequestIsKeptBesides(t *testing.T) {
	l := newLone()
	body := make([]byte, 1<<10)
	in := joinOf(6, "", body[:1:1])
	instance := "i"
	in.Request.InstanceID = &instance
	in.Request.UnknownTags.Set(grouptags.JoinWithheld, grouptags.AppendProtocols(nil, []grouptags.Protocol{{Name: "held", Metadata: []byte{1}}}))
	var tag []byte
	in.Request.UnknownTags.Each(func(_ uint32, b []byte) { tag = b })
	l.join(t, in)
	who := l.m.group("g").members.first
	body[0] = 'x'
	clear(tag)
	expect(t, "offered", who.offers[0].Metadata[0], 0)
	expect(t, "held back", who.withheld[0].Metadata[0], 1)
	long := strings.Repeat("r", 1<<10)
	if unsafe.StringData(shortened(long)) == unsafe.StringData(long) {
		t.Error("a reason keeps all of what it was cut from")
	}
}
