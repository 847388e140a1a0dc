package api

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/record"
)

// TestFetchGoldenBytes compares whole answers with those that Kafka 4.4 gave: an empty partition, an offset out of range,
// and partitions that do not exist. Records are empty, never null (T22); a failure has -1 for its offsets; the aborted list
// is null but where Kafka has it empty.
func TestFetchGoldenBytes(t *testing.T) {
	const none, zero = "ffffffffffffffff", "0000000000000000"
	name := hex.EncodeToString([]byte("t-3"))
	tests := []struct {
		name    string
		version int16
		of      fetchFrom
		want    string
	}{
		{"empty", 4, fetchFrom{"t-3", 0, 0}, "00000000 00000001 0003 " + name + " 00000001 00000000 0000" + zero + zero + "ffffffff 00000000"},
		{"empty", 5, fetchFrom{"t-3", 0, 0}, "00000000 00000001 0003 " + name + " 00000001 00000000 0000" + zero + zero + zero + "ffffffff 00000000"},
		{"empty", 7, fetchFrom{"t-3", 0, 0}, "00000000 0000 00000000 00000001 0003 " + name + " 00000001 00000000 0000" + zero + zero + zero + "ffffffff 00000000"},
		{"empty", 11, fetchFrom{"t-3", 0, 0}, "00000000 0000 00000000 00000001 0003 " + name + " 00000001 00000000 0000" + zero + zero + zero + "ffffffff ffffffff 00000000"},
		{"empty", 12, fetchFrom{"t-3", 0, 0}, "00 00000000 0000 00000000 02 04 " + name + " 02 00000000 0000" + zero + zero + zero + "00 ffffffff 01 00 00 00"},
		{"empty", 18, fetchFrom{"t-3", 0, 0}, "00 00000000 0000 00000000 02 ID 02 00000000 0000" + zero + zero + zero + "00 ffffffff 01 00 00 00"},
		{"out of range", 4, fetchFrom{"t-3", 0, 5}, "00000000 00000001 0003 " + name + " 00000001 00000000 0001" + none + none + "ffffffff 00000000"},
		{"out of range", 12, fetchFrom{"t-3", 0, 5}, "00 00000000 0000 00000000 02 04 " + name + " 02 00000000 0001" + none + none + none + "00 ffffffff 01 00 00 00"},
		{"unknown partition", 4, fetchFrom{"t-3", 7, 0}, "00000000 00000001 0003 " + name + " 00000001 00000007 0003" + none + none + "00000000 00000000"},
		{"unknown partition", 18, fetchFrom{"t-3", 7, 0}, "00 00000000 0000 00000000 02 ID 02 00000007 0003" + none + none + none + "01 ffffffff 01 00 00 00"},
		{"unknown topic", 11, fetchFrom{"x-3", 0, 0}, "00000000 0000 00000000 00000001 0003 " + hex.EncodeToString([]byte("x-3")) +
			" 00000001 00000000 0003" + none + none + none + "00000000 ffffffff 00000000"},
		{"unknown topic id (T13)", 13, fetchFrom{"x-3", 0, 0}, "00 00000000 0000 00000000 02" + strings.Repeat("00", 16) + "02 00000000 0064" + none + none + none + "01 ffffffff 01 00 00 00"},
	}
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t-3", 1, 1))
		id := b.topicID("t-3")
		for _, test := range tests {
			req := b.fetchOf(test.version, test.of)
			got := b.raw(1, test.version, req.IsFlexible(), req.AppendTo(nil))
			want := strings.NewReplacer(" ", "", "ID", hex.EncodeToString(id[:])).Replace(test.want)
			if hex.EncodeToString(got) != want {
				t.Errorf("%s v%d:\n got %x\nwant %s", test.name, test.version, got, want)
			}
		}
	})
}

func TestFetchReturnsWhatWasProducedInEveryVersion(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		b.wrote("t", 0, records("a", "b"), records("c"))
		for version := int16(fetchMin); version <= fetchMax; version++ {
			p := only(t, b.fetched(b.fetchOf(version, fetchFrom{"t", 0, 0})))
			if got := valuesIn(t, p.RecordBatches); !slices.Equal(got, []string{"a", "b", "c"}) || p.HighWatermark != 3 || p.LastStableOffset != 3 {
				t.Errorf("v%d: %q, %+v", version, got, p)
			}
			if p.AbortedTransactions != nil {
				t.Errorf("v%d: aborted transactions %v, want null (T23)", version, p.AbortedTransactions)
			}
		}
	})
}

