package groupsim

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/membership"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/skeinstream/skein/internal/machine"
)

// modernBeat is ConsumerGroupHeartbeat, with which members of the new protocol do everything: join, tell what they own, leave.
type modernBeat struct {
	Request *kmsg.ConsumerGroupHeartbeatRequest
}

// serve is a request to a group of the new protocol.
func (k *kafka) serve(caller machine.Token, in any) {
	switch in := in.(type) {
	case modernBeat:
		k.beat(caller, in.Request)
	case group.Join:
		k.join(caller, in)
	case group.Sync:
		k.sync(caller, in.Request)
	case group.Heartbeat:
		resp := kmsg.NewPtrHeartbeatResponse()
		resp.ErrorCode = k.heartbeat(in.Request)
		k.reply(caller, resp)
	case group.Leave:
		k.leave(caller, in.Request)
	case group.Commit:
		k.commit(caller, in.Request)
	case group.Describe: // it is no classic group
		g := kmsg.NewDescribeGroupsResponseGroup()
		g.Group, g.State, g.ErrorCode = in.Group, "Dead", kerr.GroupIDNotFound.Code
		k.reply(caller, &g)
	default:
		k.forward(caller, in)
	}
}

// beat is a member of the new protocol (R-H1, R-H3, R-H4).
func (k *kafka) beat(caller machine.Token, r *kmsg.ConsumerGroupHeartbeatRequest) {
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	defer k.reply(caller, resp)
	owned, said := ownedOf(r), r.Topics != nil
	m := k.g.member(r.MemberID)
	switch {
	case m == nil && r.MemberEpoch != 0:
		resp.ErrorCode = kerr.UnknownMemberID.Code
		return
	case r.MemberEpoch < 0:
		resp.MemberID, resp.MemberEpoch = &r.MemberID, r.MemberEpoch
		k.gone(m.ID)
		return
	case r.MemberEpoch != 0 && !m.fits(r.MemberEpoch, owned, said):
		resp.ErrorCode = kerr.FencedMemberEpoch.Code
		return
	case m == nil:
		m = &modernMember{ID: r.MemberID, Client: r.MemberID, Session: session}
		k.g.Members = append(k.g.Members, m)
	case r.MemberEpoch == 0: // it begins anew, and owns nothing
		m.Epoch, m.Before, m.Assigned, m.Revoking = 0, 0, nil, nil
	}
	changed := r.SubscribedTopicNames != nil && !slices.Equal(m.Topics, r.SubscribedTopicNames)
	if changed {
		m.Topics = r.SubscribedTopicNames
	}
	if r.RebalanceTimeoutMillis > 0 {
		m.Rebalance = time.Duration(r.RebalanceTimeoutMillis) * time.Millisecond
	}
	k.g.looks(k.topics(), changed)
	had := slices.Clone(m.Assigned)
	k.g.reconcile(m, owned, said)
	d := k.due(m.ID)
	d.session = k.now.Add(m.Session)
	d.begin(&d.revoke, len(m.Revoking) > 0, k.now.Add(m.Rebalance))
	resp.MemberID, resp.MemberEpoch, resp.HeartbeatIntervalMillis = &m.ID, m.Epoch, int32(heartbeat.Milliseconds())
	if r.SubscribedTopicNames != nil || !slices.Equal(had, m.Assigned) {
		resp.Assignment = assignmentOf(m.Assigned)
	}
}

// fits says that a member is where the coordinator thinks, or has not heard yet that it is further.
func (m *modernMember) fits(epoch int32, owned []membership.TopicPartition, said bool) bool {
	return epoch == m.Epoch || epoch == m.Before && said && len(minus(owned, m.Assigned)) == 0
}

