package server

const (
	// maxInFlight bounds the requests of one connection that have no written response yet. Clients keep five on their
	// own; librdkafka without idempotence has no bound of its own.
	maxInFlight = 128
	// maxUnwritten is how many bytes of responses may wait for being written when the next request is started, file
	// ranges not counted.
	maxUnwritten = 64 << 10
)

// queue holds one connection's requests in their order, from being read to having their response written (T6). It
// is a list through the requests themselves; the connection's mutex guards it.
type queue struct {
	first, last *Request
	length      int      // requests read and not yet written; those being written are no longer in the list but count
	open        int      // of them not finished by the handler; all are of openKey
	openKey     int16    // when open is not 0
	unwritten   int64    // bytes in memory of finished responses
	held        *Request // nothing is started behind it, see Request.Hold
}

// mayStart tells whether a request with this key may be handed to the handler now. A Produce may follow a Produce that
// is not finished, and an OffsetCommit an OffsetCommit: they only append, in order, and wait for the disk together. All
// else waits for everything before it, since it could see, or overtake, what that is about to change.
func (q *queue) mayStart(key int16) bool {
	if q.length >= maxInFlight || q.unwritten > maxUnwritten || q.held != nil {
		return false
	}
	return q.open == 0 || key == q.openKey && (key == keyProduce || key == keyOffsetCommit)
}

func (q *queue) push(r *Request) {
	if q.last == nil {
		q.first = r
	} else {
		q.last.next = r
	}
	q.last = r
	q.length++
	q.open++
	q.openKey = r.Key
}

// finished notes that the handler is done with r.
func (q *queue) finished(r *Request) {
	q.open--
	q.proceed(r)
	q.unwritten += r.result.memory
}

// proceed ends the hold of r, if there is one.
func (q *queue) proceed(r *Request) {
	if q.held == r {
		q.held = nil
	}
}

// ready tells whether the first request is finished: there is something to write.
func (q *queue) ready() bool { return q.first != nil && q.first.result.outcome != unfinished }

// popReady appends to batch the finished requests before the first unfinished one, and takes them off the list.
func (q *queue) popReady(batch []*Request) []*Request {
	for q.ready() {
		r := q.first
		q.first, r.next = r.next, nil
		batch = append(batch, r)
	}
	if q.first == nil {
		q.last = nil
	}
	return batch
}

// written notes that the requests of batch are over, and returns how much memory their responses had.
func (q *queue) written(batch []*Request) (freed int64) {
	for _, r := range batch {
		q.length--
		q.unwritten -= r.result.memory
		freed += r.result.memory
	}
	return freed
}
