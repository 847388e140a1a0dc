package eossim

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	errLost = errors.New("no answer")          // the request may have been served, or will be
	errDown = errors.New("there is no broker") // the request was not sent
	errDead = errors.New("the client has crashed")
)

// link is a connection of a client.
type link struct {
	conn    net.Conn
	line    *line
	answers chan []byte // closed when there are no more
}

func (c *client) dial() *link {
	conn, line := c.w.connect()
	if conn == nil {
		return nil
	}
	k := &link{conn: conn, line: line, answers: make(chan []byte, 16)}
	c.w.work.Go(k.read)
	return k
}

// read takes what comes as it comes.
func (k *link) read() {
	defer close(k.answers)
	for {
		var size [4]byte
		if _, err := io.ReadFull(k.conn, size[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(k.conn, body); err != nil || k.line.cut.Load() {
			return
		}
		select {
		case k.answers <- body:
		default: // nobody waits for it
		}
	}
}

// hangUp ends the connection, and read with it.
func (k *link) hangUp() {
	if k != nil {
		k.line.hangUp(k.conn)
	}
}

// fateOf is what the network does to a request.
type fateOf int

const (
	arrives     fateOf = iota // and so does the answer
	loses                     // the connection breaks before the request has come through
	losesAnswer               // the request is served, the connection breaks
	breaks                    // the request has come through, and the connection breaks at once
	lags                      // the request comes through late, when the client has given the connection up
)

func (f fateOf) String() string { return [...]string{"", "lost", "answer lost", "broken", "late"}[f] }

// fate draws what happens to a request.
func (c *client) fate() fateOf {
	if c.w.calm.Load() || c.steady {
		return arrives
	}
	loss := c.w.plan.loss
	switch x := c.dice.Float64(); {
	case x < loss:
		return loses
	case x < 2*loss:
		return losesAnswer
	case x < 2.5*loss:
		return breaks
	case x < 4*loss:
		return lags
	default:
		return arrives
	}
}

// spread is a span up to most, rather short than long. To the nanosecond, so that hardly ever two things begin at once.
func spread(dice *rand.Rand, most time.Duration) time.Duration {
	x := dice.Float64()
	return time.Duration(x*x*float64(most)) + time.Duration(1+dice.Int64N(1000))
}

// A client has a connection for each of these, as many clients do, and all of them to one broker.
const (
	forRecords = iota
	forGroups
	forTransactions
	connections
)

func connectionFor(req kmsg.Request) int {
	switch kmsg.Key(req.Key()) {
	case kmsg.Produce, kmsg.Fetch:
		return forRecords
	case kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.EndTxn:
		return forTransactions
	}
	return forGroups
}

// exchange sends a request over the network and returns the body of the answer.
func (c *client) exchange(req kmsg.Request, f fateOf, sent func()) ([]byte, error) {
	on := &c.links[connectionFor(req)]
	if *on == nil || (*on).line.cut.Load() {
		drop(on)
		if *on = c.dial(); *on == nil {
			return nil, errDown
		}
	}
	c.correlation++
	bytes := kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.name)).AppendRequest(nil, req, c.correlation)
	switch f {
	case loses:
		time.Sleep(spread(c.dice, c.w.plan.delay))
		drop(on)
		return nil, errLost
	case lags:
		c.lag(on, bytes, sent)
		time.Sleep(spread(c.dice, 4*c.w.plan.delay))
		return nil, errLost
	}
	time.Sleep(spread(c.dice, c.w.plan.delay))
	if !(*on).write(bytes) {
		drop(on)
		return nil, errLost
	}
	sent()
	if f == breaks {
		drop(on)
		return nil, errLost
	}
	body, heard := (*on).wait()
	time.Sleep(spread(c.dice, c.w.plan.delay))
	if !heard || f == losesAnswer {
		drop(on)
		return nil, errLost
	}
	return body, nil
}

func (k *link) write(b []byte) bool {
	_ = k.conn.SetWriteDeadline(time.Now().Add(answerTime))
	_, err := k.conn.Write(b)
	return err == nil
}

// answerTime bounds the wait for an answer: longer than any rebalance.
const answerTime = 20 * time.Second

func (k *link) wait() ([]byte, bool) {
	timer := time.NewTimer(answerTime)
	defer timer.Stop()
	select {
	case body, open := <-k.answers:
		return body, open
	case <-timer.C:
		return nil, false
	}
}

// drop gives a connection up.
func drop(on **link) {
	(*on).hangUp()
	*on = nil
}

// drop gives up all connections.
func (c *client) drop() {
	for i := range c.links {
		drop(&c.links[i])
	}
}

// lag has a request come through when its client has gone on over another connection, over its own old one or, where that can
// be survived, over one that was opened as late.
func (c *client) lag(on **link, bytes []byte, sent func()) {
	k, after := *on, spread(c.dice, c.w.plan.lag)
	late := c.overtaken && c.dice.IntN(3) == 0
	wait := spread(c.dice, c.w.plan.delay)
	*on = nil
	c.w.work.Go(func() {
		time.Sleep(after)
		if late {
			k.hangUp()
			if k = c.dial(); k == nil {
				return
			}
		}
		if k.write(bytes) {
			sent()
			time.Sleep(wait) // whatever the answer is
		}
		k.hangUp()
	})
}
