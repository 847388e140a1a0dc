package membership

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// flight is what the member waits for from outside: the one request of the group besides a heartbeat, and the one callback.
type flight struct {
	last  uint64 // number of the last request
	id    uint64 // of the one that is under way; 0: none
	call  *Call
	tries int
	retry time.Time // when to send again; zero: not
	sent  time.Time
	until time.Time // when asking what the group runs ends (R-C10)

	strays []uint64  // JoinGroups whose answer names a member that has gone
	waits  time.Time // until when a closed member waits for them
}

// drop forgets a request: its answer will be passed over.
func (f *flight) drop() { f.id, f.tries, f.retry = 0, 0, time.Time{} }

func (f *flight) next() uint64 {
	f.last++
	return f.last
}

// send sends the request that the phase waits for.
func (m *Machine) send(req kmsg.Request) {
	m.flight.id, m.flight.retry, m.flight.sent = m.flight.next(), time.Time{}, m.now
	m.out.Requests = append(m.out.Requests, Request{m.flight.id, req})
}

// later sends again after a while that grows.
func (m *Machine) later() {
	wait := m.cfg.RetryMax
	if shift := m.flight.tries; shift < 16 {
		wait = min(wait, m.cfg.RetryMin<<shift)
	}
	m.flight.tries++
	m.flight.id, m.flight.retry = 0, m.now.Add(wait)
}

// retry sends again what is due.
func (m *Machine) retry() {
	if m.flight.retry.IsZero() || m.now.Before(m.flight.retry) {
		return
	}
	m.flight.retry = time.Time{}
	switch m.phase {
	case joining:
		m.sendJoin()
	case asking, steady:
		m.ask()
	case syncing:
		m.sendSync()
	case idle, preparing, looking, leading, giving, taking, resting, leaving, failed, closed:
	}
}

// unanswered sends a request again that got no answer. Asking what the group runs ends, if there never is one.
func (m *Machine) unanswered() {
	switch m.phase {
	case looking:
		m.join()
	case asking:
		m.askUntil()
	case steady:
		m.auditAgain(nil)
	default:
		m.later()
	}
}

// answered takes what the broker says.
func (m *Machine) answered(in Answered) {
	if m.strayed(in) {
		return
	}
	if m.phase == failed || m.phase == closed {
		return
	}
	if in.ID == m.beat.id && in.ID != 0 {
		m.beaten(in)
		return
	}
	if in.ID != m.flight.id || in.ID == 0 {
		return // of a rebalance that is over
	}
	m.flight.id = 0
	if in.Err != nil {
		m.unanswered()
		return
	}
	switch resp := in.Response.(type) {
	case *kmsg.JoinGroupResponse:
		m.joined(resp)
	case *kmsg.SyncGroupResponse:
		m.synced(resp)
	case *kmsg.DescribeGroupsResponse:
		switch m.phase {
		case steady:
			m.audited(resp)
		case looking:
			m.sees(resp)
		default:
			m.described(resp)
		}
	}
}
