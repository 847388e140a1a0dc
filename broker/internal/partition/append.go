package partition

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/producers"
	"github.com/skeinstream/skein/broker/internal/record"
)

// Append is one batch on its way into a partition. Its owner fills in the first fields, calls Partition.Append, and hears
// of the outcome exactly once, through Done, on whatever goroutine finishes it: the caller's own before Append returns, or
// the committer's later. From then on it may be used again.
type Append struct {
	// Records is what a client sent for the partition. It belongs to the append until Done.
	Records []byte
	// ZstdRefused is set for Produce before version 7.
	ZstdRefused bool
	// Guard was taken before the coordinator said that the transaction of the batch has this partition.
	Guard Guard
	// Unverified is the code for a transactional batch that no coordinator has vouched for. 0: INVALID_TXN_STATE.
	Unverified int16
	// Anew: every transaction of the producer has an epoch of its own.
	Anew bool
	Done Appended

	Result Result // once Done was called

	checked bool  // by Check
	fault   error // that it found

	header  record.Header
	came    int64 // ms
	stamped int64 // log append time, -1 without
	own           // of a batch that a coordinator has built
	write   commit.Write
	next    *Append // in a chain: of those under way, or of those that wait for something
}

// Appended hears of finished appends. On the committer's goroutine it holds up everybody's commits, so it is quick.
type Appended interface{ Appended(*Append) }

// Result is what has become of an Append.
type Result struct {
	Code       int16 // of package kerr, 0: it is in the log
	BaseOffset int64 // -1 when it is not in the log
	// LogAppendTime is the broker's time under message.timestamp.type=LogAppendTime, for a duplicate the timestamp of the
	// original, else -1.
	LogAppendTime int64
	StartOffset   int64 // the log's first offset, -1 when the log was not looked at
	Message       string
	Records       []record.RecordError
	Duplicate     bool // it was in the log before
}

// failure is the result of an append that never came to the log.
func failure(code int16) Result {
	return Result{Code: code, BaseOffset: -1, LogAppendTime: -1, StartOffset: -1}
}

func (a *Append) finish(r Result) {
	a.Result = r
	a.Done.Appended(a)
}

// Check validates a.Records, so that the Append need not: that may be called on a goroutine which others wait for. What is
// wrong with them is told by the Append.
func (p *Partition) Check(a *Append) { a.fault, a.checked = p.validate(a), true }

// Append validates a.Records, gives them their place in the log and sees to it that they get there.
func (p *Partition) Append(a *Append) {
	if code := p.Refusal(); code != 0 {
		a.checked = false
		a.finish(failure(code))
		return
	}
	if refused := p.verdict(a); refused != nil {
		a.finish(p.refused(refused))
		return
	}
	if r, barred := p.barred(); barred {
		p.refuse(a, r)
		return
	}
	p.submit(a)
}

// verdict is what Check has found, or finds now.
func (p *Partition) verdict(a *Append) error {
	if !a.checked {
		p.Check(a)
	}
	fault := a.fault
	a.checked, a.fault = false, nil
	return fault
}

// barred is the result of an append that the disk does not let in now.
func (p *Partition) barred() (r Result, barred bool) {
	switch {
	case p.table.space.low():
		return p.table.space.failure(), true
	case p.stuck.Load(): // or it would wait, in memory, for as long as the disk is full
		r = failure(kerr.KafkaStorageError.Code)
		r.Message = "the segment cannot be written now"
		return r, true
	}
	return r, false
}

// refuse finishes a valid append that is not let in now.
func (p *Partition) refuse(a *Append, r Result) {
	p.mu.Lock()
	p.awaited.failed(a.header)
	p.mu.Unlock()
	a.finish(r)
}

// validate checks the batch by the topic's rules and puts the bytes to be stored in place of those that were sent.
func (p *Partition) validate(a *Append) error {
	state := p.topic.state.Load()
	rules := state.rules
	a.came = p.table.now()
	rules.Now, rules.ZstdRefused = a.came, a.ZstdRefused
	v := p.table.validators.Get().(*record.Validator)
	accepted, err := v.Validate(a.Records, rules)
	p.table.validators.Put(v)
	if err != nil {
		return err
	}
	a.Records, a.header, a.stamped = accepted.Bytes, accepted.Header, -1
	if rules.LogAppendTime {
		a.stamped = accepted.MaxTimestamp
	}
	return nil
}

// refused is the result of a refusal by the validator or the producers' rules.
func (p *Partition) refused(err error) Result {
	var r *record.Refusal
	if !errors.As(err, &r) {
		return failure(kerr.UnknownServerError.Code)
	}
	result := failure(r.Code)
	result.Message, result.Records = r.Message, r.Records
	if !r.BeforeLog {
		result.StartOffset = p.log.StartOffset()
	}
	return result
}

