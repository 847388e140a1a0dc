package membership

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/skeinstream/skein/internal/roster"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// life is one member and what it did, in words.
type life struct {
	t    *testing.T
	m    *Machine
	now  time.Time
	log  []string
	last map[string]Request // the last request of each kind
	wake time.Time

	roster *roster.Roster // the last one
}

// newLife is a member whose heartbeats are HeartbeatInterval apart from the first one on, unless cfg says otherwise.
func newLife(t *testing.T, cfg Config) *life {
	cfg.Group, cfg.FirstHeartbeat = "g", cmp.Or(cfg.FirstHeartbeat, time.Hour)
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &life{t: t, m: m, now: time.Unix(1_700_000_000, 0), last: map[string]Request{}}
}

// does gives the machine an input.
func (l *life) does(in Input) *life {
	l.note(l.m.Step(l.now, in))
	return l
}

// passes lets time go by, and the machine wake when it wants to.
func (l *life) passes(d time.Duration) *life {
	end := l.now.Add(d)
	for !l.wake.IsZero() && !l.wake.After(end) {
		l.now = l.wake
		l.note(l.m.Tick(l.now))
	}
	l.now = end
	return l
}

// ends are callbacks that return.
func (l *life) ends() *life { return l.does(Called{}) }

func (l *life) subscribes(topics ...string) *life { return l.does(Subscribed{Topics: topics}) }

// gets is the answer to the last request of a kind.
func (l *life) gets(kind string, resp kmsg.Response) *life {
	req, ok := l.last[kind]
	if !ok {
		l.t.Fatalf("no %s was sent; it did\n%s", kind, strings.Join(l.log, "\n"))
	}
	return l.does(Answered{ID: req.ID, Response: resp})
}

// joins is an answer to a JoinGroup for one that does not lead.
func (l *life) joins(generation int32, assignor string) *life {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Generation, resp.Protocol, resp.MemberID, resp.LeaderID = generation, &assignor, "m", "other"
	return l.gets("join", resp)
}

func (l *life) refusedToJoin(err *kerr.Error) *life {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode, resp.MemberID = err.Code, "m"
	return l.gets("join", resp)
}

// leads is one for the leader, of members with what each claims.
func (l *life) leads(generation int32, assignor string, members ...kmsg.JoinGroupResponseMember) *life {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Generation, resp.Protocol, resp.MemberID, resp.LeaderID, resp.Members = generation, &assignor, "m", "m", members
	return l.gets("join", resp)
}

func memberOf(id string, s assign.Subscription) kmsg.JoinGroupResponseMember {
	m := kmsg.NewJoinGroupResponseMember()
	m.MemberID, m.ProtocolMetadata = id, s.Append(nil, assign.HighestVersion)
	return m
}

// isGiven is an answer to a SyncGroup: "t-0 t-1".
func (l *life) isGiven(partitions string) *life {
	resp := kmsg.NewPtrSyncGroupResponse()
	lists := parse(l.t, partitions).lists()
	resp.MemberAssignment = assign.PlanOf([][]assign.TopicPartitions{lists}).AppendAssignment(nil, 0)
	return l.gets("sync", resp)
}

func (l *life) refusedToSync(err *kerr.Error) *life {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ErrorCode = err.Code
	return l.gets("sync", resp)
}

// hears is an answer to a heartbeat; nil is no error.
func (l *life) hears(err *kerr.Error) *life {
	resp := kmsg.NewPtrHeartbeatResponse()
	if err != nil {
		resp.ErrorCode = err.Code
	}
	return l.gets("heartbeat", resp)
}

// beats waits for the next heartbeat, which is answered with an error.
func (l *life) beats(err *kerr.Error) *life { return l.passes(3 * time.Second).hears(err) }

// settles is a member that has partitions in generation 1.
func (l *life) settles(assignor, partitions string) *life {
	l.subscribes("t").joins(1, assignor).isGiven(partitions).ends()
	l.log = nil
	return l
}

func parse(t *testing.T, text string) (s set) {
	for _, word := range strings.Fields(text) {
		var p TopicPartition
		topic, number, _ := strings.Cut(word, "-")
		if _, err := fmt.Sscan(number, &p.Partition); err != nil {
			t.Fatal(err)
		}
		p.Topic = topic
		s = append(s, p)
	}
	return s
}

func words(list []TopicPartition) string {
	var all []string
	for _, p := range list {
		all = append(all, fmt.Sprintf("%s-%d", p.Topic, p.Partition))
	}
	return "[" + strings.Join(all, " ") + "]"
}

// note writes down what an output wants done.
func (l *life) note(out Output) {
	say := func(format string, args ...any) { l.log = append(l.log, fmt.Sprintf(format, args...)) }
	if len(out.Stop) > 0 {
		say("stop %s", words(out.Stop))
	}
	if len(out.Start) > 0 {
		say("start %s", words(out.Start))
	}
	if out.Call != nil {
		say("call %s %s", out.Call.Callback, words(out.Call.Partitions))
	}
	for _, req := range out.Requests {
		say("%s", l.request(req))
	}
	if out.Want != nil {
		say("want %v", out.Want)
	}
	if out.Err != nil {
		say("error %v (fatal: %t)", out.Err, out.Fatal)
	}
	l.wake = out.Wake
	if out.Roster != nil {
		l.roster = out.Roster
	}
}

func (l *life) request(r Request) string {
	kind, text := "", ""
	switch req := r.Req.(type) {
	case *kmsg.JoinGroupRequest:
		var names []string
		for _, p := range req.Protocols {
			names = append(names, p.Name)
		}
		s, err := assign.DecodeSubscription(req.Protocols[0].Metadata)
		if err != nil {
			l.t.Fatal(err)
		}
		kind, text = "join", fmt.Sprintf("join as %q with %v, owning %s of generation %d", req.MemberID, names, words(setOf(s.Owned)), s.Generation)
		req.UnknownTags.Each(func(_ uint32, b []byte) {
			if names, err := grouptags.ReadNames(b); err != nil || len(names) > 0 {
				text += ", and more held back"
			}
		})
	case *kmsg.SyncGroupRequest:
		kind, text = "sync", fmt.Sprintf("sync generation %d, plan of %d", req.Generation, len(req.GroupAssignment))
	case *kmsg.HeartbeatRequest:
		kind, text = "heartbeat", fmt.Sprintf("heartbeat of generation %d", req.Generation)
	case *kmsg.LeaveGroupRequest:
		kind, text = "leave", "leave"
	case *kmsg.DescribeGroupsRequest:
		kind, text = "describe", "describe the group"
	}
	l.last[kind] = r
	return text
}

// did compares with what was expected, and forgets it.
func (l *life) did(want ...string) *life {
	l.t.Helper()
	if got := strings.Join(l.log, "\n"); got != strings.Join(want, "\n") {
		l.t.Fatalf("it did\n%s\ninstead of\n%s", got, strings.Join(want, "\n"))
	}
	l.log = nil
	return l
}
