package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog/catalogtest"
)

// summary is an answer as a line: the session or error, then topic, partition, error, high watermark and number of records.
func summary(t testing.TB, resp *kmsg.FetchResponse, session int32) string {
	t.Helper()
	var b strings.Builder
	switch {
	case resp.ErrorCode != 0:
		fmt.Fprintf(&b, "error %d", resp.ErrorCode)
	case resp.SessionID == session && session != 0:
		b.WriteString("session")
	case resp.SessionID == 0:
		b.WriteString("none")
	default:
		b.WriteString("new")
	}
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			fmt.Fprintf(&b, " %d:", p.Partition)
			if p.ErrorCode != 0 {
				fmt.Fprintf(&b, "error %d", p.ErrorCode)
				continue
			}
			fmt.Fprintf(&b, "%d/%d", p.HighWatermark, len(valuesIn(t, p.RecordBatches)))
		}
	}
	return b.String()
}

// sessionTest is a consumer of one session.
type sessionTest struct {
	*testBroker
	version   int16
	id, epoch int32
}

func (s *sessionTest) request(from ...fetchFrom) *kmsg.FetchRequest {
	req := s.fetchOf(s.version, from...)
	req.SessionID, req.SessionEpoch = s.id, s.epoch
	return req
}

func (s *sessionTest) forget(req *kmsg.FetchRequest, partitions ...int32) *kmsg.FetchRequest {
	f := kmsg.NewFetchRequestForgottenTopic()
	f.Topic, f.TopicID, f.Partitions = "t", s.topicID("t"), partitions
	req.ForgottenTopics = append(req.ForgottenTopics, f)
	return req
}

// expect sends a request, compares the answer, and goes on to the next epoch.
func (s *sessionTest) expect(step string, req *kmsg.FetchRequest, want string) {
	s.t.Helper()
	resp := s.fetched(req)
	if got := summary(s.t, resp, s.id); got != want {
		s.t.Errorf("v%d %s: %s, want %s", s.version, step, got, want)
	}
	if resp.ErrorCode == 0 {
		s.id = resp.SessionID
		s.epoch++
	}
}

// TestFetchSession is T25 and KIP-227, step by step as Kafka 4.4 answered them.
func TestFetchSession(t *testing.T) {
	for _, version := range []int16{7, 12, 13} {
		inBroker(t, nil, func(b *testBroker) {
			b.create(topic("t", 3, 1))
			other := b.another()
			s := &sessionTest{testBroker: b, version: version}
			s.expect("new", s.request(fetchFrom{"t", 0, 0}, fetchFrom{"t", 1, 0}, fetchFrom{"t", 2, 0}), "new 0:0/0 1:0/0 2:0/0")
			s.expect("nothing new", s.request(), "session")
			wrong := s.request()
			wrong.SessionEpoch--
			s.expect("an old epoch", wrong, "error 71")
			unknown := s.request()
			unknown.SessionID++
			s.expect("an unknown session", unknown, "error 70")
			family := s.request()
			family.Version = map[bool]int16{true: 13, false: 12}[version < fetchTopicID]
			s.expect("the other way to name topics", family, "error 106")
			other.wrote("t", 1, records("a"))
			s.expect("records in one", s.request(), "session 1:1/1")
			s.expect("they come until the client goes on", s.request(), "session 1:1/1")
			other.wrote("t", 0, records("b"))
			s.expect("who had records goes last", s.request(), "session 0:1/1 1:1/1")
			s.expect("and again", s.request(), "session 0:1/1 1:1/1")
			s.expect("out of range, and a partition that is not there", s.request(fetchFrom{"t", 1, 99}, fetchFrom{"t", 7, 0}), "session 0:1/1 1:error 1 7:error 3")
			s.expect("errors are sent again", s.request(), "session 1:error 1 0:1/1 7:error 3")
			s.expect("forgotten ones are not", s.forget(s.request(), 0, 7), "session 1:error 1")
			s.expect("what follows an error is told", s.request(fetchFrom{"t", 1, 1}), "session 1:1/0")
			s.expect("once", s.request(), "session")
			s.expect("without partitions it ends", s.forget(s.request(), 1, 2), "none")
			s.id, s.epoch = 5, 1
			s.expect("gone", s.request(), "error 70")
		})
	}
}

