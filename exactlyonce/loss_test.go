//go:build synctests

package exactlyonce

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// thief takes the first request of a kind, or its answer, and some of those that follow, and with each the connection.
type thief struct {
	node  *node
	key   kmsg.Key
	after bool // the answer: the broker has done it
	every int
	slow  time.Duration // answers come that late, and none is taken

	mu   sync.Mutex
	seen int
}

func (th *thief) takes() bool {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.seen++
	return th.seen%th.every == 1
}

func (th *thief) dial(ctx context.Context, network, address string) (net.Conn, error) {
	broker, err := th.node.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	client, inside := net.Pipe()
	var mu sync.Mutex
	taken := map[uint32]bool{} // correlation ids of answers to take
	pass := func(to, from net.Conn, keep func([]byte) bool) {
		for frame, err := nextFrame(from); err == nil && keep(frame[4:]); frame, err = nextFrame(from) {
			if _, err = to.Write(frame); err != nil {
				break
			}
		}
		_, _ = to.Close(), from.Close()
	}
	go pass(broker, inside, func(frame []byte) bool {
		if kmsg.Key(binary.BigEndian.Uint16(frame)) != th.key || th.slow == 0 && !th.takes() {
			return true
		}
		mu.Lock()
		defer mu.Unlock()
		taken[binary.BigEndian.Uint32(frame[4:])] = true
		return th.after || th.slow > 0
	})
	go pass(inside, broker, func(frame []byte) bool {
		mu.Lock()
		is := taken[binary.BigEndian.Uint32(frame)]
		mu.Unlock()
		if is && th.slow > 0 {
			<-time.After(th.slow)
			return true
		}
		return !is
	})
	return client, nil
}

func nextFrame(r io.Reader) ([]byte, error) {
	size := make([]byte, 4)
	if _, err := io.ReadFull(r, size); err != nil {
		return nil, err
	}
	frame := append(size, make([]byte, binary.BigEndian.Uint32(size))...)
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// TestWhatIsLostIsDoneOnce is R-F1 and FR-H4: whatever is not answered, each record has its effect once, and what is told of transactions is true. It
// is so under both kinds of transactions: before Kafka 4.0 partitions are added to them by hand (KIP-890).
func TestWhatIsLostIsDoneOnce(t *testing.T) {
	members := []kmsg.Key{kmsg.Fetch, kmsg.OffsetFetch, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat}
	transactions := []kmsg.Key{kmsg.Produce, kmsg.InitProducerID, kmsg.TxnOffsetCommit, kmsg.EndTxn}
	for _, c := range []struct {
		release string
		keys    []kmsg.Key
	}{
		{"", append(members, transactions...)},
		{"3.9", append(transactions, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn)},
	} {
		for _, key := range c.keys {
			for loss, after := range map[string]bool{"request": false, "answer": true} {
				t.Run(c.release+kmsg.NameForKey(int16(key))+"/"+loss, func(t *testing.T) {
					inBubbleOf(t, c.release, 4, func(w *world) { w.loses(key, after) })
				})
			}
		}
	}
}

func (w *world) loses(key kmsg.Key, after bool) {
	th := &thief{key: key, after: after, every: 3, node: &node{w: w}}
	cfg := w.config()
	cfg.Consumer.Cluster.Dial = th.dial
	a, b := w.runs("a", cfg, nil), w.runs("b", w.config(), nil)
	for range 20 {
		w.writes(3)
		pass(400 * time.Millisecond)
	}
	pass(40 * time.Second)
	w.judges()
	if th.mu.Lock(); th.seen == 0 {
		w.t.Error("nothing was taken")
	}
	th.mu.Unlock()
	a.quit()
	w.ok(<-a.err)
	b.ends()
}
