package groups

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/bench/internal/wire"
)

// watchEvery is how often a member that has its assignment asks whether it
// still holds. Real members ask every three seconds; that would be most of
// what is measured.
const watchEvery = 250 * time.Millisecond

// Members are the members of one group, which is stable.
type Members struct {
	all     []*member
	settled settled
}

// Join lets so many members join a new group at once, and returns when all of
// them are in one generation and have their assignments.
func Join(ctx context.Context, addr, topic, group string, count int) (*Members, error) {
	m := &Members{settled: settled{want: count, done: make(chan struct{}), in: map[int32]int{}}}
	for range count {
		c, err := wire.Dial(ctx, addr)
		if err != nil {
			return nil, errors.Join(err, m.close())
		}
		m.all = append(m.all, &member{conn: c, group: group, topic: topic})
	}
	err := untilReady(ctx, func() error { return find(m.all[0].conn, group) })
	if err == nil {
		err = m.storm(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("joining %d members: %w", count, err), m.close())
	}
	return m, nil
}

// storm lets all members in at once.
func (m *Members) storm(ctx context.Context) error {
	m.settled.began = time.Now()
	work, ctx := errgroup.WithContext(ctx)
	for _, one := range m.all {
		work.Go(func() error { return one.settle(ctx, &m.settled) })
	}
	return work.Wait()
}

// settle enters the group as often as it gathers.
func (m *member) settle(ctx context.Context, s *settled) error {
	for {
		if err := m.enter(ctx); err != nil {
			return err
		}
		s.enters(m.generation)
		if again, err := m.watch(ctx, s.done); err != nil || !again {
			return err
		}
	}
}

// Settled is how long it took until the last member had its assignment, and
// the generation that it took it for: the first one is 1.
func (m *Members) Settled() (took time.Duration, generation int) {
	return m.settled.took, int(m.settled.generation)
}

// Beat sends heartbeats for length, one in flight for each member.
func (m *Members) Beat(ctx context.Context, length time.Duration) (beats int, err error) {
	callers := make([]caller, len(m.all))
	for i, one := range m.all {
		callers[i] = one.heartbeats()
	}
	beats, _, err = repeat(ctx, callers, 1, length)
	if err != nil {
		return 0, fmt.Errorf("sending heartbeats: %w", err)
	}
	return beats, nil
}

func (m *member) heartbeats() caller {
	req := m.beat()
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.Version = heartbeatVersion
	return caller{
		conn: m.conn,
		resp: resp,
		next: func() kmsg.Request { return req },
		code: func() error { return kerr.ErrorForCode(resp.ErrorCode) },
	}
}

// Leave ends the group, so that nobody waits for its members later.
func (m *Members) Leave() error {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version = leaveGroupVersion
	req.Group = m.all[0].group
	for _, one := range m.all {
		who := kmsg.NewLeaveGroupRequestMember()
		who.MemberID = one.id
		req.Members = append(req.Members, who)
	}
	resp, err := m.all[0].conn.Ask(req)
	if err == nil {
		err = kerr.ErrorForCode(resp.(*kmsg.LeaveGroupResponse).ErrorCode)
	}
	if err != nil {
		err = fmt.Errorf("leaving: %w", err)
	}
	return errors.Join(err, m.close())
}

func (m *Members) close() error {
	var all []error
	for _, one := range m.all {
		all = append(all, one.conn.Close())
	}
	return errors.Join(all...)
}

// settled counts who is in which generation.
type settled struct {
	want  int
	began time.Time
	done  chan struct{} // closed when all are in one generation

	mu         sync.Mutex
	in         map[int32]int
	took       time.Duration
	generation int32
}

func (s *settled) enters(generation int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in[generation]++
	if s.in[generation] == s.want {
		s.took, s.generation = time.Since(s.began), generation
		close(s.done)
	}
}