// join is a member of the classic protocol. It is answered at once; who is not known comes in as new, whatever id it has (R-H8).
func (k *kafka) join(caller machine.Token, in group.Join) {
	r := in.Request
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.MemberID, resp.Generation = r.MemberID, -1
	defer k.reply(caller, resp)
	offers := offersIn(r)
	sub, err := assign.DecodeSubscription(offers[0].Metadata)
	switch {
	case err != nil || !k.g.supports(offers):
		resp.ErrorCode = kerr.InconsistentGroupProtocol.Code
		return
	case r.MemberID == "" && r.InstanceID == nil && r.Version >= 4:
		resp.MemberID, resp.ErrorCode = in.ClientID+"-"+in.NewID, kerr.MemberIDRequired.Code
		return
	}
	m, code := k.joiner(in)
	if resp.ErrorCode = code; code != 0 {
		return
	}
	changed := !slices.Equal(m.Topics, sub.Topics)
	m.Offers, m.Version, m.Topics = offers, versionOf(offers[0].Metadata), sub.Topics
	m.Session, m.Rebalance = timesOf(r)
	k.g.looks(k.topics(), changed)
	k.g.reconcile(m, flat(sub.Owned), true)
	*k.due(m.ID) = deadlines{session: k.now.Add(m.Session), sync: k.now.Add(m.Rebalance)}
	kind := "consumer"
	resp.MemberID, resp.Generation, resp.ProtocolType, resp.Protocol = m.ID, m.Epoch, &kind, &m.Offers[0].Name
}

// joiner is the member that a JoinGroup is about: a static one may take the place of who was there under its name.
func (k *kafka) joiner(in group.Join) (*modernMember, int16) {
	id, instance := in.Request.MemberID, textOf(in.Request.InstanceID)
	was := k.g.static(instance)
	switch {
	case instance == "":
		was = k.g.member(id)
	case was == nil && id != "":
		return nil, kerr.UnknownMemberID.Code
	case was != nil && id != "" && was.ID != id:
		return nil, kerr.FencedInstanceID.Code
	}
	if id == "" {
		id = in.ClientID + "-" + in.NewID
	}
	if was == nil {
		was = &modernMember{}
		k.g.Members = append(k.g.Members, was)
	}
	if was.ID != id { // it begins anew, and goes on with what its name has
		delete(k.times, was.ID)
		was.Epoch, was.Before = 0, 0
	}
	was.ID, was.Instance, was.Client = id, instance, in.ClientID
	return was, 0
}

// identity finds a classic member.
func (k *kafka) identity(id string, instance *string) (*modernMember, int16) {
	m := k.g.member(id)
	if instance != nil {
		m = k.g.static(*instance)
	}
	switch {
	case m == nil || !m.classic():
		return nil, kerr.UnknownMemberID.Code
	case m.ID != id:
		return nil, kerr.FencedInstanceID.Code
	}
	return m, 0
}

// sync tells a member what it has by now, encoded as it can read it.
func (k *kafka) sync(caller machine.Token, r *kmsg.SyncGroupRequest) {
	resp := kmsg.NewPtrSyncGroupResponse()
	defer k.reply(caller, resp)
	m, code := k.identity(r.MemberID, r.InstanceID)
	switch {
	case code != 0:
		resp.ErrorCode = code
	case r.Generation != m.Epoch:
		resp.ErrorCode = kerr.IllegalGeneration.Code
	case r.Protocol != nil && *r.Protocol != m.Offers[0].Name: // which it was told in a classic round
		resp.ErrorCode = kerr.InconsistentGroupProtocol.Code
	case m.Epoch < k.g.Epoch && len(m.Revoking) == 0:
		resp.ErrorCode = k.mustJoin(m)
	default:
		d := k.due(m.ID)
		d.sync, d.session = time.Time{}, k.now.Add(m.Session)
		resp.ProtocolType, resp.Protocol = r.ProtocolType, r.Protocol
		resp.MemberAssignment = assign.Assignment{Partitions: listsOf(m.Assigned)}.Append(nil, m.Version)
	}
}

// mustJoin gives a member its rebalance timeout.
func (k *kafka) mustJoin(m *modernMember) int16 {
	d := k.due(m.ID)
	d.begin(&d.join, true, k.now.Add(m.Rebalance))
	return kerr.RebalanceInProgress.Code
}

