package api

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/fetchsession"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/server"
)

// Fetch (key 1): reads batches from partitions, and waits for some.
//
// Version notes:
//   - 4 is the first that Kafka 4 serves: isolation_level, last_stable_offset, aborted_transactions
//   - 5 adds log_start_offset
//   - 6 tells of KAFKA_STORAGE_ERROR; before, it is NOT_LEADER_OR_FOLLOWER
//   - 7 adds sessions (KIP-227) and a top-level error
//   - 9 adds current_leader_epoch (KIP-320)
//   - 11 adds rack_id and preferred_read_replica (KIP-392): there is one replica, so -1
//   - 12 is flexible and adds last_fetched_epoch and diverging_epoch
//   - 13 names topics by id (KIP-516)
//   - 15 moves the replica id into a tag (KIP-903)
//   - 16 adds node_endpoints (KIP-951)
//   - 17 and 18 add tags for followers
//
// What a partition's answer is made of is in 01_fetch_read.go; how a fetch waits is in 01_fetch_wait.go.

func fetchEntry() entry {
	return entry{key: 1, min: fetchMin, max: fetchMax, flexible: fetchFlexible, serve: (*Handler).fetch}
}

// readCommitted is the isolation level that sees nothing of open and aborted transactions; 0 sees all.
const readCommitted = 1

// fetch is one Fetch request under way. Handlers pool it: its slices keep their memory.
type fetch struct {
	handler *Handler
	request *server.Request
	fetchRequest
	head     fetchsession.Head
	session  *fetchsession.Session
	scratch  *fetchsession.Session // what session is for a request outside any session
	hits     []fetchHit
	bounds   []int64 // where reading ended for now, in the session's order
	answer   fetchAnswer
	deadline time.Time // set when it first waits

	// While it waits; see 01_fetch_wait.go.
	state    atomic.Int32
	over     atomic.Bool // it has waited long enough
	waiters  []partition.Waiter
	waiting  []*partition.Partition // waiters[i] waits for it
	timer    *time.Timer
	stopCtx  func() bool
	next     *fetch // in readyFetches
	timedOut bool   // the timer's call has claimed it, and does nothing more
	stray    bool   // a call may still be under way: the struct is not to be used again

	// Kept with the struct, so that no request makes closures.
	onTime, onHangUp, onReleased func()
}

// fetchPool keeps what fetch requests need between them.
type fetchPool struct{ pool sync.Pool }

func (p *fetchPool) get() *fetch {
	if got, ok := p.pool.Get().(*fetch); ok {
		return got
	}
	f := &fetch{scratch: new(fetchsession.Session)}
	f.onTime, f.onHangUp, f.onReleased = f.timeUp, f.hungUp, f.release
	return f
}

func (p *fetchPool) put(f *fetch) {
	if f.stray {
		return
	}
	f.answer.reset()
	clear(f.hits)
	clear(f.waiting)
	f.hits, f.waiting = f.hits[:0], f.waiting[:0]
	f.handler, f.request, f.session, f.stopCtx = nil, nil, nil, nil
	f.over.Store(false)
	f.deadline = time.Time{}
	p.pool.Put(f)
}

func (h *Handler) fetch(_ context.Context, r *server.Request) {
	f := h.data.fetches.get()
	f.handler, f.request = h, r
	if err := f.decode(r.Body, r.Version); err != nil {
		r.Fail(malformed("Fetch", r.Version, err))
		h.data.fetches.put(f)
		return
	}
	f.answer.version = r.Version
	if f.isolation != 0 && f.isolation != readCommitted {
		f.refuseAll(kerr.UnknownServerError.Code)
		return
	}
	if err := f.begin(); err != nil {
		f.answer.code = sessionCode(err)
		f.reply()
		return
	}
	f.run()
}

func sessionCode(err error) int16 {
	switch {
	case errors.Is(err, fetchsession.ErrNotFound):
		return kerr.FetchSessionIDNotFound.Code
	case errors.Is(err, fetchsession.ErrEpoch):
		return kerr.InvalidFetchSessionEpoch.Code
	default:
		return kerr.FetchSessionTopicIDError.Code
	}
}