// TestFetchFromTheMiddleOfABatch is T20: the whole batch is returned, and at the end nothing.
func TestFetchFromTheMiddleOfABatch(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		b.wrote("t", 0, records("a", "b"), records("c", "d"))
		for offset, want := range []int{4, 4, 2, 2, 0} {
			p := only(t, b.fetched(b.fetchOf(11, fetchFrom{"t", 0, int64(offset)})))
			if got := valuesIn(t, p.RecordBatches); len(got) != want || p.ErrorCode != 0 {
				t.Errorf("from %d: %q", offset, got)
			}
		}
	})
}

// TestFetchMaxBytes is T21: the first batch of the first partition that has any may be larger than every limit; whatever
// follows is cut to whole batches.
func TestFetchMaxBytes(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 3, 1))
		one := len(records("a"))
		b.wrote("t", 1, records("a"), records("b"), records("c"))
		b.wrote("t", 2, records("d"))
		all := []fetchFrom{{"t", 0, 0}, {"t", 1, 0}, {"t", 2, 0}}
		for _, test := range []struct {
			name             string
			maxBytes         int
			partitionMax     int
			second, third    int
			wantUnknownError bool
		}{
			{name: "no room at all", maxBytes: 0, partitionMax: 1 << 20, second: 1},
			{name: "room for one and a half", maxBytes: one * 3 / 2, partitionMax: 1 << 20, second: 1},
			{name: "room for two", maxBytes: 2 * one, partitionMax: 1 << 20, second: 2},
			{name: "room for four", maxBytes: 4 * one, partitionMax: 1 << 20, second: 3, third: 1},
			{name: "partitions are limited", maxBytes: 1 << 20, partitionMax: 1, second: 1},
			{name: "partitions are limited to one", maxBytes: 1 << 20, partitionMax: one, second: 1, third: 1},
			{name: "negative", maxBytes: 1 << 20, partitionMax: -1, wantUnknownError: true},
		} {
			req := b.fetchOf(11, all...)
			req.MaxBytes = int32(test.maxBytes)
			for i := range req.Topics {
				req.Topics[i].Partitions[0].PartitionMaxBytes = int32(test.partitionMax)
			}
			resp := b.fetched(req)
			parts := resp.Topics[0].Partitions
			if test.wantUnknownError {
				if parts[1].ErrorCode != kerr.UnknownServerError.Code {
					t.Errorf("%s: %+v", test.name, parts[1])
				}
				continue
			}
			if second, third := valuesIn(t, parts[1].RecordBatches), valuesIn(t, parts[2].RecordBatches); len(second) != test.second || len(third) != test.third {
				t.Errorf("%s: %q and %q, want %d and %d", test.name, second, third, test.second, test.third)
			}
		}
	})
}

// TestFetchBrokerLimit: fetch.max.bytes holds whatever the client asks for, but never for the first batch.
func TestFetchBrokerLimit(t *testing.T) {
	inBroker(t, map[string]string{"fetch.max.bytes": "1024"}, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		large := strings.Repeat("x", 2000)
		b.wrote("t", 0, records(large), records("a"))
		for offset, want := range []int{1, 1} {
			p := only(t, b.fetched(b.fetchOf(11, fetchFrom{"t", 0, int64(offset)})))
			if got := valuesIn(t, p.RecordBatches); len(got) != want {
				t.Errorf("from %d: %d records, want %d", offset, len(got), want)
			}
		}
	})
}

func TestFetchOffsetOutOfRange(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		b.wrote("t", 0, records("a", "b"), records("c"))
		if low, code := b.Table.Topic("t").Partition(0).DeleteRecords(2); low != 2 || code != 0 {
			t.Fatal(low, code)
		}
		for offset, want := range map[int64]int16{-1: 1, 1: 1, 2: 0, 3: 0, 4: 1} {
			if p := only(t, b.fetched(b.fetchOf(11, fetchFrom{"t", 0, offset}))); p.ErrorCode != want {
				t.Errorf("from %d: code %d, want %d", offset, p.ErrorCode, want)
			}
		}
	})
}

// TestFetchLeaderEpoch is T10 and KIP-320, with what Kafka 4.4 answers to consumers that name epochs it does not know.
func TestFetchLeaderEpoch(t *testing.T) {
	tests := []struct {
		name          string
		current, last int32
		want          int16
	}{
		{"none", -1, -1, 0},
		{"negative", -2, -2, 0},
		{"the current one", 0, 0, 0},
		{"a newer one", 1, -1, kerr.UnknownLeaderEpoch.Code},
		{"last fetched in a newer one", -1, 1, kerr.OffsetOutOfRange.Code},
	}
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		b.wrote("t", 0, records("a"))
		for _, test := range tests {
			req := b.fetchOf(16, fetchFrom{"t", 0, 1})
			req.Topics[0].Partitions[0].CurrentLeaderEpoch, req.Topics[0].Partitions[0].LastFetchedEpoch = test.current, test.last
			p := only(t, b.fetched(req))
			if p.ErrorCode != test.want || p.CurrentLeader.LeaderID != -1 {
				t.Errorf("%s: %+v, want code %d", test.name, p, test.want)
			}
		}
	})
}

