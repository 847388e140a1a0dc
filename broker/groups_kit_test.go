package broker

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/vfs"
)

// inBubble runs a test against a broker on a disk in memory, with a clock of its own.
func inBubble(t *testing.T, settings map[string]string, test func(h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, disk: vfs.NewMemory(), settings: map[string]string{"connections.max.idle.ms": "-1"}}
		for name, value := range settings {
			h.settings[name] = value
		}
		h.open()
		defer h.shutdown() // also when the test gives up
		test(h)
	})
}

// house is a disk and the broker on it.
type house struct {
	t        *testing.T
	disk     *vfs.Memory
	faults   *vfs.Faults // over disk, when it is set
	settings map[string]string
	logger   *slog.Logger // nil: nobody listens

	mu   sync.Mutex // for dialer, since clients outlive a broker
	b    *Broker
	line *line
}

// line is what connects clients with one broker. When it is cut they hear no more of it.
type line struct{ cut atomic.Bool }

// lineEnd is a client's end of a connection.
type lineEnd struct {
	net.Conn
	line *line
}

func (c lineEnd) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.line.cut.Load() {
		return 0, net.ErrClosed
	}
	return n, err
}

func (h *house) open() {
	h.t.Helper()
	var files vfs.FS = h.disk
	if h.faults != nil {
		files = h.faults
	}
	b, err := Open(context.Background(), Config{Dir: dataDir, Settings: h.settings, Logger: h.logger, files: files})
	if err != nil {
		h.t.Fatalf("opening: %v", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.b, h.line = b, new(line)
}

func (h *house) shutdown() {
	h.t.Helper()
	if err := h.b.Shutdown(context.Background()); err != nil {
		h.t.Errorf("shutting down: %v", err)
	}
	synctest.Wait()
}

func (h *house) restart() {
	h.t.Helper()
	h.shutdown()
	h.open()
}

// dialer leads to the broker that is there now.
func (h *house) dialer(ctx context.Context, _, _ string) (net.Conn, error) {
	h.mu.Lock()
	b, line := h.b, h.line
	h.mu.Unlock()
	conn, err := b.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return lineEnd{conn, line}, nil
}

// wire is a new connection. It ends with the test.
func (h *house) wire() *wire {
	h.t.Helper()
	w, err := dial(h.b)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(w.close)
	return w
}

func (h *house) createTopic(name string, partitions int32) {
	h.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	req.Topics = append(req.Topics, topic)
	resp, err := ask[*kmsg.CreateTopicsResponse](h.wire(), req)
	if err == nil {
		err = failed(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		h.t.Fatalf("creating topic %s: %v", name, err)
	}
}

// describe describes a group.
func (h *house) describe(group string) kmsg.DescribeGroupsResponseGroup {
	h.t.Helper()
	g, err := describeGroup(h.wire(), group)
	if err != nil {
		h.t.Fatal(err)
	}
	return g
}

func describeGroup(w *wire, group string) (g kmsg.DescribeGroupsResponseGroup, err error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	err = retrying(func() error {
		resp, err := ask[*kmsg.DescribeGroupsResponse](w, req)
		if err != nil {
			return err
		}
		g = resp.Groups[0]
		return failed(g.ErrorCode)
	})
	return g, err
}

// retrying asks again while the coordinator loads. It is for bubbles.
func retrying(ask func() error) error {
	for range 100 {
		err := ask()
		if err != kerr.CoordinatorLoadInProgress && err != kerr.NotCoordinator && err != kerr.CoordinatorNotAvailable {
			return err
		}
		pass(100 * time.Millisecond)
	}
	return kerr.CoordinatorLoadInProgress
}

// member is a member of a group on a connection of its own, and does nothing by itself.
type member struct {
	w                  *wire
	group, id          string
	instance           *string
	offers             []kmsg.JoinGroupRequestProtocol
	session, rebalance time.Duration

	generation int32
	protocol   string
	leader     bool
	others     []kmsg.JoinGroupResponseMember // of the leader
	assignment []byte
}

// member is a new one that offers range with this metadata.
func (h *house) member(group string, metadata []byte) *member {
	h.t.Helper()
	m := &member{w: h.wire(), group: group, session: 30 * time.Second, rebalance: 30 * time.Second}
	m.offers = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: metadata}}
	return m
}

func (m *member) joinRequest() *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.ProtocolType, req.Protocols = m.group, m.id, m.instance, "consumer", m.offers
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = int32(m.session.Milliseconds()), int32(m.rebalance.Milliseconds())
	return req
}

// join joins, with the id that it is given.
func (m *member) join() error {
	for {
		resp, err := ask[*kmsg.JoinGroupResponse](m.w, m.joinRequest())
		if err != nil {
			return err
		}
		switch err := failed(resp.ErrorCode); err {
		case nil:
			m.id, m.generation, m.others = resp.MemberID, resp.Generation, resp.Members
			m.leader = resp.MemberID == resp.LeaderID && !resp.SkipAssignment
			if resp.Protocol != nil {
				m.protocol = *resp.Protocol
			}
			return nil
		case kerr.MemberIDRequired:
			m.id = resp.MemberID
		case kerr.CoordinatorLoadInProgress:
			pass(100 * time.Millisecond)
		default:
			return err
		}
	}
}

