package cli

import (
	"maps"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// change does what a request asks for, as Kafka's coordinator would.
func (f *fakeGroups) change(req kmsg.Request, resp kmsg.Response) {
	switch r := req.(type) {
	case *kmsg.OffsetCommitRequest:
		f.commit(r, resp.(*kmsg.OffsetCommitResponse))
	case *kmsg.DeleteGroupsRequest:
		f.delete(r, resp.(*kmsg.DeleteGroupsResponse))
	case *kmsg.OffsetDeleteRequest:
		f.deleteOffsets(r, resp.(*kmsg.OffsetDeleteResponse))
	case *kmsg.LeaveGroupRequest:
		f.leave(r, resp.(*kmsg.LeaveGroupResponse))
	default:
		f.t.Errorf("an unexpected %T", req)
	}
}

// code is what a request for a group is refused with, or 0.
func (f *fakeGroups) code(key int16) int16 {
	if refused := f.refuse[key]; refused != nil {
		return refused.Code
	}
	return 0
}

func (f *fakeGroups) commit(r *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) {
	code := f.code(r.Key())
	g := f.groups[r.Group]
	switch {
	case code != 0:
	case r.Generation != -1 || r.MemberID != "":
		f.t.Errorf("committed as a member: %+v", r)
	case g == nil:
		g = &fakeGroup{kind: "classic", state: "Empty", commits: map[place]fakeCommit{}}
		f.groups[r.Group] = g
	case len(g.members) > 0:
		code = kerr.UnknownMemberID.Code
	}
	for _, t := range r.Topics {
		out := kmsg.NewOffsetCommitResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			o := kmsg.NewOffsetCommitResponseTopicPartition()
			o.Partition, o.ErrorCode = p.Partition, code
			out.Partitions = append(out.Partitions, o)
			if code == 0 {
				commit := fakeCommit{offset: p.Offset, epoch: p.LeaderEpoch}
				if p.Metadata != nil {
					commit.metadata = *p.Metadata
				}
				g.commits[place{t.Topic, p.Partition}] = commit
			}
		}
		resp.Topics = append(resp.Topics, out)
	}
}

func (f *fakeGroups) delete(r *kmsg.DeleteGroupsRequest, resp *kmsg.DeleteGroupsResponse) {
	for _, name := range r.Groups {
		out := kmsg.NewDeleteGroupsResponseGroup()
		out.Group, out.ErrorCode = name, f.code(r.Key())
		switch g := f.groups[name]; {
		case out.ErrorCode != 0:
		case g == nil:
			out.ErrorCode = kerr.GroupIDNotFound.Code
		case len(g.members) > 0:
			out.ErrorCode = kerr.NonEmptyGroup.Code
		default:
			delete(f.groups, name)
		}
		resp.Groups = append(resp.Groups, out)
	}
}

func (f *fakeGroups) deleteOffsets(r *kmsg.OffsetDeleteRequest, resp *kmsg.OffsetDeleteResponse) {
	g := f.groups[r.Group]
	for _, t := range r.Topics {
		out := kmsg.NewOffsetDeleteResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			o := kmsg.NewOffsetDeleteResponseTopicPartition()
			o.Partition = p.Partition
			if len(g.members) > 0 {
				o.ErrorCode = kerr.GroupSubscribedToTopic.Code
			} else {
				delete(g.commits, place{t.Topic, p.Partition})
			}
			out.Partitions = append(out.Partitions, o)
		}
		resp.Topics = append(resp.Topics, out)
	}
}

func (f *fakeGroups) leave(r *kmsg.LeaveGroupRequest, resp *kmsg.LeaveGroupResponse) {
	leaves := func(is func(fakeMember) bool) int16 {
		if code := f.code(r.Key()); code != 0 {
			return code
		}
		return f.groups[r.Group].drop(is)
	}
	if r.Version < 3 {
		resp.ErrorCode = leaves(func(m fakeMember) bool { return m.id == r.MemberID })
		return
	}
	for _, m := range r.Members {
		out := kmsg.NewLeaveGroupResponseMember()
		out.MemberID, out.InstanceID = m.MemberID, m.InstanceID
		out.ErrorCode = leaves(func(has fakeMember) bool {
			return m.InstanceID != nil && has.instance == *m.InstanceID || m.InstanceID == nil && has.id == m.MemberID
		})
		resp.Members = append(resp.Members, out)
	}
}

// drop takes out the member that leaves.
func (g *fakeGroup) drop(leaves func(fakeMember) bool) int16 {
	for i, m := range g.members {
		if leaves(m) {
			g.members = append(g.members[:i:i], g.members[i+1:]...)
			return 0
		}
	}
	return kerr.UnknownMemberID.Code
}

// offsets are the committed offsets of a group.
func (f *fakeGroups) offsets(group string) map[place]int64 {
	f.lock.Lock()
	defer f.lock.Unlock()
	out := map[place]int64{}
	for at, commit := range maps.All(f.groups[group].commits) {
		out[at] = commit.offset
	}
	return out
}
