package transport

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/consumer/internal/eossim/cluster"
	"github.com/skeinstream/skein/internal/simulation"
)

// Errors of franz-go that are not the broker's.
var (
	errAborting         = errors.New("client is aborting buffered records")
	errNotInTransaction = errors.New("cannot produce record transactionally if not in a transaction")
	errExpired          = errors.New("records have timed out before they were able to be produced")
	errReload           = errors.New("producer id needs reloading")
)

// loadError says that the producer id could not be had now.
type loadError struct{ Err error }

func (e *loadError) Error() string { return "unable to initialize a producer ID: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *loadError) Unwrap() error { return e.Err }

// Config is who produces.
type Config struct {
	TransactionalID string
	Timeout         time.Duration // of transactions
	Version2        bool          // the cluster has transaction.version 2
	Tries           int           // of a request that is not answered
	Clock           *simulation.Clock
	Life            *simulation.Life
	Dice            *simulation.Dice
	// Send sends a request once.
	Send func(req any, done func(resp any, err error))
}

// Producer is one client.
type Producer struct {
	cfg    Config
	id     identity
	loads  []func(identity) // who waits for the id that is being loaded
	try    *int             // the try to load it that is under way
	closed bool
	ending func(error) // has the EndTransaction that is under way return

	inTxn, producing, produced, unconfirmed bool

	buffers  map[cluster.Partition]*buffer
	order    []*buffer
	draining bool
	expiring int // records that will not be sent
	aborting int
	flushes  []func()
}

// identity is a producer id and epoch, and what is wrong with it.
type identity struct {
	id    int64
	epoch int16
	err   error
}

// New is a producer that has no id yet.
func New(cfg Config) *Producer {
	return &Producer{cfg: cfg, id: identity{-1, -1, errReload}, buffers: map[cluster.Partition]*buffer{}}
}

// Close ends it. Nobody hears of what is under way.
func (p *Producer) Close() { p.closed = true }

func (p *Producer) later(d time.Duration, do func()) {
	p.cfg.Life.Later(d, func() {
		if !p.closed {
			do()
		}
	})
}

// patience is for how long a request is tried again.
const patience = 30 * time.Second

func backoff(try int) time.Duration {
	return min(100*time.Millisecond<<min(try, 5), 2500*time.Millisecond)
}

// request has a request answered as franz-go does: it is sent again when the connection breaks, and when the coordinator has
// moved, for a while. But our producer has EndTxn sent once.
func (p *Producer) request(req kmsg.Request, done func(resp kmsg.Response, err error)) {
	began := p.cfg.Clock.Now
	if _, ends := req.(*kmsg.EndTxnRequest); ends {
		began = began.Add(-patience)
	}
	var once func(try int)
	once = func(try int) {
		p.cfg.Send(req, func(resp any, err error) {
			if p.closed {
				return
			}
			again := p.cfg.Clock.Now.Sub(began) < patience
			if err != nil {
				if again = again && try+1 < p.cfg.Tries; !again {
					done(nil, err)
					return
				}
			} else if r := resp.(kmsg.Response); !moved(codeOf(r)) || !again {
				done(r, nil)
				return
			}
			p.later(backoff(try), func() { once(try + 1) })
		})
	}
	once(0)
}

// moved says that the coordinator is another, or not there yet.
func moved(code int16) bool {
	switch kerr.ErrorForCode(code) {
	case kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator:
		return true
	}
	return false
}

// codeOf is the first code of an answer.
func codeOf(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.InitProducerIDResponse:
		return r.ErrorCode
	case *kmsg.EndTxnResponse:
		return r.ErrorCode
	case *kmsg.AddOffsetsToTxnResponse:
		return r.ErrorCode
	case *kmsg.AddPartitionsToTxnResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.TxnOffsetCommitResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.OffsetCommitResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	}
	return 0
}

