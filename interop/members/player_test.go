package members

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/scripts"
	"github.com/skeinstream/skein/interop/internal/wire"
)

// A script has a clock, and the broker has one of its own. What is written of a moment is waited for, so that nothing is too
// early. What may be too late is the player: a heartbeat that was due before a session ended, on a machine that does other
// things. A play that went otherwise than is written, and in which commands were behind by more than tolerated, has shown
// nothing; it is played again. One in time that goes otherwise is a failure, and so is the last.
const (
	tolerated = 300 * time.Millisecond // what is to come before something else does so by a second
	plays     = 4
)

// patience bounds waits for what is written: a caller's answer, what is due, the state of a group. It only ends what fails.
const patience = 20 * time.Second

// player plays one script, once. Groups get a prefix, so that scripts share a broker.
type player struct {
	t        *testing.T
	ctx      context.Context
	addr     string
	prefix   string
	requests scripts.Members
	callers  *wire.Callers
	actors   map[string]*scripts.Actor
	ids      map[string]string // real ids by the script's
	began    time.Time
	behind   time.Duration // the commands of this moment are so late
	worst    time.Duration // the most that they were
	wrong    []string
	told     []string // all that happened
}

func newPlayer(ctx context.Context, t *testing.T, addr, prefix string) *player {
	p := &player{
		t: t, ctx: ctx, addr: addr, prefix: prefix, callers: wire.NewCallers(ctx, addr), actors: map[string]*scripts.Actor{},
		ids: map[string]string{}, began: time.Now(),
	}
	p.requests = scripts.Members{T: t, Group: p.group, ID: p.realID, Actor: func(name string) *scripts.Actor { return p.actors[name] }}
	return p
}

// group is the script's, with the prefix; the empty one stays.
func (p *player) group(name string) string {
	if name == "" {
		return ""
	}
	return p.prefix + name
}

// realID finds a member by the script's id: by what was told, or, where nobody was told, by the client id.
func (p *player) realID(given string) string {
	if id, told := p.ids[given]; told {
		return id
	}
	if m := scriptID.FindStringSubmatch(given); m != nil {
		for _, member := range p.describe("g", 5).Members {
			if member.ClientID == m[1] {
				return member.MemberID
			}
		}
	}
	return given
}

// collect hears answers to what was to be since a moment. What has not come at all does not make the player late.
func (p *player) collect(since time.Time, expected int) []string {
	before := time.Now()
	lines, last := p.callers.Collect(expected, patience, p.hear)
	if len(lines) < expected {
		last = before
	}
	p.behind += last.Sub(since)
	p.worst = max(p.worst, p.behind)
	return lines
}

// wait lets time pass until a moment of the script, and then until what is expected has come.
func (p *player) wait(moment string, expected int) []string {
	due := p.began.Add(scripts.Duration(p.t, moment) + 50*time.Millisecond)
	<-time.After(time.Until(due))
	p.behind = 0
	return p.collect(due, expected)
}

// run runs a command and returns what was answered: as many lines as are expected, and what comes in a moment.
func (p *player) run(words []string, expected int) []string {
	switch words[0] {
	case "describe", "delete":
		return p.look(words[0], scripts.Parse(p.t, words[1:]))
	case "at":
		return p.wait(words[1], expected)
	}
	who := p.actors[words[0]]
	if who == nil {
		who = &scripts.Actor{Name: words[0], Generation: -1}
		p.actors[words[0]] = who
	}
	o := scripts.Parse(p.t, words[2:])
	r := p.requests.Request(who, words[1], o)
	lines := p.send(who, r, o, expected)
	if first, joins := r.(*kmsg.JoinGroupRequest); joins && words[1] == "joins" {
		if again, told := scripts.Again(first, who); told {
			lines = append(lines, p.send(who, again, o, expected-len(lines))...)
		}
	}
	return lines
}

func (p *player) send(who *scripts.Actor, r kmsg.Request, o scripts.Options, expected int) []string {
	began := time.Now()
	p.callers.Send(who.Name, who.Name, p.group(o.Text("group", "g")), r)
	return p.collect(began, expected)
}

