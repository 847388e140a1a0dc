package members

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// player plays one script. Groups get a prefix, so that scripts share a broker.
type player struct {
	t      *testing.T
	ctx    context.Context
	addr   string
	prefix string
	actors map[string]*actor
	ids    map[string]string // real ids by the script's
	parked []chan answer
	began  time.Time
}

// actor is a client.
type actor struct {
	name, id, protocol string
	generation         int32
}

// answer is what a request was answered, in the words of the scripts.
type answer struct {
	line   string
	joined *kmsg.JoinGroupResponse
	who    *actor
}

// settled is how long a caller who is parked is given to be answered by what came after; quiet how long nothing more comes, late how long after its time.
const (
	settled = 2 * time.Second
	quiet   = 50 * time.Millisecond
	late    = 5 * time.Second
)

// ask sends one request on a connection of its own: a parked one keeps nobody waiting.
func ask[R kmsg.Response](ctx context.Context, addr, client string, r kmsg.Request) (R, error) {
	var none R
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return none, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID(client)).AppendRequest(nil, r, 1)); err != nil {
		return none, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return none, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, body); err != nil {
		return none, err
	}
	body = body[4:]
	response := r.ResponseKind()
	if response.IsFlexible() {
		body = body[1:]
	}
	return response.(R), response.ReadFrom(body)
}

// wait lets time pass until a moment of the script, and then until what is expected has come: a broker under load is late, and
// so is then all that follows.
func (p *player) wait(moment string, expected int) (lines []string) {
	d, err := time.ParseDuration(moment)
	if err != nil {
		p.t.Fatal(err)
	}
	<-time.After(time.Until(p.began.Add(d + quiet)))
	due := time.Now()
	for lines = p.collect(); len(lines) < expected && time.Since(due) < late; lines = append(lines, p.collect()...) {
		<-time.After(5 * time.Millisecond)
	}
	p.began = p.began.Add(time.Since(due))
	return lines
}

// run runs a command and returns what was answered: as many lines as are expected, and what comes in a moment.
func (p *player) run(words []string, expected int) []string {
	switch words[0] {
	case "describe", "delete":
		return p.look(words[0], parse(words[1:]))
	case "at":
		return p.wait(words[1], expected)
	}
	who := p.actors[words[0]]
	if who == nil {
		who = &actor{name: words[0], generation: -1}
		p.actors[words[0]] = who
	}
	requests := []kmsg.Request{p.request(who, words[1], parse(words[2:]))}
	answers := p.send(who, requests[0], expected)
	if again, ok := requests[0].(*kmsg.JoinGroupRequest); ok && words[1] == "joins" && again.MemberID == "" && who.id != "" && who.generation < 0 {
		again.MemberID = who.id
		answers = append(answers, p.send(who, again, expected-len(answers))...)
	}
	return answers
}

func (p *player) send(who *actor, r kmsg.Request, expected int) (lines []string) {
	answered := make(chan answer, 1)
	p.parked = append(p.parked, answered)
	go func() { answered <- p.answer(who, r) }()
	for end := time.Now().Add(settled); time.Now().Before(end); {
		lines = append(lines, p.collect()...)
		if len(lines) >= expected {
			expected = 1 << 30
			end = time.Now().Add(quiet)
		}
		<-time.After(5 * time.Millisecond)
	}
	return lines
}

// collect takes the answers that have come.
func (p *player) collect() (lines []string) {
	p.parked = slices.DeleteFunc(p.parked, func(c chan answer) bool {
		select {
		case a := <-c:
			if j := a.joined; j != nil && j.ErrorCode == 0 {
				a.who.id, a.who.generation, a.who.protocol = j.MemberID, j.Generation, *j.Protocol
			} else if j != nil && j.ErrorCode == kerr.MemberIDRequired.Code {
				a.who.id = j.MemberID
			}
			lines = append(lines, a.who.name+": "+a.line)
			return true
		default:
			return false
		}
	})
	return lines
}