// TestFetchSessionEndsWithAFullRequest, whether that asks for a new one or not.
func TestFetchSessionEndsWithAFullRequest(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		for _, epoch := range []int32{0, -1} {
			s := &sessionTest{testBroker: b, version: 11}
			s.expect("new", s.request(fetchFrom{"t", 0, 0}), "new 0:0/0")
			old := s.id
			s.epoch = epoch
			s.expect("full", s.request(fetchFrom{"t", 0, 0}), map[int32]string{0: "new 0:0/0", -1: "none 0:0/0"}[epoch])
			s.id, s.epoch = old, 1
			s.expect("the old one", s.request(), "error 70")
		}
	})
}

func TestFetchWithoutRoomForASession(t *testing.T) {
	inBroker(t, map[string]string{"max.incremental.fetch.session.cache.slots": "0"}, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		s := &sessionTest{testBroker: b, version: 11}
		s.expect("new", s.request(fetchFrom{"t", 0, 0}), "none 0:0/0")
	})
}

// TestFetchSessionOfARecreatedTopic is T13: the id is another topic's now.
func TestFetchSessionOfARecreatedTopic(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		byID := &sessionTest{testBroker: b, version: 13}
		byID.expect("new", byID.request(fetchFrom{"t", 0, 0}), "new 0:0/0")
		byName := &sessionTest{testBroker: b, version: 12}
		byName.expect("new", byName.request(fetchFrom{"t", 0, 0}), "new 0:0/0")
		unknown := &sessionTest{testBroker: b, version: 13}
		unknown.expect("new", unknown.request(fetchFrom{"nope", 0, 0}), fmt.Sprintf("new 0:error %d", kerr.UnknownTopicID.Code))
		if err := catalogtest.DeleteTopic(context.Background(), b.Catalog, b.topicID("t")); err != nil {
			t.Fatal(err)
		}
		gone := fmt.Sprintf("session 0:error %d", kerr.UnknownTopicOrPartition.Code)
		byID.expect("deleted", byID.request(), gone)
		byName.expect("deleted", byName.request(), gone)
		b.create(topic("t", 1, 1))
		byID.expect("made again", byID.request(), fmt.Sprintf("session 0:error %d", kerr.InconsistentTopicID.Code))
		byName.expect("made again", byName.request(), "session 0:0/0")
		unknown.expect("still unknown", unknown.request(), fmt.Sprintf("session 0:error %d", kerr.UnknownTopicID.Code))
	})
}

// waited sends a request that may wait and returns the answer and for how long it did.
func (b *testBroker) waited(req *kmsg.FetchRequest, most time.Duration) (*kmsg.FetchResponse, time.Duration) {
	b.t.Helper()
	req.MaxWaitMillis = int32(most.Milliseconds())
	began := time.Now()
	return b.fetched(req), time.Since(began)
}

// later runs fn after a while, beside the test. The test waits for its end with what is returned.
func later(d time.Duration, fn func()) (ended func()) {
	done := make(chan struct{})
	time.AfterFunc(d, func() {
		defer close(done)
		fn()
	})
	return func() { <-done }
}

// TestFetchWaits is T26: until there is enough over all partitions, or the time is up.
func TestFetchWaits(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 2, 1))
		other := b.another()
		size := int32(len(records("a")))
		both := []fetchFrom{{"t", 0, 0}, {"t", 1, 0}}
		if _, took := b.waited(b.fetchOf(11, both...), time.Second); took != time.Second {
			t.Errorf("without records it took %v", took)
		}
		ended := later(300*time.Millisecond, func() { other.wrote("t", 1, records("a")) })
		resp, took := b.waited(b.fetchOf(11, both...), time.Second)
		ended()
		if got := summary(t, resp, 0); got != "none 0:0/0 1:1/1" || took != 300*time.Millisecond {
			t.Errorf("records came: %s after %v", got, took)
		}
		enough := b.fetchOf(11, both...)
		enough.MinBytes = 2 * size
		ended = later(300*time.Millisecond, func() { other.wrote("t", 0, records("b")) })
		resp, took = b.waited(enough, time.Second)
		ended()
		if got := summary(t, resp, 0); got != "none 0:1/1 1:1/1" || took != 300*time.Millisecond {
			t.Errorf("enough in both: %s after %v", got, took)
		}
		enough.MinBytes = 3 * size
		if resp, took = b.waited(enough, time.Second); took != time.Second || summary(t, resp, 0) != "none 0:1/1 1:1/1" {
			t.Errorf("never enough: %s after %v", summary(t, resp, 0), took)
		}
		enough.MaxBytes = 2 * size // min_bytes counts as far as the answer can hold them
		if _, took = b.waited(enough, time.Second); took != 0 {
			t.Errorf("a full answer took %v", took)
		}
	})
}