// TestFetchFromAReplica: nobody else has replicas here, and the answer names the leader from version 16 on (T12).
func TestFetchFromAReplica(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		old := b.fetchOf(11, fetchFrom{"t", 0, 0})
		old.ReplicaID = 5
		if p := only(t, b.fetched(old)); p.ErrorCode != kerr.NotLeaderForPartition.Code {
			t.Errorf("%+v", p)
		}
		req := b.fetchOf(17, fetchFrom{"t", 0, 0})
		req.ReplicaState.ID = 5
		resp := b.fetched(req)
		p := only(t, resp)
		if p.ErrorCode != kerr.NotLeaderForPartition.Code || p.CurrentLeader.LeaderID != 1 || p.CurrentLeader.LeaderEpoch != 0 {
			t.Errorf("%+v", p)
		}
		if len(resp.Brokers) != 1 || resp.Brokers[0].NodeID != 1 || resp.Brokers[0].Host != "broker.example" || resp.Brokers[0].Port != 1234 {
			t.Errorf("endpoints %+v", resp.Brokers)
		}
	})
}

func TestFetchIsolationLevelThatIsNone(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		req := b.fetchOf(11, fetchFrom{"t", 0, 0})
		req.IsolationLevel = 2
		resp := b.fetched(req)
		if resp.ErrorCode != kerr.UnknownServerError.Code || resp.Topics[0].Partitions[0].ErrorCode != kerr.UnknownServerError.Code {
			t.Errorf("%+v", resp)
		}
	})
}

// TestFetchSamePartitionTwice: the last mention counts.
func TestFetchSamePartitionTwice(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		b.wrote("t", 0, records("a"), records("b"))
		p := only(t, b.fetched(b.fetchOf(11, fetchFrom{"t", 0, 0}, fetchFrom{"t", 0, 1})))
		if got := valuesIn(t, p.RecordBatches); !slices.Equal(got, []string{"b"}) {
			t.Errorf("%q", got)
		}
	})
}

// TestFetchNamesUnknownPartitionsLast, as Kafka does.
func TestFetchNamesUnknownPartitionsLast(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 2, 1))
		resp := b.fetched(b.fetchOf(11, fetchFrom{"nope", 0, 0}, fetchFrom{"t", 0, 0}, fetchFrom{"t", 5, 0}, fetchFrom{"t", 1, 0}))
		var got []string
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				got = append(got, topic.Topic+string(rune('0'+p.Partition)))
			}
		}
		if want := []string{"t0", "t1", "nope0", "t5"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestFetchLongRecordsLeaveAsFileRanges: what is too long to copy arrives whole all the same, between what is copied.
func TestFetchLongRecordsLeaveAsFileRanges(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 3, 1))
		long := strings.Repeat("long ", copyLimit)
		b.wrote("t", 0, records("a"))
		b.wrote("t", 1, records(long), records("b"))
		b.wrote("t", 2, records(long))
		for _, version := range []int16{4, 12, 18} {
			resp := b.fetched(b.fetchOf(version, fetchFrom{"t", 0, 0}, fetchFrom{"t", 1, 0}, fetchFrom{"t", 2, 0}))
			want := [][]string{{"a"}, {long, "b"}, {long}}
			for i, p := range resp.Topics[0].Partitions {
				if got := valuesIn(t, p.RecordBatches); !slices.Equal(got, want[i]) {
					t.Errorf("v%d: partition %d: %d records", version, i, len(got))
				}
			}
		}
	})
}

// TestFetchStoresBatchesAsTheyWere: only the offset and the leader epoch differ from what was sent.
func TestFetchStoresBatchesAsTheyWere(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		sent := records("a", "b")
		b.wrote("t", 0, records("first"), slices.Clone(sent))
		p := only(t, b.fetched(b.fetchOf(11, fetchFrom{"t", 0, 1})))
		record.PatchOffset(sent, 1, 0)
		if !bytes.Equal(p.RecordBatches, sent) {
			t.Errorf("\n got %x\nwant %x", p.RecordBatches, sent)
		}
	})
}

// TestFetchReadCommitted is T23 for partitions without transactions: an empty list, not null.
func TestFetchReadCommitted(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		b.wrote("t", 0, records("a"))
		for offset := range int64(2) {
			req := b.fetchOf(11, fetchFrom{"t", 0, offset})
			req.IsolationLevel = readCommitted
			if p := only(t, b.fetched(req)); p.AbortedTransactions == nil || len(p.AbortedTransactions) != 0 {
				t.Errorf("from %d: %+v", offset, p)
			}
		}
	})
}
