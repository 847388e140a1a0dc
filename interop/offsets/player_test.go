package offsets

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/scripts"
	"github.com/skeinstream/skein/interop/internal/wire"
)

// patience bounds the wait for what is written. It only ends what fails.
const patience = 30 * time.Second

// player plays one script. Groups of the script get a prefix, so that scripts share a broker. Nothing in these scripts hangs
// on when it happens: the time of a script goes on when somebody waits, until what is written has come.
type player struct {
	t        *testing.T
	prefix   string
	requests scripts.Offsets
	callers  *wire.Callers
}

func newPlayer(ctx context.Context, t *testing.T, addr, prefix string) *player {
	p := &player{t: t, prefix: prefix, callers: wire.NewCallers(ctx, addr)}
	p.requests = scripts.Offsets{T: t, Group: p.group, IDs: map[string]string{}}
	return p
}

// group is the script's, with the prefix; the empty one stays.
func (p *player) group(name string) string {
	if name == "" {
		return ""
	}
	return p.prefix + name
}

// run runs a command and returns what was answered: as many lines as are expected, and what comes in a moment. It reports
// false for a command that is passed over.
func (p *player) run(words []string, expected int) ([]string, bool) {
	o := scripts.Parse(p.t, words[1:])
	if words[0] == "advance" && p.callers.Waiting() > 0 {
		return p.collect(expected), true
	}
	who, r := p.request(words[0], o)
	if r == nil {
		return nil, false
	}
	p.callers.Send(who, "offsets", p.group(o.Words[0]), r)
	return p.collect(expected), true
}

// request is that of a command, with the name of who hears the answer; nil for one that cannot be asked over the wire.
func (p *player) request(command string, o scripts.Options) (who string, r kmsg.Request) {
	switch command {
	case "join":
		return o.Words[1], p.requests.Join(o)
	case "sync":
		return o.Words[1], p.requests.Sync(o)
	case "leave":
		return o.Words[1], p.requests.Leave(o)
	case "commit":
		r := p.requests.Commit(o)
		r.Version = min(r.Version, 9) // version 10 names topics by id: see package files
		return o.Text("as", ""), r
	case "fetch":
		g := p.requests.Fetch(o)
		if slices.ContainsFunc(g.Topics, func(t kmsg.OffsetFetchRequestGroupTopic) bool { return t.TopicID != [16]byte{} }) {
			return "", nil
		}
		return "", &kmsg.OffsetFetchRequest{Version: 8, Groups: []kmsg.OffsetFetchRequestGroup{g}}
	case "drop":
		return "", p.requests.Drop(o)
	case "delete":
		return "", &kmsg.DeleteGroupsRequest{Version: 2, Groups: []string{p.group(o.Words[0])}}
	}
	return "", nil
}

func (p *player) collect(expected int) []string {
	lines, _ := p.callers.Collect(expected, patience, p.hear)
	return lines
}

// hear remembers ids, and says what was answered.
func (p *player) hear(a wire.Answer) (lines []string) {
	var value any = a.Response
	switch v := a.Response.(type) {
	case *kmsg.JoinGroupResponse:
		p.requests.IDs[a.Who] = v.MemberID
	case *kmsg.OffsetFetchResponse:
		value = &v.Groups[0]
	case *kmsg.DeleteGroupsResponse:
		value = v.Groups[0].ErrorCode
	}
	if a.Err != nil {
		return []string{a.Err.Error()}
	}
	for _, line := range scripts.SayOffsets(value) {
		if a.Who != "" {
			line = a.Who + ": " + line
		}
		lines = append(lines, line)
	}
	return lines
}