// begin finds the session and brings the request's changes into it.
func (f *fetch) begin() error {
	f.head = fetchsession.Head{ID: f.sessionID, Epoch: f.sessionEpoch, ByID: f.request.Version >= fetchTopicID}
	s, err := f.handler.data.sessions.Begin(f.head, f.scratch)
	if err != nil {
		return err
	}
	f.session = s
	f.put()
	if !s.Incremental() {
		return nil
	}
	for i := range f.forgotten {
		t := &f.forgotten[i]
		key := f.key(t)
		for _, key.Index = range f.forgets[t.first:t.end] {
			s.Forget(key)
		}
	}
	if !f.handler.data.sessions.Settle(s, f.now()) { // nothing is left of it: answer what was asked here
		f.handler.data.sessions.Return(s)
		f.scratch.Reset(f.head.ByID)
		f.head.Epoch = sessionless
		f.session = f.scratch
		f.put()
	}
	return nil
}

// sessionless is the epoch of requests that want no session.
const sessionless = -1

func (f *fetch) now() int64 { return f.handler.Now().UnixMilli() }

// put brings the partitions that the request names into the session.
func (f *fetch) put() {
	for i := range f.topics {
		t := &f.topics[i]
		key := f.key(t)
		for j := t.first; j < t.end; j++ {
			q := &f.partitions[j]
			key.Index = q.index
			f.session.Put(key, fetchsession.Want{
				Offset: q.offset, MaxBytes: q.maxBytes, LeaderEpoch: q.leaderEpoch, LastFetchedEpoch: q.lastFetchedEpoch,
			})
		}
	}
}

// key names a topic for the session. The name must outlive the request's body, so it is the topic's own where there is one.
func (f *fetch) key(t *fetchTopic) fetchsession.Key {
	if f.head.ByID {
		return fetchsession.Key{ID: t.id}
	}
	if topic := f.handler.Table.TopicBytes(t.name); topic != nil {
		return fetchsession.Key{Topic: topic.Name}
	}
	return fetchsession.Key{Topic: string(t.name)}
}

// refuseAll answers every partition of the request, and the request, with one error.
func (f *fetch) refuseAll(code int16) {
	f.answer.code = code
	for i := range f.topics {
		t := &f.topics[i]
		for j := t.first; j < t.end; j++ {
			failed := fetchFailure(code)
			failed.topic, failed.id, failed.index, failed.abortedKnown = string(t.name), t.id, f.partitions[j].index, true
			f.answer.results = append(f.answer.results, failed)
		}
	}
	f.reply()
}

// run reads, and answers or waits.
func (f *fetch) run() {
	for {
		if f.read() {
			f.conclude()
			return
		}
		if f.wait() {
			return
		}
	}
}

// conclude tells the session what is answered, and answers.
func (f *fetch) conclude() {
	sessions := f.handler.data.sessions
	incremental := f.session.Incremental()
	f.collect(incremental)
	if incremental {
		f.answer.sessionID = f.session.ID()
		if sessions.Return(f.session) {
			f.answer.release()
			f.answer.results = f.answer.results[:0]
			f.answer.code = kerr.InvalidFetchSessionEpoch.Code
		}
	} else if f.request.Version >= fetchSession {
		f.answer.sessionID = sessions.Keep(f.session, f.head, f.now())
		if f.answer.sessionID != 0 {
			f.scratch = new(fetchsession.Session) // the old one is the cache's now
		}
	}
	f.reply()
}

// reply sends the answer. Files that go out as ranges are kept until they are sent.
func (f *fetch) reply() {
	r, pool := f.request, &f.handler.data.fetches
	f.answer.endpoint = r.Conn.Listener()
	resp := f.answer.encode(r.Buffer(f.answer.size()))
	if len(f.answer.cuts) > 0 {
		resp.Release = f.onReleased
		r.Reply(resp)
		return
	}
	f.answer.release()
	r.Reply(resp)
	pool.put(f)
}

// release ends a fetch whose response has been written.
func (f *fetch) release() {
	f.answer.release()
	f.handler.data.fetches.put(f)
}