// TestFetchDoesNotWait is the other half of T26.
func TestFetchDoesNotWait(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 3, 1))
		b.wrote("t", 2, records("a"))
		for _, test := range []struct {
			name     string
			minBytes int32
			from     []fetchFrom
		}{
			{"no bytes wanted", 0, []fetchFrom{{"t", 0, 0}}},
			{"an offset out of range", 1, []fetchFrom{{"t", 0, 0}, {"t", 1, 5}}},
			{"an unknown partition", 1, []fetchFrom{{"t", 0, 0}, {"t", 9, 0}}},
			{"an unknown topic", 1, []fetchFrom{{"t", 0, 0}, {"nope", 0, 0}}},
			{"no partitions", 1, nil},
			{"records enough", 1, []fetchFrom{{"t", 0, 0}, {"t", 2, 0}}},
		} {
			req := b.fetchOf(11, test.from...)
			req.MinBytes = test.minBytes
			if _, took := b.waited(req, time.Second); took != 0 {
				t.Errorf("%s: it took %v", test.name, took)
			}
		}
		req := b.fetchOf(11, fetchFrom{"t", 0, 0})
		if _, took := b.waited(req, -time.Second); took != 0 {
			t.Errorf("a negative wait took %v", took)
		}
	})
}

// TestFetchSessionDeltaDoesNotWait: a partition that the session has not told of is answered at once.
func TestFetchSessionDeltaDoesNotWait(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 2, 1))
		s := &sessionTest{testBroker: b, version: 12}
		s.expect("new", s.request(fetchFrom{"t", 0, 0}), "new 0:0/0")
		resp, took := b.waited(s.request(fetchFrom{"t", 1, 0}), time.Second)
		if got := summary(t, resp, s.id); got != "session 1:0/0" || took != 0 {
			t.Errorf("one more partition: %s after %v", got, took)
		}
		s.epoch++
		resp, took = b.waited(s.request(), time.Second)
		if got := summary(t, resp, s.id); got != "session" || took != time.Second {
			t.Errorf("nothing new: %s after %v", got, took)
		}
	})
}

// TestFetchWakesOnDeletion: who waits for a partition that goes hears of it.
func TestFetchWakesOnDeletion(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		id := b.topicID("t")
		ended := later(300*time.Millisecond, func() { _ = catalogtest.DeleteTopic(context.Background(), b.Catalog, id) })
		resp, took := b.waited(b.fetchOf(11, fetchFrom{"t", 0, 0}), time.Second)
		ended()
		if got := summary(t, resp, 0); got != "none 0:error 3" || took != 300*time.Millisecond {
			t.Errorf("%s after %v", got, took)
		}
	})
}

// TestFetchWaitEndsWithTheConnection, and the struct can be used by the next request.
func TestFetchWaitEndsWithTheConnection(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		for range 5 {
			leaver := b.another()
			req := b.fetchOf(11, fetchFrom{"t", 0, 0})
			req.MaxWaitMillis = 3600_000
			leaver.send(req)
			_ = leaver.conn.Close()
		}
		b.wrote("t", 0, records("a"))
		if p := only(t, b.fetched(b.fetchOf(11, fetchFrom{"t", 0, 0}))); !slices.Equal(valuesIn(t, p.RecordBatches), []string{"a"}) {
			t.Errorf("%+v", p)
		}
	})
}

// TestManyFetchesWaitAndAllAreAnswered by one append.
func TestManyFetchesWaitAndAllAreAnswered(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		answers := make(chan string)
		for range 50 {
			c := b.another()
			go func() {
				req := c.fetchOf(12, fetchFrom{"t", 0, 0})
				req.MaxWaitMillis = 3600_000
				answers <- summary(t, c.fetched(req), 0)
			}()
		}
		ended := later(time.Second, func() { b.wrote("t", 0, records("a")) })
		for range 50 {
			if got := <-answers; got != "none 0:1/1" {
				t.Errorf("%s", got)
			}
		}
		ended()
	})
}
