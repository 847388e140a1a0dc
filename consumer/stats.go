package consumer

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/figures"
	"github.com/skeinstream/skein/consumer/internal/membership"
)

// Timing is how often something was, and how long it took.
type Timing = figures.Snapshot

// Stats are the figures of a consumer at one moment (R-I3). All says them under Kafka's names, and package consumer/prom to Prometheus.
type Stats struct {
	// Rebalance is from the moment that one begins for this member until the member has its assignment. FailedRebalance counts answers to
	// JoinGroup and SyncGroup that were none, after which the member tries again.
	Rebalance, FailedRebalance Timing
	// Join, Sync and Heartbeat are the requests to the group's coordinator. A JoinGroup waits for the other members.
	Join, Sync, Heartbeat Timing
	// Commit is OffsetCommit, automatic ones too.
	Commit Timing
	// Revoked, Assigned and Lost are the functions of the Listener.
	Revoked, Assigned, Lost Timing
	// AssignedPartitions counts what is owned.
	AssignedPartitions int
	// Protocol is the one that the member follows: ProtocolNone before its first assignment.
	Protocol Protocol
	// ProtocolUpgrades and ProtocolDowngrades count how often that has changed to COOPERATIVE, and to EAGER.
	ProtocolUpgrades, ProtocolDowngrades int64
	// NarrowedJoinsRejected counts how often the group wanted an EAGER protocol while this member owned partitions, which it gave up to let an old
	// member in (R-C12). In a group without such members it stays 0.
	NarrowedJoinsRejected int64
}

// Protocol is a rebalance protocol.
type Protocol uint8

// Protocols.
const (
	ProtocolNone Protocol = iota
	ProtocolEager
	ProtocolCooperative
)

func (p Protocol) String() string { return [...]string{"none", "eager", "cooperative"}[p] }

// Stats tells how things are now. It asks nobody.
func (c *Consumer) Stats() Stats {
	s := c.stats.snapshot(time.Now())
	s.AssignedPartitions = len(c.table.assignment())
	return s
}

// stats are what Stats are made of.
type stats struct {
	mu sync.Mutex

	rebalance, failed, join, sync, heartbeat, commit, revoked, assigned, lost figures.Figure

	rebalances  time.Time // since when one is under way
	protocol    Protocol
	up, down    int64
	narrowJoins int64
}

func (s *stats) snapshot(now time.Time) Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Rebalance: s.rebalance.Snapshot(now), FailedRebalance: s.failed.Snapshot(now),
		Join: s.join.Snapshot(now), Sync: s.sync.Snapshot(now), Heartbeat: s.heartbeat.Snapshot(now), Commit: s.commit.Snapshot(now),
		Revoked: s.revoked.Snapshot(now), Assigned: s.assigned.Snapshot(now), Lost: s.lost.Snapshot(now),
		Protocol: s.protocol, ProtocolUpgrades: s.up, ProtocolDowngrades: s.down, NarrowedJoinsRejected: s.narrowJoins,
	}
}

// committed takes note of an answer to a commit.
func (s *stats) committed(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commit.Record(time.Now(), took)
}

// answered takes note of an answer of the coordinator, or that there was none.
func (s *stats) answered(req kmsg.Request, resp kmsg.Response, err error, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch req.(type) {
	case *kmsg.HeartbeatRequest:
		if err == nil {
			s.heartbeat.Record(now, took)
		}
	case *kmsg.JoinGroupRequest:
		s.round(&s.join, resp, err, now, took)
	case *kmsg.SyncGroupRequest:
		s.round(&s.sync, resp, err, now, took)
	}
}

// round takes note of a request of a rebalance. That a new member is to join under the name it was given is no failure (KIP-394).
func (s *stats) round(f *figures.Figure, resp kmsg.Response, err error, now time.Time, took time.Duration) {
	code := int16(0)
	switch resp := resp.(type) {
	case *kmsg.JoinGroupResponse:
		code = resp.ErrorCode
	case *kmsg.SyncGroupResponse:
		code = resp.ErrorCode
	}
	switch {
	case err == nil && code == 0:
		f.Record(now, took)
	case err == nil && code == kerr.MemberIDRequired.Code:
	default:
		s.failed.Record(now, took)
	}
}

// event takes note of what a rebalance did.
func (s *stats) event(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch e.Kind {
	case Rejoining:
		if s.rebalances.IsZero() {
			s.rebalances = now
		}
	case Completed:
		s.rebalance.Record(now, now.Sub(s.rebalances))
		s.rebalances = time.Time{}
		s.follows(e.Cooperative)
	case Yielded:
		s.narrowJoins++
	case Joined, Adopted, Switched, Expelled, ShortCircuit, Withheld:
	}
}

// follows takes note of the protocol that a rebalance has ended with.
func (s *stats) follows(cooperative bool) {
	was := s.protocol
	s.protocol = ProtocolEager
	if cooperative {
		s.protocol = ProtocolCooperative
	}
	switch {
	case was == ProtocolEager && cooperative:
		s.up++
	case was == ProtocolCooperative && !cooperative:
		s.down++
	}
}

// told takes note of a callback that has ended.
func (s *stats) told(callback membership.Callback, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &s.assigned
	switch callback {
	case membership.Revoked:
		f = &s.revoked
	case membership.Lost:
		f = &s.lost
	case membership.Assigned:
	}
	f.Record(time.Now(), took)
}
