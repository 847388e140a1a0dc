package broker

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/vfs"
)

// Everything at once, again and again on one disk: members of every kind come, commit and go, while the disk is full now and then,
// their topics and the topic of all groups are deleted, and in the midst the broker ends. Nobody is left without an answer or the
// end of his connection, nothing panics and nothing stays behind: a goroutine that did would keep the bubble from ending.
func TestGroupsInUproar(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { uproar(t, seed) })
		})
	}
}

func uproar(t *testing.T, seed uint64) {
	var logs strings.Builder
	h := &house{
		t: t, disk: vfs.NewMemory(), logger: slog.New(slog.NewTextHandler(&logs, nil)),
		settings: map[string]string{"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "3"},
	}
	h.faults = vfs.NewFaults(h.disk)
	for round := range uint64(6) {
		h.open()
		dice := rand.New(rand.NewPCG(seed, round))
		var clients sync.WaitGroup
		for i := range 12 {
			clients.Go(func() { h.misbehave(i, rand.New(rand.NewPCG(seed, round<<8+uint64(i)))) })
		}
		clients.Go(func() { h.disturb(rand.New(rand.NewPCG(seed, round<<8+100))) })
		pass(time.Duration(dice.IntN(int(90 * time.Second))))
		h.shutdown()
		clients.Wait()
		h.faults.FakeSpace(nil)
	}
	for _, wrong := range []string{"panicked", "does not wait"} {
		if strings.Contains(logs.String(), wrong) {
			t.Errorf("the log says %q:\n%s", wrong, logs.String())
		}
	}
}

// misbehave is a client that does one thing after the other until its broker is gone.
func (h *house) misbehave(number int, dice *rand.Rand) {
	w, err := dial(h.b)
	if err != nil {
		return
	}
	defer w.close()
	m := &member{w: w, group: fmt.Sprint("group ", number%4), session: 6 * time.Second, rebalance: time.Duration(dice.IntN(20)) * time.Second}
	m.offers = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{byte(number)}}}
	if number%3 == 0 {
		m.instance = kmsg.StringPtr(fmt.Sprint("instance ", number%2))
	}
	for {
		var err error
		switch dice.IntN(8) {
		case 0, 1:
			if err = m.join(); err == nil {
				err = m.sync(echo)
			}
		case 2:
			err = m.heartbeat()
		case 3:
			err = commitOffset(w, m.group, m, "t", 0, dice.Int64N(100))
		case 4:
			_, err = committedOffset(w, m.group, "t", 0)
		case 5:
			err = m.leave()
		case 6:
			m.id = ""
		case 7:
			_, err = ask[*kmsg.DescribeGroupsResponse](w, &kmsg.DescribeGroupsRequest{Groups: []string{m.group, "group 1"}})
		}
		if refused := (*kerr.Error)(nil); err != nil && !errors.As(err, &refused) {
			return
		}
		pass(time.Duration(dice.IntN(3000)) * time.Millisecond)
	}
}

// disturb does to a broker what no group expects.
func (h *house) disturb(dice *rand.Rand) {
	w, err := dial(h.b)
	if err != nil {
		return
	}
	defer w.close()
	for err == nil {
		pass(time.Duration(dice.IntN(5000)) * time.Millisecond)
		name := []string{"t", offsetsTopic}[dice.IntN(2)]
		switch dice.IntN(5) {
		case 0:
			_, err = ask[*kmsg.DeleteTopicsResponse](w, &kmsg.DeleteTopicsRequest{TopicNames: []string{name}, Topics: []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}})
		case 1, 2:
			_, err = ask[*kmsg.CreateTopicsResponse](w, &kmsg.CreateTopicsRequest{Topics: []kmsg.CreateTopicsRequestTopic{{Topic: "t", NumPartitions: 1, ReplicationFactor: 1}}})
		case 3:
			h.faults.FakeSpace(&vfs.Space{Total: 1 << 40, Free: 1})
		case 4:
			h.faults.FakeSpace(nil)
		}
	}
}
