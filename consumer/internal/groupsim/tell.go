package groupsim

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/membership"
)

// tell is an answer in words.
func tell(resp kmsg.Response) string {
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		if r.ErrorCode != 0 {
			return "join: " + code(r.ErrorCode)
		}
		return fmt.Sprintf("join: generation %d by %s, as %s, led by %s of %d members, skip %t", r.Generation, textOf(r.Protocol), r.MemberID, r.LeaderID, len(r.Members), r.SkipAssignment)
	case *kmsg.SyncGroupResponse:
		if r.ErrorCode != 0 {
			return "sync: " + code(r.ErrorCode)
		}
		a, err := assign.DecodeAssignment(r.MemberAssignment)
		return fmt.Sprintf("sync: %v %v", a.Partitions, err)
	case *kmsg.HeartbeatResponse:
		return "heartbeat: " + code(r.ErrorCode)
	case *kmsg.ConsumerGroupHeartbeatResponse:
		if r.ErrorCode != 0 || r.Assignment == nil {
			return fmt.Sprintf("heartbeat: %s, epoch %d", code(r.ErrorCode), r.MemberEpoch)
		}
		text := fmt.Sprintf("heartbeat: epoch %d,", r.MemberEpoch)
		for _, t := range r.Assignment.Topics {
			text += fmt.Sprintf(" %s %v", topicOf(t.TopicID), t.Partitions)
		}
		return text
	case *kmsg.DescribeGroupsResponse:
		return fmt.Sprintf("describe: %s %q", r.Groups[0].State, r.Groups[0].Protocol)
	}
	return fmt.Sprintf("%T", resp)
}

func code(c int16) string {
	if err := kerr.TypedErrorForCode(c); err != nil {
		return err.Message
	}
	return "ok"
}

// tellAsk is a request in words.
func tellAsk(req kmsg.Request) string {
	switch r := req.(type) {
	case *kmsg.JoinGroupRequest:
		text := "joins as " + r.MemberID
		for _, p := range r.Protocols {
			s, err := assign.DecodeSubscription(p.Metadata)
			text += fmt.Sprintf(" %s(%v owning %v of %d %v)", p.Name, s.Topics, s.Owned, s.Generation, err)
		}
		return text
	case *kmsg.SyncGroupRequest:
		return fmt.Sprintf("syncs generation %d with a plan for %d", r.Generation, len(r.GroupAssignment))
	case *kmsg.LeaveGroupRequest:
		return "leaves"
	case *kmsg.ConsumerGroupHeartbeatRequest:
		if r.Topics != nil {
			return fmt.Sprintf("tells in epoch %d that it wants %v and owns %v", r.MemberEpoch, r.SubscribedTopicNames, ownedOf(r))
		}
	}
	return ""
}

func tellEvent(e membership.Event) string {
	names := [...]string{"begins a rebalance", "joined", "completed", "yields", "adopts", "switches", "was expelled", "short-circuits", "withholds"}
	return fmt.Sprintf("%s: generation %d, %s cooperative=%t leads=%t %s", names[e.Kind], e.Generation, e.Assignor, e.Cooperative, e.Leader, e.Reason)
}