// hear lets an actor remember what it was told, and says it.
func (p *player) hear(a wire.Answer) []string {
	who := p.actors[a.Who]
	if a.Err != nil {
		return []string{a.Who + ": " + a.Err.Error()}
	}
	if j, joined := a.Response.(*kmsg.JoinGroupResponse); joined {
		switch j.ErrorCode {
		case 0:
			who.ID, who.Generation, who.Protocol = j.MemberID, j.Generation, *j.Protocol
		case kerr.MemberIDRequired.Code:
			who.ID = j.MemberID
		}
	}
	line, _ := scripts.SayMember(a.Response)
	return []string{a.Who + ": " + line}
}

// look is describe and delete.
func (p *player) look(what string, o scripts.Options) []string {
	group := o.Text("group", "g")
	if what == "delete" {
		r := &kmsg.DeleteGroupsRequest{Version: 2, Groups: []string{p.prefix + group}}
		v, err := wire.Ask[*kmsg.DeleteGroupsResponse](p.ctx, p.addr, "x", r)
		if err != nil {
			p.t.Fatal(err)
		}
		return []string{"delete " + scripts.Code(v.Groups[0].ErrorCode)}
	}
	g := p.describe(group, int16(o.Number("v", 6)))
	line, _ := scripts.SayMember(&g)
	return strings.Split(line, "\n  ")
}

func (p *player) describe(group string, version int16) kmsg.DescribeGroupsResponseGroup {
	r := &kmsg.DescribeGroupsRequest{Version: version, Groups: []string{p.prefix + group}}
	v, err := wire.Ask[*kmsg.DescribeGroupsResponse](p.ctx, p.addr, "x", r)
	if err != nil {
		p.t.Fatal(err)
	}
	return v.Groups[0]
}

// checkState waits for the state of a group and the number of its members.
func (p *player) checkState(c scripts.Command, want string) {
	group, plain := strings.Fields(want)[0], generation.ReplaceAllString(want, "")
	for end := time.Now().Add(patience); ; <-time.After(20 * time.Millisecond) {
		d := p.describe(group, 5)
		got := fmt.Sprintf("%s is %s, %d members", group, d.State, len(d.Members))
		if d.State == "Dead" {
			got = group + " is gone"
		}
		if got == plain {
			return
		}
		if time.Now().After(end) {
			p.mistaken(c, got, plain)
			return
		}
	}
}

func (p *player) mistaken(c scripts.Command, got, want any) {
	p.wrong = append(p.wrong, fmt.Sprintf("line %d: %s\nanswered %q\nthe script says %q", c.Line, c.Text, got, want))
}

// learn remembers which real id stands for which of the script's.
func (p *player) learn(want []string) {
	for _, w := range want {
		who, _, _ := strings.Cut(w, ":")
		a := p.actors[who]
		if id := toldID.FindStringSubmatch(w); id != nil && a != nil && a.ID != "" {
			p.ids[id[1]] = a.ID
		}
	}
}

var (
	isState    = regexp.MustCompile(`^(\S+) is (Empty|PreparingRebalance|CompletingRebalance|Stable|gone)\b`)
	scriptID   = regexp.MustCompile(`\b([a-z][a-z0-9]*)(?:-\d+)+\b`)
	toldID     = regexp.MustCompile(`(?:MEMBER_ID_REQUIRED|generation \d+ of \S+ as) (\S+?)(?:,|$)`)
	uuid       = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	moment     = regexp.MustCompile(`^(?:\d+m)?(?:[\d.]+s|\d+ms) `)
	message    = regexp.MustCompile(`GROUP_ID_NOT_FOUND .*`)
	generation = regexp.MustCompile(` generation \d+,`)
)

// normal makes lines comparable: ids without what is random in them, members in order.
func normal(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		l = message.ReplaceAllString(uuid.ReplaceAllString(l, "0"), "GROUP_ID_NOT_FOUND")
		l = scriptID.ReplaceAllString(l, "$1-#")
		if before, members, found := strings.Cut(l, ", leads "); found {
			members, rest, _ := strings.Cut(members, ", ")
			all := strings.Fields(members)
			slices.Sort(all)
			l = before + ", leads " + strings.Join(all, " ") + ", " + rest
		}
		out[i] = l
	}
	slices.Sort(out)
	return out
}