// concurrently does something until it does not meet the end of the transaction before.
func (p *Producer) concurrently(try func(done func(error)), done func(error)) {
	began, pause := p.cfg.Clock.Now, 20*time.Millisecond
	var once func()
	once = func() {
		try(func(err error) {
			if !errors.Is(err, kerr.ConcurrentTransactions) {
				done(err)
				return
			}
			switch since := p.cfg.Clock.Now.Sub(began); {
			case since > 5*time.Second:
				pause = max(pause, time.Second)
			case since > time.Second:
				pause = max(pause, 200*time.Millisecond)
			}
			p.later(pause, once)
		})
	}
	once()
}

// ProducerID says who the producer is, and finds out first if it has to.
func (p *Producer) ProducerID(done func(id int64, epoch int16, err error)) {
	p.load(func(i identity) { done(i.id, i.epoch, i.err) })
}

func (p *Producer) load(done func(identity)) {
	if p.id.err != errReload {
		done(p.id)
		return
	}
	p.loads = append(p.loads, done)
	if len(p.loads) == 1 {
		p.initialise()
	}
}

// initialise sends InitProducerId with what was last (KIP-360).
func (p *Producer) initialise() {
	last, attempt := p.id, new(int)
	p.try = attempt
	var resp *kmsg.InitProducerIDResponse
	p.concurrently(func(done func(error)) {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 4, &p.cfg.TransactionalID, last.id, last.epoch
		req.TransactionTimeoutMillis = int32(p.cfg.Timeout.Milliseconds())
		p.request(req, func(r kmsg.Response, err error) {
			if err == nil {
				resp = r.(*kmsg.InitProducerIDResponse)
				if e := kerr.ErrorForCode(resp.ErrorCode); e == kerr.ConcurrentTransactions {
					err = e
				}
			}
			done(err)
		})
	}, func(err error) {
		if p.try != attempt {
			return // its caller has gone
		}
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
			if err == nil || !kerr.IsRetriable(err) {
				p.loaded(resp, err)
				return
			}
		}
		p.tell(identity{last.id, last.epoch, &loadError{err}})
	})
}

// loaded keeps what InitProducerId has said.
func (p *Producer) loaded(resp *kmsg.InitProducerIDResponse, err error) {
	if err != nil {
		p.id.err = err
	} else {
		p.become(resp.ProducerID, resp.ProducerEpoch)
	}
	p.tell(p.id)
}

func (p *Producer) tell(i identity) {
	waiting := p.loads
	p.loads = nil
	for _, done := range waiting {
		done(i)
	}
}

// become is to have another id or epoch: sequences begin anew.
func (p *Producer) become(id int64, epoch int16) {
	p.id = identity{id, epoch, nil}
	for _, b := range p.order {
		b.fresh = true
	}
}

// fail makes an id invalid, unless it is another by now, or has failed.
func (p *Producer) fail(of identity, err error) {
	if p.id.id == of.id && p.id.epoch == of.epoch && p.id.err == nil {
		p.id.err = err
	}
}

// recover has an id that has failed loaded again, where that helps.
func (p *Producer) recover(done func(necessary, did bool, err error)) {
	p.load(func(i identity) {
		var code *kerr.Error
		switch {
		case i.err == nil:
			done(false, false, nil)
			return
		case !errors.As(i.err, &code):
			if !errors.Is(i.err, simulation.ErrNoAnswer) {
				done(true, false, i.err)
				return
			}
		case code.Retriable:
		case p.cfg.Version2 && code != kerr.UnknownProducerID && code != kerr.TransactionAbortable,
			!p.cfg.Version2 && code != kerr.UnknownProducerID && code != kerr.InvalidProducerIDMapping && code != kerr.InvalidProducerEpoch:
			done(true, false, i.err)
			return
		}
		p.id.err = errReload
		done(true, true, nil)
	})
}

// Cancel has what the caller waits for return, since its context has ended: EndTransaction does not know then what became of it, and
// what InitProducerId says is passed over.
func (p *Producer) Cancel(err error) {
	p.flushes, p.aborting = nil, 0
	if len(p.loads) > 0 {
		p.try = nil
		p.tell(identity{p.id.id, p.id.epoch, &loadError{err}})
	}
	if end := p.ending; end != nil {
		end(err)
	}
}
