package broker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The kinds of requests that clients send over connections of their own.
const (
	laneControl = iota // AddPartitionsToTxn, AddOffsetsToTxn, EndTxn
	laneBatches        // Produce
	laneOffsets        // TxnOffsetCommit
)

// laneClient is a client before KIP-890 with several connections, which it loses now and then, with answers or between requests.
type laneClient struct {
	*txnProducer
	h     *house
	dice  *rand.Rand
	pick  func(lane int) int // the connection for a kind of request
	conns []*wire
	lost  int // connections that the broker has closed
	moods int // one in so many requests is disturbed; 0: none
}

// do sends a request until it is answered, as a client does that gets a new connection when it loses one.
func (c *laneClient) do(lane int, req kmsg.Request) kmsg.Response {
	c.h.t.Helper()
	for range 10 {
		i := c.pick(lane)
		if c.moods > 0 && c.dice.IntN(c.moods) == 0 {
			c.disturb(i, req)
		}
		resp, err := ask[kmsg.Response](c.conns[i], req)
		if err == nil {
			return resp
		}
		c.lost++
		c.redial(i)
	}
	c.h.t.Fatalf("request %d is never answered", req.Key())
	return nil
}

// disturb loses a connection, in half of the cases with a request that the broker has got.
func (c *laneClient) disturb(i int, req kmsg.Request) {
	if c.dice.IntN(2) == 0 {
		c.h.must(c.conns[i].send(req))
		if c.dice.IntN(2) == 0 {
			synctest.Wait()
		}
	}
	c.redial(i)
}

func (c *laneClient) redial(i int) {
	c.conns[i].close()
	c.conns[i] = c.h.wire()
	c.conns[i].old = true
}

// transaction writes to a partition and commits an offset.
func (c *laneClient) transaction(n int, commit bool) {
	c.h.t.Helper()
	at := partitionName{"a", int32(n % 2)}
	c.expect("adding", c.do(laneControl, c.addRequest(at)).(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode)
	for i := range 2 {
		c.expect("a batch", c.do(laneBatches, c.batch(at, fmt.Sprint(n, " ", i))).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
		c.sequences[at]++
	}
	c.expect("adding offsets", c.do(laneControl, c.addOffsetsRequest("g")).(*kmsg.AddOffsetsToTxnResponse).ErrorCode)
	c.expect("an offset", c.do(laneOffsets, c.offsetRequest("g", "a", int64(n))).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
	c.expect("the end", c.do(laneControl, c.endRequest(commit)).(*kmsg.EndTxnResponse).ErrorCode)
}

func (c *laneClient) expect(what string, code int16) {
	c.h.t.Helper()
	if code != 0 {
		c.h.t.Errorf("%s: %v", what, failed(code))
	}
}

// run makes transactions and checks what has become of them.
func (c *laneClient) run(conns int) {
	c.h.t.Helper()
	c.txnProducer = c.h.producer("id").old()
	c.h.createTopic("a", 2)
	c.h.must(retrying(c.begin))
	c.h.must(retrying(func() error { return c.addOffsets("g") }))
	c.h.must(c.end(false))
	for range conns {
		w := c.h.wire()
		w.old = true
		c.conns = append(c.conns, w)
	}
	want, offset := map[int32][]string{}, int64(-1)
	for n := range 40 {
		commit := c.dice.IntN(4) > 0
		c.transaction(n, commit)
		if commit {
			offset = int64(n)
			want[int32(n%2)] = append(want[int32(n%2)], fmt.Sprint(n, " 0"), fmt.Sprint(n, " 1"))
		}
	}
	for i := range int32(2) {
		c.h.expectCommitted(partitionName{"a", i}, want[i]...)
	}
	c.h.expectOffset("g", "a", offset)
}

// TestClientsWithSeveralConnections are never taken for late, however they spread their requests over connections and lose
// those: each kind has one at a time.
func TestClientsWithSeveralConnections(t *testing.T) {
	for name, lanes := range map[string][3]int{
		"one for all, as Java, Sarama and kafkajs":         {0, 0, 0},
		"one for the coordinator, as librdkafka":           {0, 1, 1},
		"one for batches, as franz-go":                     {0, 1, 0},
		"one for each kind, opened in another order":       {2, 0, 1},
		"one for the coordinator, opened after the others": {1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(8) {
				inBubble(t, nil, func(h *house) {
					c := &laneClient{h: h, dice: rand.New(rand.NewPCG(seed, 21)), pick: func(lane int) int { return lanes[lane] }, moods: 8}
					c.run(3)
					if c.lost > 0 {
						t.Errorf("seed %d: %d connections were closed", seed, c.lost)
					}
				})
			}
		})
	}
}

// TestAPoolOfConnections: a client takes any of its connections for any request. It may find one closed, and comes through
// with another.
func TestAPoolOfConnections(t *testing.T) {
	for seed := range uint64(4) {
		inBubble(t, nil, func(h *house) {
			dice := rand.New(rand.NewPCG(seed, 22))
			c := &laneClient{h: h, dice: dice, pick: func(int) int { return dice.IntN(3) }}
			c.run(3)
			if c.lost == 0 {
				t.Error("no connection was closed")
			}
			h.must(retrying(c.begin)) // the broker knows the id
			t.Logf("seed %d: %d connections were closed", seed, c.lost)
		})
	}
}