// sync gets the assignment; the leader says what everybody gets.
func (m *member) sync(plan func(id string) []byte) error {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.Generation, req.MemberID, req.InstanceID = m.group, m.generation, m.id, m.instance
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), &m.protocol
	if m.leader {
		for _, o := range m.others {
			req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: o.MemberID, MemberAssignment: plan(o.MemberID)})
		}
	}
	resp, err := ask[*kmsg.SyncGroupResponse](m.w, req)
	if err != nil {
		return err
	}
	m.assignment = resp.MemberAssignment
	return failed(resp.ErrorCode)
}

func (m *member) heartbeat() error {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID, req.InstanceID = m.group, m.generation, m.id, m.instance
	resp, err := ask[*kmsg.HeartbeatResponse](m.w, req)
	if err != nil {
		return err
	}
	return failed(resp.ErrorCode)
}

func (m *member) leave() error {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = m.group
	req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: m.id, InstanceID: m.instance}}
	resp, err := ask[*kmsg.LeaveGroupResponse](m.w, req)
	if err != nil {
		return err
	}
	if err := failed(resp.ErrorCode); err != nil {
		return err
	}
	return failed(resp.Members[0].ErrorCode)
}

// stay joins, syncs and sends heartbeats until the time is up, as a client does.
func (m *member) stay(until time.Time, every time.Duration, plan func(id string) []byte) error {
	for in := false; ; {
		if !in {
			if err := m.join(); err != nil {
				return fmt.Errorf("joining: %w", err)
			}
			switch err := m.sync(plan); err {
			case nil:
				in = true
			case kerr.RebalanceInProgress:
				continue
			default:
				return fmt.Errorf("syncing: %w", err)
			}
		}
		if !time.Now().Before(until) {
			return nil
		}
		pass(every)
		switch err := m.heartbeat(); err {
		case nil:
		case kerr.RebalanceInProgress:
			in = false
		default:
			return fmt.Errorf("heartbeat: %w", err)
		}
	}
}

// echo assigns to every member its id.
func echo(id string) []byte { return []byte("for " + id) }

// commitOf commits one offset of a group without members, or of m when it is not nil.
func commitOf(group string, m *member, topic string, partition int32, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	if m != nil {
		req.Generation, req.MemberID, req.InstanceID = m.generation, m.id, m.instance
	}
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = partition, offset, 3, kmsg.StringPtr(fmt.Sprint("at ", offset))
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func commitOffset(w *wire, group string, m *member, topic string, partition int32, offset int64) error {
	resp, err := ask[*kmsg.OffsetCommitResponse](w, commitOf(group, m, topic, partition, offset))
	if err != nil {
		return err
	}
	return failed(resp.Topics[0].Partitions[0].ErrorCode)
}

// committedOffset is the offset that a group has for a partition, -1 for none.
func committedOffset(w *wire, group, topic string, partition int32) (int64, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Groups = []kmsg.OffsetFetchRequestGroup{{
		Group: group, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{partition}}},
	}}
	resp, err := ask[*kmsg.OffsetFetchResponse](w, req)
	if err != nil {
		return 0, err
	}
	if err := failed(resp.Groups[0].ErrorCode); err != nil {
		return 0, err
	}
	p := resp.Groups[0].Topics[0].Partitions[0]
	if p.Offset >= 0 && (p.LeaderEpoch != 3 || p.Metadata == nil || *p.Metadata != fmt.Sprint("at ", p.Offset)) {
		return 0, fmt.Errorf("the commit of offset %d has come back as %+v", p.Offset, p)
	}
	return p.Offset, failed(p.ErrorCode)
}

// sameMembers compares what a description says with what members know.
func sameMembers(g kmsg.DescribeGroupsResponseGroup, members []*member) error {
	if g.State != "Stable" || len(g.Members) != len(members) {
		return fmt.Errorf("%s with %d members, want Stable with %d", g.State, len(g.Members), len(members))
	}
	byID := map[string]*kmsg.DescribeGroupsResponseGroupMember{}
	for i := range g.Members {
		byID[g.Members[i].MemberID] = &g.Members[i]
	}
	for _, m := range members {
		d := byID[m.id]
		if d == nil || !bytes.Equal(d.MemberAssignment, m.assignment) || !bytes.Equal(d.ProtocolMetadata, m.offers[0].Metadata) {
			return fmt.Errorf("member %s is described as %+v", m.id, d)
		}
	}
	return nil
}

// pass lets time go by, in a bubble.
func pass(d time.Duration) { <-time.After(d) }
