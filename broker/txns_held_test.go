package broker

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWhoHoldsUpCommittedReaders is in the metrics: the partitions, for how long, and whose transaction it is.
func TestWhoHoldsUpCommittedReaders(t *testing.T) {
	inBubble(t, map[string]string{"transaction.partition.verification.enable": "false"}, func(h *house) {
		h.createTopic("a", 2)
		h.createTopic("b", 1)
		first := h.begun("first", 15*time.Minute, "x", partitionName{"a", 0}, partitionName{"a", 1})
		pass(20 * time.Second)
		second := h.begun("sec\xffond", 15*time.Minute, "y", partitionName{"a", 0})
		h.openUnknown(partitionName{"b", 0}, 4711)
		pass(9 * time.Second)
		held := func(topic string, partition int, producer int64, id string, seconds int) string {
			return fmt.Sprintf(`skein_log_unstable_seconds{partition="%d",producer_id="%d",topic="%s",transactional_id="%s"} %d`, partition, producer, topic, id, seconds)
		}
		expectMetrics(t, h.b, held("a", 0, first.producer, "first", 29), held("a", 1, first.producer, "first", 29))
		if n := strings.Count(scrape(h.b), "skein_log_unstable_seconds{"); n != 2 {
			t.Errorf("%d partitions: what has just begun is nobody's trouble", n)
		}
		h.must(first.end(true))
		pass(time.Second)
		expectMetrics(t, h.b, held("a", 0, second.producer, "sec\uFFFDond", 10), held("b", 0, 4711, "", 10))
		h.must(second.end(false))
		pass(time.Minute)
		if n := strings.Count(scrape(h.b), "skein_log_unstable_seconds{"); n != 1 {
			t.Errorf("%d partitions", n)
		}
	})
}

// TestTheMetricsOfWhoHoldsUpReadersAreFew: each is a time series.
func TestTheMetricsOfWhoHoldsUpReadersAreFew(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("old", 3)
		h.createTopic("young", 20)
		h.begun("old", 15*time.Minute, "x", partitionName{"old", 0}, partitionName{"old", 1}, partitionName{"old", 2})
		pass(time.Second)
		var all []partitionName
		for i := range int32(20) {
			all = append(all, partitionName{"young", i})
		}
		h.begun("young", 15*time.Minute, "y", all...)
		pass(time.Minute)
		now := h.b.txns.metrics().Held
		if len(now) != heldMost {
			t.Fatalf("%d: %+v", len(now), now)
		}
		for i, of := range now {
			if want := map[bool]string{true: "old", false: "young"}[i < 3]; of.TransactionalID != want || of.Topic != want || of.Partition != int32(i%3) && i < 3 {
				t.Errorf("%d: %+v", i, of)
			}
		}
	})
}
