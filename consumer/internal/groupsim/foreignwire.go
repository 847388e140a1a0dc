package groupsim

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/membership"
)

func (f *foreign) send(req kmsg.Request) {
	f.last++
	f.id, f.retry = f.last, time.Time{}
	f.out.Requests = append(f.out.Requests, membership.Request{ID: f.id, Req: req})
}

// version is that of the subscriptions which the member writes and, as a leader, reads.
func (f *foreign) version() int16 {
	if f.s.code == 'O' {
		return 0
	}
	return assign.HighestVersion
}

func (f *foreign) join() {
	if f.lost {
		f.prepare()
		return
	}
	f.stage = joining
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = groupName, f.member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = int32(session.Milliseconds()), int32(pollMax.Milliseconds())
	if f.s.instance != "" {
		req.InstanceID = &f.s.instance
	}
	for _, a := range f.s.assignors() {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = a.Name(), f.subscription(a)
		req.Protocols = append(req.Protocols, p)
	}
	f.send(req)
}

func (f *foreign) subscription(a assign.Assignor) []byte {
	s := assign.Subscription{Topics: f.topics, Owned: listsOf(f.owned), Generation: f.generation}
	if r, ok := a.(assign.Remembering); ok {
		s.UserData = r.SubscriptionUserData(f.topics, f.history)
	}
	return s.Append(nil, f.version())
}

func (f *foreign) answered(in membership.Answered) {
	switch {
	case f.stage == ended:
	case in.ID == f.beating && in.ID != 0:
		f.beaten(in)
	case in.ID != f.id || in.ID == 0:
	case in.Err != nil:
		f.soon()
	default:
		f.id = 0
		switch resp := in.Response.(type) {
		case *kmsg.JoinGroupResponse:
			f.joined(resp)
		case *kmsg.SyncGroupResponse:
			f.synced(resp)
		}
	}
}

// soon sends again after a while.
func (f *foreign) soon() { f.id, f.retry = 0, f.now.Add(300*time.Millisecond) }

// wrong handles the errors that JoinGroup and SyncGroup share (R-B14).
func (f *foreign) wrong(code int16) {
	switch err := kerr.TypedErrorForCode(code); {
	case err == kerr.IllegalGeneration || err == kerr.UnknownMemberID:
		f.forget(code)
	case err == kerr.RebalanceInProgress && f.stage == syncing:
		f.prepare()
	case err.Retriable || err == kerr.RebalanceInProgress:
		f.soon()
	default:
		f.fail(err)
	}
}

func (f *foreign) joined(resp *kmsg.JoinGroupResponse) {
	if resp.ErrorCode == kerr.MemberIDRequired.Code {
		f.member = resp.MemberID
		f.join()
		return
	}
	if resp.ErrorCode != 0 {
		f.wrong(resp.ErrorCode)
		return
	}
	a := assignorOf(*resp.Protocol, f.s.code)
	f.member, f.generation = resp.MemberID, resp.Generation
	f.beat = f.now.Add(heartbeat)
	if f.s.code == 'C' && len(f.owned) > 0 && !cooperative(a) {
		f.coop, f.lost = false, true
		f.prepare()
		return
	}
	f.selected = a
	f.named = membership.Generation{ID: resp.Generation, Member: resp.MemberID, Instance: f.s.instance}
	f.leads = resp.LeaderID == resp.MemberID && !resp.SkipAssignment
	f.out.Events = append(f.out.Events, membership.Event{Kind: membership.Joined, Generation: f.generation, Assignor: a.Name(), Leader: f.leads})
	if !f.leads {
		f.ask(nil)
		return
	}
	f.stage, f.members, f.out.Want = leading, f.read(resp.Members), []string{""}
}

// read decodes subscriptions as the member's code does: the old one sees only what version 0 had.
func (f *foreign) read(members []kmsg.JoinGroupResponseMember) (list []assign.Member) {
	for _, m := range members {
		s, err := assign.DecodeSubscription(m.ProtocolMetadata)
		if err != nil {
			continue
		}
		if f.s.code == 'O' {
			s.Owned, s.Generation = nil, -1
		}
		list = append(list, assign.Member{ID: m.MemberID, InstanceID: textOf(m.InstanceID), Subscription: s})
	}
	return list
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (f *foreign) metadata(topics []assign.Topic) {
	f.cluster = topics
	switch {
	case f.stage == leading:
		f.plan()
	case f.stage == steady && f.leads && !slices.EqualFunc(f.seen, topics, func(a, b assign.Topic) bool { return a.Name == b.Name && a.Partitions == b.Partitions }):
		f.prepare()
	}
}

func (f *foreign) plan() {
	f.seen = f.cluster
	in := assign.Input{Members: f.members, Topics: f.cluster}
	plan, err := f.selected.Assign(in)
	if err != nil {
		f.fail(err)
		return
	}
	if f.s.code == 'L' && !cooperative(f.selected) {
		plan = unclaimed(in, plan)
		f.again = true
	}
	var all []kmsg.SyncGroupRequestGroupAssignment
	for i, b := range plan.Encode() {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = f.members[i].ID, b
		all = append(all, a)
	}
	f.ask(all)
}

func (f *foreign) ask(plan []kmsg.SyncGroupRequestGroupAssignment) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.Generation, req.MemberID = groupName, f.generation, f.member
	if f.s.instance != "" {
		req.InstanceID = &f.s.instance
	}
	kind, name := "consumer", f.selected.Name()
	req.ProtocolType, req.Protocol, req.GroupAssignment = &kind, &name, plan
	f.stage, f.sync = syncing, req
	f.send(req)
}

// synced takes the assignment as the member's protocol does (R-B4). Who follows what was selected may find out only now that
// it should have given everything up before: then it does (R-C6).
func (f *foreign) synced(resp *kmsg.SyncGroupResponse) {
	if resp.ErrorCode != 0 {
		f.wrong(resp.ErrorCode)
		return
	}
	a, err := assign.DecodeAssignment(resp.MemberAssignment)
	if err != nil {
		f.fail(err)
		return
	}
	f.next = flat(a.Partitions)
	f.history = assign.History{Owned: a.Partitions, Generation: f.generation, UserData: a.UserData}
	for _, tp := range f.next {
		if !slices.Contains(f.topics, tp.Topic) && (f.matches == nil || !f.matches(tp.Topic)) {
			f.prepare()
			return
		}
	}
	gone := minus(f.owned, f.next)
	if f.follows() {
		was := f.coop
		f.coop = cooperative(f.selected)
		if f.s.code == 'F' && was && !f.coop {
			gone = f.owned
		}
	}
	if len(gone) > 0 {
		f.stage, f.again = giving, true
	}
	f.give(membership.Revoked, gone, f.take)
}

func (f *foreign) take() {
	if f.lost {
		f.prepare()
		return
	}
	added := minus(f.next, f.owned)
	f.owned = slices.Clone(f.next)
	f.out.Start = append(f.out.Start, added...)
	f.stage = taking
	f.run(membership.Assigned, added, f.complete)
}

func (f *foreign) complete() {
	f.stage = steady
	f.out.Events = append(f.out.Events, membership.Event{Kind: membership.Completed, Generation: f.generation, Cooperative: f.coop, Assignor: f.selected.Name()})
	if f.again || f.lost {
		f.prepare()
	}
}
