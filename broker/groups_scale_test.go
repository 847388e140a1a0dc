package broker

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// crowdOf lets so many members join within spread and stay for a while, and returns them.
func (h *house) crowdOf(n int, spread, stay time.Duration, metadata []byte, plan func(id string) []byte) []*member {
	h.t.Helper()
	members, results := make([]*member, n), make([]error, n)
	until := time.Now().Add(stay)
	var all sync.WaitGroup
	for i := range n {
		members[i] = h.member("crowd", metadata)
		all.Go(func() {
			pass(spread * time.Duration(i) / time.Duration(n))
			results[i] = members[i].stay(until, 3*time.Second, plan)
		})
	}
	all.Wait()
	if err := errors.Join(results...); err != nil {
		h.t.Fatal(err)
	}
	return members
}

// oneGeneration checks that all members are in the same one, which is at most highest.
func (h *house) oneGeneration(members []*member, highest int32) {
	h.t.Helper()
	g := members[0].generation
	for _, m := range members {
		if m.generation != g {
			h.t.Fatalf("members of generations %d and %d", g, m.generation)
		}
	}
	if g > highest {
		h.t.Errorf("%d members took %d generations, want at most %d", len(members), g, highest)
	}
}

// FR-B7, R-D7: a thousand members that start within two seconds take two generations at most, with the default
// group.initial.rebalance.delay.ms.
func TestAStormOfMembersTakesTwoGenerations(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		members := h.crowdOf(1000, 2*time.Second, 20*time.Second, []byte("m"), echo)
		h.oneGeneration(members, 2)
		if err := sameMembers(h.describe("crowd"), members); err != nil {
			t.Error(err)
		}
	})
}

// FR-B10: a great many members on a great many partitions become Stable, are described, and outlive the broker.
func TestAVastGroupIsStableAndDescribed(t *testing.T) {
	n, partitions := 7000, 20_000
	if underRace || testing.Short() {
		n, partitions = 500, 2000
	}
	inBubble(t, nil, func(h *house) {
		next := 0
		plan := func(string) []byte {
			a := kmsg.NewConsumerMemberAssignment()
			topic := kmsg.NewConsumerMemberAssignmentTopic()
			topic.Topic = "a-topic-with-a-name-of-some-length"
			for range (partitions + n - 1) / n {
				topic.Partitions = append(topic.Partitions, int32(next%partitions))
				next++
			}
			a.Topics = append(a.Topics, topic)
			return a.AppendTo(nil)
		}
		subscription := kmsg.NewConsumerMemberMetadata()
		subscription.Topics = []string{"a-topic-with-a-name-of-some-length"}
		began := time.Now()
		members := h.crowdOf(n, time.Second, 30*time.Second, subscription.AppendTo(nil), plan)
		h.oneGeneration(members, 2)
		if err := sameMembers(h.describe("crowd"), members); err != nil {
			t.Error(err)
		}
		t.Logf("%d members on %d partitions, after %v of the broker's time", n, partitions, time.Since(began))
		h.restart()
		if err := sameMembers(h.describe("crowd"), members); err != nil {
			t.Errorf("after a restart: %v", err)
		}
	})
}

// A group's record may be larger than max.message.bytes and than a mebibyte; Kafka 4.4 fails there.
func TestAGroupRecordMayBeLarge(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		assignment := bytes.Repeat([]byte("assigned"), 500)
		members := h.crowdOf(300, time.Second, 10*time.Second, bytes.Repeat([]byte("offered "), 500), func(id string) []byte {
			return append([]byte(id), assignment...)
		})
		h.restart()
		if err := sameMembers(h.describe("crowd"), members); err != nil {
			t.Fatal(err)
		}
		m := members[7]
		m.w = h.wire()
		if err := m.heartbeat(); err != nil {
			t.Errorf("a member after the restart: %v", err)
		}
	})
}

// FR-B8: nothing happens to a group in which nothing happens.
func TestAnIdleGroupKeepsItsGeneration(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		members := h.crowdOf(3, time.Second, time.Hour, []byte("m"), echo)
		h.oneGeneration(members, 1)
	})
}

// Members wait in a table: a broker with many of them parked shuts down at once, and so does one with members that idle.
func TestShutdownWithAThousandParked(t *testing.T) {
	inBubble(t, map[string]string{"group.initial.rebalance.delay.ms": "300000"}, func(h *house) {
		const n = 1000
		codes := make(chan error, n)
		for i := range n {
			m := h.member(fmt.Sprint("group ", i%10), []byte("m"))
			m.rebalance = 10 * time.Minute
			go func() { codes <- m.join() }()
		}
		pass(10 * time.Second)
		began := time.Now()
		h.shutdown()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		for range n {
			if err := <-codes; err == nil {
				t.Error("a member has joined")
			}
		}
		h.open()
	})
}
