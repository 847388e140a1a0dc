package transport

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Begin begins a transaction.
func (p *Producer) Begin(done func(error)) {
	if p.inTxn {
		done(errors.New("invalid attempt to begin a transaction while already in a transaction"))
		return
	}
	p.recover(func(necessary, did bool, err error) {
		if necessary && !did {
			done(fmt.Errorf("producer ID has a fatal, unrecoverable error, err: %w", err))
			return
		}
		p.inTxn, p.produced, p.producing = true, false, true
		done(nil)
	})
}

// End is EndTransaction.
func (p *Producer) End(commit bool, done func(error)) {
	if !p.inTxn {
		done(nil)
		return
	}
	p.inTxn, p.producing = false, false
	unconfirmed := p.unconfirmed
	p.unconfirmed = false
	var added []*buffer
	for _, b := range p.order {
		if b.added {
			b.added = false
			added = append(added, b)
		}
	}
	if len(added) == 0 {
		if !p.cfg.Version2 || !p.produced {
			done(nil)
			return
		}
		commit = false
	}
	p.load(func(i identity) {
		switch {
		case i.err != nil && commit:
			p.restore(added, unconfirmed)
			done(kerr.OperationNotAttempted)
		case i.err != nil:
			p.recover(func(_, did bool, _ error) {
				if did {
					done(nil)
					return
				}
				p.end(i, false, unconfirmed, added, done)
			})
		default:
			p.end(i, commit, unconfirmed, added, done)
		}
	})
}

// restore is for an end that was not tried, or of which nothing is known.
func (p *Producer) restore(added []*buffer, unconfirmed bool) {
	for _, b := range added {
		b.added = true
	}
	p.inTxn, p.unconfirmed = true, unconfirmed
}

// end sends EndTxn. After one of which nothing is known the id was loaded anew, which has aborted what was open.
func (p *Producer) end(i identity, commit, unconfirmed bool, added []*buffer, done func(error)) {
	if unconfirmed {
		if commit {
			done(errors.New("cannot retry a commit whose outcome is unconfirmed: the transaction may already be aborted; retry with TryAbort"))
			return
		}
		done(nil)
		return
	}
	over := false
	p.ending = func(err error) {
		over, p.ending = true, nil
		p.failed(i, added, err)
		done(err)
	}
	p.concurrently(func(done func(error)) { p.endOnce(i, commit, &over, done) }, func(err error) {
		if over {
			return
		}
		p.ending = nil
		if err != nil {
			p.failed(i, added, err)
		}
		done(err)
	})
}

// failed is after an EndTxn that was refused, or of which nothing is known.
func (p *Producer) failed(i identity, added []*buffer, err error) {
	var code *kerr.Error
	if errors.As(err, &code) && !code.Retriable && code != kerr.UnknownServerError {
		p.fail(i, err)
	} else {
		p.fail(i, errReload)
	}
	p.restore(added, true)
}

func (p *Producer) endOnce(i identity, commit bool, over *bool, done func(error)) {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = 4, p.cfg.TransactionalID, i.id, i.epoch, commit
	if p.cfg.Version2 {
		req.Version = 5
	}
	p.request(req, func(resp kmsg.Response, err error) {
		if *over {
			return
		}
		if err == nil {
			r := resp.(*kmsg.EndTxnResponse)
			if err = kerr.ErrorForCode(r.ErrorCode); err == nil && r.Version >= 5 && r.ProducerID >= 0 {
				p.become(r.ProducerID, r.ProducerEpoch)
			}
		}
		done(err)
	})
}
