package eossim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/eossim/history"
)

// groupMember is a transformer that shares its inputs with the other members of its group, as of KIP-447: whose generation is over
// can commit no more offsets, and who takes a partition over waits until nothing is pending there.
type groupMember struct {
	*transformer
	member
	others   map[string]string // the ids of all members by their names, of a leader
	assigned []history.Partition
	beaten   time.Duration // the last heartbeat
}

const (
	session   = 2 * time.Second
	rebalance = 2 * time.Second
	heartbeat = 400 * time.Millisecond
)

// sharing is a life as a member of a group.
func (w *world) sharing(group string) func(p *producer) error {
	return func(p *producer) error {
		if err := p.initialise(false); err != nil {
			return err
		}
		m := &groupMember{transformer: &transformer{producer: p, group: group, positions: map[history.Partition]int64{}}}
		m.generation = -1
		m.by = func() member { return m.member }
		for !w.trouble() {
			switch done, err := m.generationLong(); {
			case err != nil:
				return err
			case done:
				return m.leave()
			}
			p.rest(50 * time.Millisecond)
		}
		return nil
	}
}

// generationLong joins and works until the group rebalances. done: there is no input left, in the whole group.
func (m *groupMember) generationLong() (done bool, err error) {
	if in, err := m.join(); err != nil || !in {
		return false, err
	}
	for _, at := range m.assigned {
		if err := m.seek(at); err != nil {
			return false, err
		}
	}
	for !m.w.trouble() {
		if in, err := m.beat(); err != nil || !in {
			return false, err
		}
		worked := false
		for _, at := range m.assigned {
			n, _, err := m.step(at)
			if err != nil {
				return false, err
			}
			worked = worked || n > 0
		}
		if m.dice.IntN(60) == 0 {
			m.rest(3 * session) // as if the machine stood still
		}
		if worked {
			continue
		}
		if done, err := m.finished(); err != nil || done {
			return done, err
		}
		m.rest(300 * time.Millisecond)
	}
	return false, nil
}

// finished says whether the group has come to the end of every input.
func (m *groupMember) finished() (bool, error) {
	if !m.w.fed.Load() {
		return false, nil
	}
	for _, at := range inputs() {
		f, err := m.fetch(at, 0, 1<<20)
		if err != nil || !f.known {
			return false, err
		}
		if next, err := m.committed(m.group, at); err != nil || next < f.high {
			return false, err
		}
	}
	return true, nil
}

// join joins and syncs. in says that it is a member now; else it is to try again.
func (m *groupMember) join() (in bool, err error) {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = m.group, m.member.id, "simulation"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = int32(session.Milliseconds()), int32(rebalance.Milliseconds())
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "spread", Metadata: []byte(m.name)}}
	resp, err := m.call(req, 7, "", func(r kmsg.Response) int16 { return r.(*kmsg.JoinGroupResponse).ErrorCode })
	if err != nil {
		return false, mortal(err)
	}
	r := resp.(*kmsg.JoinGroupResponse)
	switch kerr.ErrorForCode(r.ErrorCode) {
	case nil:
	case kerr.MemberIDRequired:
		m.member.id = r.MemberID
		return false, nil
	default:
		m.lostGroup(r.ErrorCode)
		return false, nil
	}
	m.member = member{r.MemberID, r.Generation}
	m.others = map[string]string{}
	if r.LeaderID == r.MemberID {
		for _, o := range r.Members {
			m.others[string(o.ProtocolMetadata)] = o.MemberID
		}
	}
	return m.sync()
}

// mortal passes on only what ends a client.
func mortal(err error) error {
	if err == errDead {
		return err
	}
	return nil
}

// lostGroup forgets what a code says is not true any more.
func (m *groupMember) lostGroup(code int16) {
	m.generation = -1
	switch kerr.ErrorForCode(code) {
	case kerr.UnknownMemberID, kerr.FencedInstanceID:
		m.member.id = ""
	case kerr.IllegalGeneration, kerr.RebalanceInProgress:
	default:
		if !retriable(code) {
			m.w.problem("%s: in group %s: %w", m.name, m.group, kerr.ErrorForCode(code))
		}
	}
}

func (m *groupMember) sync() (bool, error) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.Generation, req.MemberID = m.group, m.generation, m.member.id
	for i, name := range slices.Sorted(maps.Keys(m.others)) { // member ids are not drawn from the seed
		var gets []string
		for n, at := range inputs() {
			if n%len(m.others) == i {
				gets = append(gets, fmt.Sprint(at.Index))
			}
		}
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: m.others[name], MemberAssignment: []byte(strings.Join(gets, " "))})
	}
	about := fmt.Sprint("generation ", m.generation)
	resp, err := m.call(req, 3, about, func(r kmsg.Response) int16 { return r.(*kmsg.SyncGroupResponse).ErrorCode })
	if err != nil {
		return false, mortal(err)
	}
	r := resp.(*kmsg.SyncGroupResponse)
	if r.ErrorCode != 0 {
		m.lostGroup(r.ErrorCode)
		return false, nil
	}
	m.assigned = nil
	for _, at := range inputs() {
		if slices.Contains(strings.Fields(string(r.MemberAssignment)), fmt.Sprint(at.Index)) {
			m.assigned = append(m.assigned, at)
		}
	}
	m.beaten = m.w.now()
	return true, nil
}

// beat sends a heartbeat when it is time. in: the generation goes on, as far as it knows.
func (m *groupMember) beat() (in bool, err error) {
	if m.w.now() < m.beaten+heartbeat {
		return true, nil
	}
	m.beaten = m.w.now()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID = m.group, m.generation, m.member.id
	about := fmt.Sprint("generation ", m.generation)
	resp, err := m.call(req, 3, about, func(r kmsg.Response) int16 { return r.(*kmsg.HeartbeatResponse).ErrorCode })
	if err != nil {
		return true, mortal(err)
	}
	if code := resp.(*kmsg.HeartbeatResponse).ErrorCode; code != 0 && !retriable(code) {
		m.lostGroup(code)
		return false, nil
	}
	return true, nil
}

func (m *groupMember) leave() error {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = m.group, m.member.id
	_, err := m.call(req, 2, "", func(r kmsg.Response) int16 { return r.(*kmsg.LeaveGroupResponse).ErrorCode })
	return mortal(err)
}
