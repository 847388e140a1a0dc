package broker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/record"
)

// adminWrites appends records to a partition of the topic of groups, as only a client of that name may.
func (h *house) adminWrites(index int32, pairs ...[2][]byte) {
	h.t.Helper()
	b := record.NewBuilder(0)
	for _, p := range pairs {
		b.Append(time.Now().UnixMilli(), p[0], p[1])
	}
	w := h.wire()
	p := &toProduce{topic: offsetsTopic, index: index, batch: b.Bytes()}
	req := produceRequest(p)
	req.SetVersion(w.version(req.Key()))
	w.sent, w.next = append(w.sent, req), w.next+1
	_, err := w.conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("__admin_client")).AppendRequest(nil, req, w.next))
	if err != nil {
		h.t.Fatal(err)
	}
	resp, err := w.receive()
	if err == nil {
		err = p.take(resp.(*kmsg.ProduceResponse))
	}
	if err != nil || p.code != 0 {
		h.t.Fatalf("writing to partition %d: %v, code %d", index, err, p.code)
	}
}

// Kafka lets an admin write into the topic of groups, and so do we. The coordinators take it for a change of their log that they
// have not made, read it again, and pass over what is no record of theirs: groups go on, with what was written.
func TestRecordsOfStrangersInTheTopicOfGroups(t *testing.T) {
	inBubble(t, map[string]string{"offsets.topic.num.partitions": "2"}, func(h *house) {
		h.createTopic("t", 1)
		for _, g := range []string{"a", "b", "c", "d"} {
			h.commits(g, "t", 1)
		}
		m := h.member("a", []byte("m"))
		if err := m.join(); err != nil {
			t.Fatal(err)
		}
		if err := m.sync(echo); err != nil {
			t.Fatal(err)
		}
		key := kmsg.OffsetCommitKey{Version: 1, Group: "a", Topic: "t"}
		value := kmsg.OffsetCommitValue{Version: 3, Offset: 7, LeaderEpoch: 3, Metadata: "at 7"}
		k, v := key.AppendTo(nil), value.AppendTo(nil)
		for index := range int32(2) {
			h.adminWrites(index, [2][]byte{{0, 9, 1}, []byte("x")}, [2][]byte{k, v}, [2][]byte{k, v[:5]}, [2][]byte{{0, 2, 0, 200}, {0}}, [2][]byte{{0}, k})
		}
		for _, g := range []string{"b", "c", "d"} {
			h.commits(g, "t", 2)
			h.expectOffset(g, "t", 2)
		}
		if err := retrying(func() error { return commitOffset(m.w, "a", m, "t", 0, 8) }); err != nil {
			t.Errorf("a member: %v", err)
		}
		h.expectOffset("a", "t", 8)
		h.restart()
		h.expectOffset("a", "t", 8)
		h.expectOffset("d", "t", 2)
	})
}