// submit gives a validated batch to the log, or parks it while the mode of durability changes.
func (p *Partition) submit(a *Append) {
	var done chain
	var woken wakes
	p.mu.Lock()
	switch {
	case p.state != online:
		a.Result = failure(p.state.code())
		done.add(a)
	case p.changing && !p.table.broken.Load():
		p.parked.add(a)
	default:
		p.place(a, &done, &woken)
	}
	p.mu.Unlock()
	done.finish()
	woken.wake()
}

// place checks the producer and assigns offsets. Appends that are finished by it go to done. The caller holds p.mu.
func (p *Partition) place(a *Append, done *chain, woken *wakes) {
	if p.table.broken.Load() {
		a.Result = failure(kerr.KafkaStorageError.Code)
		a.Result.Message = errBroken.Error()
		done.add(a)
		return
	}
	entry, original, err := p.check(a)
	switch {
	case err != nil:
		a.Result = p.refused(err)
		done.add(a)
		return
	case original != nil:
		p.repeat(a, *original, done)
		return
	}
	p.position(a)
	if p.relaxed {
		p.writeNow(a, done, woken)
	} else {
		p.enqueue(a, entry, done)
	}
}

// check asks whether the batch may come next, and returns what is known of its producer. A batch that is in the log
// already, or on its way there, has an original. The caller holds p.mu.
func (p *Partition) check(a *Append) (entry producers.Entry, original *producers.Batch, err error) {
	if a.built {
		entry, err = p.checkOwn(a)
		return entry, nil, err
	}
	if !a.header.HasProducer() {
		return entry, nil, nil
	}
	entry = p.producer(a.header.ProducerID)
	verdict, err := entry.Check(a.header)
	if !verdict.Duplicate {
		if refused := p.verify(a, entry); refused != nil {
			err = refused
		}
	}
	if err == nil && !entry.Known() {
		err = p.checkFirst(a)
	}
	if verdict.Duplicate {
		original = &verdict.Original
	}
	return entry, original, err
}

// position makes the next offset the batch's. The caller holds p.mu.
func (p *Partition) position(a *Append) {
	a.header.BaseOffset = p.next
	record.PatchOffset(a.Records, p.next, p.epoch)
}

// repeat answers a batch that is in the log already with the offset of the original, once that is durable (T15).
func (p *Partition) repeat(a *Append, original producers.Batch, done *chain) {
	a.Result = Result{
		BaseOffset:    original.FirstOffset(),
		LogAppendTime: original.Timestamp,
		StartOffset:   p.log.StartOffset(),
		Duplicate:     true,
	}
	if original.LastOffset < p.highWatermark.Load() {
		done.add(a)
		return
	}
	a.header.BaseOffset = original.FirstOffset()
	p.repeats.add(a)
}

// enqueue hands the batch to the committer. It is pending from here on.
func (p *Partition) enqueue(a *Append, entry producers.Entry, done *chain) {
	a.write = p.writeOf(a)
	if err := p.table.committing.Enqueue(&a.write); err != nil {
		a.Result = p.storageFailure(err)
		done.add(a)
		return
	}
	p.enqueued(a, entry)
}

// writeOf is the batch as the committer takes it.
func (p *Partition) writeOf(a *Append) commit.Write {
	return commit.Write{Target: p, Base: a.header.BaseOffset, Last: a.header.LastOffset(), Bytes: a.Records, Position: -1, Tag: a}
}

// enqueued notes a batch that the committer has taken. The caller holds p.mu.
func (p *Partition) enqueued(a *Append, entry producers.Entry) {
	p.pending++
	p.underway.add(a)
	p.next = a.header.LastOffset() + 1
	p.noteMarker(a)
	if a.header.HasProducer() {
		p.overlay.put(a.after(entry))
		p.awaited.came(a.header.ProducerID)
	}
}

// writeNow puts the batch into the page cache, where readers may have it at once. The caller holds p.mu.
func (p *Partition) writeNow(a *Append, done *chain, woken *wakes) {
	if err := p.log.Write(a.Records, a.came); err != nil {
		p.awaited.failed(a.header)
		a.Result = p.storageFailure(err)
		done.add(a)
		return
	}
	p.next = a.header.LastOffset() + 1
	p.noteMarker(a)
	p.awaited.came(a.header.ProducerID)
	p.wrote(a.header.Count, a.came)
	p.advance(p.next, woken)
	a.Result = p.success(a)
	done.add(a)
}

// success is the result of a batch that is in the log.
func (p *Partition) success(a *Append) Result {
	return Result{BaseOffset: a.header.BaseOffset, LogAppendTime: a.stamped, StartOffset: p.log.StartOffset()}
}

// storageFailure is the result when the log or the committer could not take a batch. Clients may try again.
func (p *Partition) storageFailure(err error) Result {
	p.table.writeFailed(p, err)
	r := failure(kerr.KafkaStorageError.Code)
	r.Message = "the record could not be written: " + err.Error()
	return r
}