func (k *kafka) heartbeat(r *kmsg.HeartbeatRequest) int16 {
	m, code := k.identity(r.MemberID, r.InstanceID)
	switch {
	case code != 0:
		return code
	case r.Generation != m.Epoch:
		return kerr.IllegalGeneration.Code
	}
	k.due(m.ID).session = k.now.Add(m.Session)
	if k.g.behind(m) {
		return k.mustJoin(m)
	}
	return 0
}

func (k *kafka) leave(caller machine.Token, r *kmsg.LeaveGroupRequest) {
	resp := kmsg.NewPtrLeaveGroupResponse()
	var ids []string
	for _, l := range r.Members {
		one := kmsg.NewLeaveGroupResponseMember()
		one.MemberID, one.InstanceID = l.MemberID, l.InstanceID
		if m, code := k.identity(l.MemberID, l.InstanceID); code != 0 {
			one.ErrorCode = code
		} else {
			ids = append(ids, m.ID)
		}
		resp.Members = append(resp.Members, one)
	}
	k.reply(caller, resp)
	k.gone(ids...)
}

// commit is taken in the epoch of its member (R-H9, R-K18).
func (k *kafka) commit(caller machine.Token, r *kmsg.OffsetCommitRequest) {
	var code int16
	switch m := k.g.member(r.MemberID); {
	case len(k.g.Members) == 0 && r.Generation < 0:
	case m == nil:
		code = kerr.UnknownMemberID.Code
	case !m.classic() && r.Version < 9:
		code = kerr.UnsupportedVersion.Code
	case r.Generation != m.Epoch && m.classic():
		code = kerr.IllegalGeneration.Code
	case r.Generation != m.Epoch:
		code = kerr.StaleMemberEpoch.Code
	}
	if code == 0 { // the offsets are kept where those of classic groups are: there is none of this name now
		plain := *r
		plain.Generation, plain.MemberID, plain.InstanceID = -1, "", nil
		k.forward(caller, group.Commit{Request: &plain})
		return
	}
	resp := kmsg.NewPtrOffsetCommitResponse()
	for _, t := range r.Topics {
		to := kmsg.NewOffsetCommitResponseTopic()
		to.Topic = t.Topic
		for _, p := range t.Partitions {
			one := kmsg.NewOffsetCommitResponseTopicPartition()
			one.Partition, one.ErrorCode = p.Partition, code
			to.Partitions = append(to.Partitions, one)
		}
		resp.Topics = append(resp.Topics, to)
	}
	k.reply(caller, resp)
}

func offersIn(r *kmsg.JoinGroupRequest) (list []grouptags.Protocol) {
	for _, p := range r.Protocols {
		list = append(list, grouptags.Protocol{Name: p.Name, Metadata: p.Metadata})
	}
	return list
}

func timesOf(r *kmsg.JoinGroupRequest) (session, rebalance time.Duration) {
	return time.Duration(r.SessionTimeoutMillis) * time.Millisecond, time.Duration(r.RebalanceTimeoutMillis) * time.Millisecond
}

func versionOf(metadata []byte) int16 {
	if len(metadata) < 2 {
		return 0
	}
	return int16(metadata[0])<<8 | int16(metadata[1])
}

// topicID is what the new protocol calls a topic by.
func topicID(name string) (id [16]byte) {
	copy(id[:], name)
	return id
}

func topicOf(id [16]byte) string {
	n := len(id)
	for n > 0 && id[n-1] == 0 {
		n--
	}
	return string(id[:n])
}

func ownedOf(r *kmsg.ConsumerGroupHeartbeatRequest) (owned []membership.TopicPartition) {
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			owned = append(owned, membership.TopicPartition{Topic: topicOf(t.TopicID), Partition: p})
		}
	}
	return owned
}

func assignmentOf(list []membership.TopicPartition) *kmsg.ConsumerGroupHeartbeatResponseAssignment {
	a := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
	for _, t := range listsOf(list) {
		to := kmsg.NewConsumerGroupHeartbeatResponseAssignmentTopic()
		to.TopicID, to.Partitions = topicID(t.Topic), t.Partitions
		a.Topics = append(a.Topics, to)
	}
	return &a
}