// answer sends a request and puts the answer in words.
func (p *player) answer(who *actor, r kmsg.Request) answer {
	a := answer{who: who}
	response, err := ask[kmsg.Response](p.ctx, p.addr, who.name, r)
	if err != nil {
		a.line = err.Error()
		return a
	}
	switch v := response.(type) {
	case *kmsg.JoinGroupResponse:
		a.joined, a.line = v, sayJoined(v)
	case *kmsg.SyncGroupResponse:
		a.line = fmt.Sprintf("assigned %q", v.MemberAssignment)
		if v.ErrorCode != 0 {
			a.line = "sync " + code(v.ErrorCode)
		}
	case *kmsg.HeartbeatResponse:
		a.line = "beat " + code(v.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		a.line = "leave " + code(v.ErrorCode)
		for _, m := range v.Members {
			a.line += fmt.Sprintf(", %s/%s %s", m.MemberID, text(m.InstanceID), code(m.ErrorCode))
		}
	case *kmsg.OffsetCommitResponse:
		a.line = "commit " + code(v.Topics[0].Partitions[0].ErrorCode)
	}
	return a
}

func sayJoined(v *kmsg.JoinGroupResponse) string {
	if v.ErrorCode != 0 {
		return strings.TrimSpace(fmt.Sprintf("join %s %s", code(v.ErrorCode), v.MemberID))
	}
	line := fmt.Sprintf("generation %d of %s as %s", v.Generation, text(v.Protocol), v.MemberID)
	if len(v.Members) == 0 {
		return line + ", led by " + v.LeaderID
	}
	line += ", leads"
	for _, m := range v.Members {
		line += " " + m.MemberID
		if m.InstanceID != nil {
			line += "/" + *m.InstanceID
		}
		line += fmt.Sprintf("=%q", m.ProtocolMetadata)
	}
	if v.LeaderID != v.MemberID {
		line += ", but leader is " + v.LeaderID
	}
	if v.SkipAssignment {
		line += ", assigns nothing"
	}
	return line
}

func code(c int16) string {
	if c == 0 {
		return "ok"
	}
	return kerr.TypedErrorForCode(c).Message
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// look is describe and delete.
func (p *player) look(what string, o options) (lines []string) {
	group := o.take("group", "g")
	if what == "delete" {
		r := &kmsg.DeleteGroupsRequest{Version: 2, Groups: []string{p.prefix + group}}
		v, err := ask[*kmsg.DeleteGroupsResponse](p.ctx, p.addr, "x", r)
		if err != nil {
			p.t.Fatal(err)
		}
		return []string{"delete " + code(v.Groups[0].ErrorCode)}
	}
	g := p.describe(group, int16(number(o.take("v", "6"))))
	line := fmt.Sprintf("%s %q %q", g.State, g.ProtocolType, g.Protocol)
	if g.ErrorCode != 0 {
		line += " " + code(g.ErrorCode) + " " + text(g.ErrorMessage)
	}
	lines = append(lines, line)
	for _, m := range g.Members {
		lines = append(lines, fmt.Sprintf("%s/%s %s %s %q %q", m.MemberID, text(m.InstanceID), m.ClientID, m.ClientHost, m.ProtocolMetadata, m.MemberAssignment))
	}
	return lines
}

func (p *player) describe(group string, version int16) kmsg.DescribeGroupsResponseGroup {
	r := &kmsg.DescribeGroupsRequest{Version: version, Groups: []string{p.prefix + group}}
	v, err := ask[*kmsg.DescribeGroupsResponse](p.ctx, p.addr, "x", r)
	if err != nil {
		p.t.Fatal(err)
	}
	return v.Groups[0]
}

// options are the words of a command: those with = by name, others in order.
type options struct {
	words []string
	named map[string]string
}

func parse(words []string) options {
	o := options{named: map[string]string{}}
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			o.named[name] = repeated(value)
		} else {
			o.words = append(o.words, w)
		}
	}
	return o
}

// repeated reads "x*10" as ten times x.
func repeated(text string) string {
	if what, times, found := strings.Cut(text, "*"); found {
		return strings.Repeat(what, int(number(times)))
	}
	return text
}

func (o options) take(name, otherwise string) string {
	v, given := o.named[name]
	delete(o.named, name)
	if !given {
		return otherwise
	}
	return v
}

func (o options) pointer(name string) *string {
	if v, given := o.named[name]; given {
		delete(o.named, name)
		v = strings.ReplaceAll(v, "_", " ")
		return &v
	}
	return nil
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err) // a script's author reads it
	}
	return n
}

// metadata that begin with 0x are bytes.
func metadata(text string) []byte {
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		if b, err := hex.DecodeString(digits); err == nil {
			return b
		}
	}
	return []byte(text)
}
