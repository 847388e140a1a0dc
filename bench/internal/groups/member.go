package groups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/bench/internal/wire"
)

// What a member asks of the group: the defaults of Kafka's own consumer.
const (
	sessionMillis   = 45_000
	rebalanceMillis = 300_000
	protocolType    = "consumer"
	protocol        = "range"
)

// member is one member of a group, on a connection of its own: a request that
// is parked blocks a connection.
type member struct {
	conn       *wire.Conn
	group      string
	topic      string
	id         string
	generation int32
	members    []string // of the generation; the leader alone gets them
}

// enter joins and takes its part of the assignment, whatever it takes.
func (m *member) enter(ctx context.Context) error {
	for {
		err := untilReady(ctx, m.join)
		if err == nil {
			err = untilReady(ctx, m.sync)
		}
		if !gathers(err) && !errors.Is(err, kerr.MemberIDRequired) {
			return err
		}
		if errors.Is(err, kerr.UnknownMemberID) {
			m.id = ""
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// gathers tells whether an answer asks the member to join again.
func gathers(err error) bool {
	return errors.Is(err, kerr.RebalanceInProgress) || errors.Is(err, kerr.IllegalGeneration) || errors.Is(err, kerr.UnknownMemberID)
}

func (m *member) join() error {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version = joinGroupVersion
	req.Group, req.MemberID, req.ProtocolType = m.group, m.id, protocolType
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = sessionMillis, rebalanceMillis
	subscription := kmsg.NewConsumerMemberMetadata()
	subscription.Topics = []string{m.topic}
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = protocol, subscription.AppendTo(nil)
	req.Protocols = []kmsg.JoinGroupRequestProtocol{p}
	answer, err := m.conn.Ask(req)
	if err != nil {
		return fmt.Errorf("joining %s: %w", m.group, err)
	}
	resp := answer.(*kmsg.JoinGroupResponse)
	m.joined(resp)
	return kerr.ErrorForCode(resp.ErrorCode)
}

func (m *member) joined(resp *kmsg.JoinGroupResponse) {
	if resp.MemberID != "" {
		m.id = resp.MemberID
	}
	m.generation, m.members = resp.Generation, nil
	if resp.MemberID != resp.LeaderID {
		return
	}
	for _, one := range resp.Members {
		m.members = append(m.members, one.MemberID)
	}
}

func (m *member) sync() error {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version = syncGroupVersion
	req.Group, req.Generation, req.MemberID = m.group, m.generation, m.id
	req.ProtocolType, req.Protocol = kmsg.StringPtr(protocolType), kmsg.StringPtr(protocol)
	for i, id := range m.members {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = id, m.assignment(int32(i))
		req.GroupAssignment = append(req.GroupAssignment, a)
	}
	resp, err := m.conn.Ask(req)
	if err != nil {
		return fmt.Errorf("syncing with %s: %w", m.group, err)
	}
	return kerr.ErrorForCode(resp.(*kmsg.SyncGroupResponse).ErrorCode)
}

// assignment gives a member one partition; that there are not so many of them
// is nobody's business here.
func (m *member) assignment(partition int32) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	a.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: m.topic, Partitions: []int32{partition}}}
	return a.AppendTo(nil)
}

func (m *member) beat() *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version = heartbeatVersion
	req.Group, req.Generation, req.MemberID = m.group, m.generation, m.id
	return req
}

// watch sends heartbeats until settled is closed; again says that the group
// gathers once more before that.
func (m *member) watch(ctx context.Context, settled <-chan struct{}) (again bool, err error) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-settled:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-tick.C:
		}
		resp, err := m.conn.Ask(m.beat())
		if err != nil {
			return false, fmt.Errorf("sending a heartbeat to %s: %w", m.group, err)
		}
		err = kerr.ErrorForCode(resp.(*kmsg.HeartbeatResponse).ErrorCode)
		if gathers(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}
