package broker

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// two are two members in one generation, the second with an instance id.
func (h *house) two(group string) (dynamic, static *member) {
	h.t.Helper()
	dynamic, static = h.member(group, []byte("d")), h.member(group, []byte("s"))
	static.instance = kmsg.StringPtr("i-1")
	results := make(chan error, 2)
	for _, m := range []*member{dynamic, static} {
		go func() { results <- m.stay(time.Now(), time.Second, echo) }()
	}
	for range 2 {
		if err := <-results; err != nil {
			h.t.Fatal(err)
		}
	}
	return dynamic, static
}

// R-D6, FR-G3: a static member that comes back keeps its assignment without a round, its old id is fenced, and its new id
// is known after a restart of the broker.
func TestAStaticMemberComesBack(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		dynamic, static := h.two("g")
		generation, was, assignment := static.generation, static.id, static.assignment
		back := h.member("g", []byte("s"))
		back.instance = static.instance
		if err := back.join(); err != nil {
			t.Fatal(err)
		}
		if err := back.sync(echo); err != nil {
			t.Fatal(err)
		}
		if back.generation != generation || back.id == was || !bytes.Equal(back.assignment, assignment) {
			t.Errorf("%s in generation %d got %q; it was %s in %d with %q", back.id, back.generation, back.assignment, was, generation, assignment)
		}
		if err := static.heartbeat(); err != kerr.FencedInstanceID {
			t.Errorf("the old id: %v", err)
		}
		if err := dynamic.heartbeat(); err != nil {
			t.Errorf("the other member: %v", err)
		}
		h.restart()
		dynamic.w, back.w, static.w = h.wire(), h.wire(), h.wire()
		for _, m := range []*member{dynamic, back} {
			if err := retrying(m.heartbeat); err != nil {
				t.Errorf("%s after a restart: %v", m.id, err)
			}
		}
		if err := static.heartbeat(); err != kerr.FencedInstanceID {
			t.Errorf("the old id after a restart: %v", err)
		}
	})
}

// R-D16: offsets, their metadata and leader epochs, and the group itself outlive the broker; members go on where they were.
func TestGroupsOutliveTheBroker(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("t", 3)
		dynamic, static := h.two("g")
		for p, m := range []*member{dynamic, static} {
			if err := commitOffset(m.w, "g", m, "t", int32(p), int64(40+p)); err != nil {
				t.Fatal(err)
			}
		}
		if err := commitOffset(dynamic.w, "alone", nil, "t", 2, 7); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			h.restart()
			w := h.wire()
			for _, c := range []struct {
				group     string
				partition int32
				want      int64
			}{{"g", 0, 40}, {"g", 1, 41}, {"g", 2, -1}, {"alone", 2, 7}, {"nobody", 0, -1}} {
				err := retrying(func() error {
					got, err := committedOffset(w, c.group, "t", c.partition)
					if err == nil && got != c.want {
						t.Errorf("%s, partition %d: %d, want %d", c.group, c.partition, got, c.want)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
			if err := sameMembers(h.describe("g"), []*member{dynamic, static}); err != nil {
				t.Error(err)
			}
		}
		dynamic.w = h.wire()
		if err := commitOffset(dynamic.w, "g", dynamic, "t", 0, 50); err != nil {
			t.Errorf("a member commits after two restarts: %v", err)
		}
	})
}

// FR-B11: the round ends when the last member that was missing has gone, not at the rebalance timeout.
func TestARoundEndsWhenTheLastAbsenteeGoes(t *testing.T) {
	for _, goes := range []string{"leaves", "expires"} {
		inBubble(t, nil, func(h *house) {
			a, b := h.member("g", []byte("a")), h.member("g", []byte("b"))
			b.session = 6 * time.Second
			results := make(chan error, 3)
			for _, m := range []*member{a, b} {
				go func() { results <- m.stay(time.Now(), time.Second, echo) }()
			}
			for range 2 {
				if err := <-results; err != nil {
					t.Fatal(err)
				}
			}
			c := h.member("g", []byte("c"))
			began := time.Now()
			go func() { results <- c.join() }()
			synctest.Wait()
			if err := a.heartbeat(); err != kerr.RebalanceInProgress {
				t.Fatalf("heartbeat: %v", err)
			}
			go func() { results <- a.join() }()
			synctest.Wait()
			if goes == "leaves" {
				if err := b.leave(); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := <-results; err != nil {
					t.Fatal(err)
				}
			}
			if took, most := time.Since(began), 7*time.Second; took > most {
				t.Errorf("it %s, and the round took %v", goes, took)
			}
			if a.generation != 2 || c.generation != 2 {
				t.Errorf("generations %d and %d", a.generation, c.generation)
			}
		})
	}
}

// FR-C13: what one connection has committed, another reads, at once and always.
func TestCommittedOffsetsAreReadAtOnce(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("t", 1)
		writer, reader := h.wire(), h.wire()
		for n := range int64(1000) {
			if err := retrying(func() error { return commitOffset(writer, "g", nil, "t", 0, n) }); err != nil {
				t.Fatal(err)
			}
			if n%250 == 249 {
				h.restart()
				writer, reader = h.wire(), h.wire()
			}
			err := retrying(func() error {
				got, err := committedOffset(reader, "g", "t", 0)
				if err == nil && got != n {
					t.Fatalf("committed %d, read %d", n, got)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// R-D20: the offsets of a topic go with it, and do not come back with another of its name.
func TestOffsetsGoWithTheirTopic(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("t", 1)
		h.createTopic("other", 1)
		w := h.wire()
		for _, topic := range []string{"t", "other"} {
			if err := commitOffset(w, "g", nil, topic, 0, 5); err != nil {
				t.Fatal(err)
			}
		}
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames = []string{"t"}
		if resp, err := ask[*kmsg.DeleteTopicsResponse](w, req); err != nil || resp.Topics[0].ErrorCode != 0 {
			t.Fatal(resp, err)
		}
		h.createTopic("t", 1)
		for range 2 {
			for topic, want := range map[string]int64{"t": -1, "other": 5} {
				err := retrying(func() error {
					got, err := committedOffset(w, "g", topic, 0)
					if err == nil && got != want {
						t.Errorf("%s: %d, want %d", topic, got, want)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
			h.restart()
			w = h.wire()
		}
	})
}

// The commits of one connection may be under way together, also while the topic of the groups is made, and the last one that
// is taken stands.
func TestCommitsOfAConnectionStayInOrder(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.logger = slog.New(yielding{slog.DiscardHandler}) // others come in between when the topic has been made
		h.restart()
		h.createTopic("t", 1)
		last := int64(-1)
		for range 5 {
			w := h.wire()
			const n = 100
			for i := range int64(n) {
				if err := w.send(commitOf("g", nil, "t", 0, i)); err != nil {
					t.Fatal(err)
				}
			}
			for i := range int64(n) {
				resp, err := w.receive()
				if err == nil {
					err = failed(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
				}
				switch err {
				case nil:
					last = i
				case kerr.CoordinatorLoadInProgress:
				default:
					t.Fatalf("commit %d: %v", i, err)
				}
			}
			err := retrying(func() error {
				got, err := committedOffset(w, "g", "t", 0)
				if err == nil && got != last {
					t.Errorf("offset %d, want %d", got, last)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
}

// yielding is a logger that lets others go first whenever something is logged.
type yielding struct{ slog.Handler }

func (yielding) Enabled(context.Context, slog.Level) bool { return true }

func (yielding) Handle(context.Context, slog.Record) error {
	for range 1000 {
		runtime.Gosched()
	}
	return nil
}
