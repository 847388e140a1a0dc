package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/internal/vfs"
)

// place is an answer of ListOffsets: code, offset, timestamp, leader epoch.
type place struct {
	code      int16
	offset    int64
	timestamp int64
	epoch     int32
}

func noWhere(code int16) place { return place{code, -1, -1, -1} }

func (b *testBroker) listed(version int16, topic string, partition int32, timestamp int64, change ...func(*kmsg.ListOffsetsRequest)) place {
	b.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = version, -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, timestamp
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	for _, c := range change {
		c(req)
	}
	r := ask[*kmsg.ListOffsetsResponse](b, version, req).Topics[0].Partitions[0]
	return place{r.ErrorCode, r.Offset, r.Timestamp, r.LeaderEpoch}
}

// TestListOffsets is T27 and P7.10, with what Kafka 4.4 answered for the same records: three batches of
// three, whose second record is the newest of its batch.
func TestListOffsets(t *testing.T) {
	const base = 1_700_000_000_000
	unsupported := noWhere(kerr.UnsupportedVersion.Code)
	tests := []struct {
		name      string
		version   int16
		timestamp int64
		want      place
	}{
		{"latest", 11, -1, place{0, 9, -1, 0}},
		{"latest before epochs", 3, -1, place{0, 9, -1, -1}},
		{"earliest", 4, -2, place{0, 0, -1, 0}},
		{"max timestamp", 7, -3, place{0, 7, base + 250, 0}},
		{"max timestamp too early", 6, -3, unsupported},
		{"earliest local", 8, -4, place{0, 0, -1, 0}},
		{"earliest local too early", 7, -4, unsupported},
		{"latest tiered", 9, -5, noWhere(0)},
		{"latest tiered too early", 8, -5, unsupported},
		{"earliest pending upload", 11, -6, noWhere(0)},
		{"earliest pending upload too early", 10, -6, unsupported},
		{"an unknown mark", 11, -7, unsupported},
		{"time 0", 1, 0, place{0, 0, base, -1}},
		{"before all", 11, base - 5, place{0, 0, base, 0}},
		{"the first", 11, base, place{0, 0, base, 0}},
		{"between records of a batch", 11, base + 1, place{0, 1, base + 50, 0}},
		{"between batches", 11, base + 51, place{0, 3, base + 100, 0}},
		{"the newest", 11, base + 250, place{0, 7, base + 250, 0}},
		{"after all", 11, base + 251, noWhere(0)},
	}
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1, "message.timestamp.after.max.ms", "9223372036854775807"))
		for i := range int64(3) {
			at := base + i*100
			b.wrote("t", 0, record.NewBuilder(0).Append(at, nil, nil).Append(at+50, nil, nil).Append(at+20, nil, nil).Bytes())
		}
		for _, test := range tests {
			for _, isolation := range []int8{0, 1} {
				got := b.listed(test.version, "t", 0, test.timestamp, func(r *kmsg.ListOffsetsRequest) { r.IsolationLevel = isolation })
				if got != test.want {
					t.Errorf("%s, isolation %d: %+v, want %+v", test.name, isolation, got, test.want)
				}
			}
		}
	})
}

func TestListOffsetsOfAnEmptyPartition(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		for timestamp, want := range map[int64]place{-1: {0, 0, -1, 0}, -2: {0, 0, -1, 0}, -3: noWhere(0), -4: {0, 0, -1, 0}, 0: noWhere(0)} {
			if got := b.listed(11, "t", 0, timestamp); got != want {
				t.Errorf("%d: %+v, want %+v", timestamp, got, want)
			}
		}
	})
}

func TestListOffsetsRefusals(t *testing.T) {
	epoch := func(e int32) func(*kmsg.ListOffsetsRequest) {
		return func(r *kmsg.ListOffsetsRequest) { r.Topics[0].Partitions[0].CurrentLeaderEpoch = e }
	}
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		for name, got := range map[string]struct{ got, want place }{
			"unknown topic":     {b.listed(11, "nope", 0, -1), noWhere(kerr.UnknownTopicOrPartition.Code)},
			"unknown partition": {b.listed(11, "t", 3, -1), noWhere(kerr.UnknownTopicOrPartition.Code)},
			"newer epoch":       {b.listed(11, "t", 0, -1, epoch(1)), noWhere(kerr.UnknownLeaderEpoch.Code)},
			"older epoch":       {b.listed(11, "t", 0, -1, epoch(-2)), noWhere(kerr.FencedLeaderEpoch.Code)},
			"isolation": {b.listed(11, "t", 0, -1, func(r *kmsg.ListOffsetsRequest) { r.IsolationLevel = 5 }),
				noWhere(kerr.UnknownServerError.Code)},
			"named twice": {b.listed(11, "t", 0, -1, func(r *kmsg.ListOffsetsRequest) {
				r.Topics[0].Partitions = append(r.Topics[0].Partitions, r.Topics[0].Partitions[0])
			}), noWhere(kerr.InvalidRequest.Code)},
		} {
			if got.got != got.want {
				t.Errorf("%s: %+v, want %+v", name, got.got, got.want)
			}
		}
	})
}

func (b *testBroker) deleted(version int16, topic string, partition int32, offset int64) (low int64, code int16) {
	b.t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = topic
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	r := ask[*kmsg.DeleteRecordsResponse](b, version, req).Topics[0].Partitions[0]
	return r.LowWatermark, r.ErrorCode
}

// TestDeleteRecords is T37 and P7.14, with what Kafka 4.4 answered.
func TestDeleteRecords(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1), topic("compacted", 1, 1, "cleanup.policy", "compact"), topic("both", 1, 1, "cleanup.policy", "compact,delete"))
		b.wrote("t", 0, records("a", "b"), records("c", "d"))
		for _, test := range []struct {
			name      string
			version   int16
			topic     string
			partition int32
			offset    int64
			low       int64
			code      int16
		}{
			{"to an offset", 2, "t", 0, 2, 2, 0},
			{"below the start", 2, "t", 0, 1, 2, 0},
			{"beyond the end", 2, "t", 0, 5, -1, kerr.OffsetOutOfRange.Code},
			{"negative", 2, "t", 0, -2, -1, kerr.OffsetOutOfRange.Code},
			{"to the high watermark", 0, "t", 0, -1, 4, 0},
			{"unknown partition", 1, "t", 9, 0, -1, kerr.UnknownTopicOrPartition.Code},
			{"unknown topic", 2, "nope", 0, 0, -1, kerr.UnknownTopicOrPartition.Code},
			{"compacted", 2, "compacted", 0, 0, -1, kerr.PolicyViolation.Code},
			{"compacted and deleted", 2, "both", 0, 0, 0, 0},
		} {
			if low, code := b.deleted(test.version, test.topic, test.partition, test.offset); low != test.low || code != test.code {
				t.Errorf("%s: %d, code %d, want %d, code %d", test.name, low, code, test.low, test.code)
			}
		}
		if got := b.listed(11, "t", 0, -2); got.offset != 4 {
			t.Errorf("earliest: %+v", got)
		}
	})
}

// TestOffsetForLeaderEpoch is T11.
func TestOffsetForLeaderEpoch(t *testing.T) {
	ended := func(b *testBroker, version int16, topic string, partition, known, asked int32) place {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
		rt.Topic = topic
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = partition, known, asked
		rt.Partitions = append(rt.Partitions, p)
		req.Topics = append(req.Topics, rt)
		r := ask[*kmsg.OffsetForLeaderEpochResponse](b, version, req).Topics[0].Partitions[0]
		return place{r.ErrorCode, r.EndOffset, -1, r.LeaderEpoch}
	}
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 2, 1))
		b.wrote("t", 0, records("a", "b"))
		for _, test := range []struct {
			name                    string
			topic                   string
			partition, known, asked int32
			want                    place
		}{
			{"the current epoch ends at the end of the log", "t", 0, -1, 0, place{0, 2, -1, 0}},
			{"an unknown epoch", "t", 0, 0, 1, noWhere(0)},
			{"no epoch", "t", 0, -1, -1, noWhere(0)},
			{"an empty partition", "t", 1, -1, 0, place{0, 0, -1, 0}},
			{"the client knows more", "t", 0, 1, 0, noWhere(kerr.UnknownLeaderEpoch.Code)},
			{"unknown partition", "t", 9, -1, 0, noWhere(kerr.UnknownTopicOrPartition.Code)},
			{"unknown topic", "nope", 0, -1, 0, noWhere(kerr.UnknownTopicOrPartition.Code)},
		} {
			for version := int16(2); version <= 4; version++ {
				if got := ended(b, version, test.topic, test.partition, test.known, test.asked); got != test.want {
					t.Errorf("%s v%d: %+v, want %+v", test.name, version, got, test.want)
				}
			}
		}
	})
}

// TestDescribeProducers is P7.14: idempotent producers are listed.
func TestDescribeProducers(t *testing.T) {
	describe := func(b *testBroker, topic string, partition int32) kmsg.DescribeProducersResponseTopicPartition {
		req := kmsg.NewPtrDescribeProducersRequest()
		rt := kmsg.NewDescribeProducersRequestTopic()
		rt.Topic, rt.Partitions = topic, []int32{partition}
		req.Topics = append(req.Topics, rt)
		return ask[*kmsg.DescribeProducersResponse](b, 0, req).Topics[0].Partitions[0]
	}
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		batch := record.NewBuilder(0)
		batch.ProducerID, batch.ProducerEpoch, batch.BaseSequence = 42, 3, 7
		b.wrote("t", 0, batch.Append(99, nil, nil).Append(100, nil, nil).Bytes())
		got := describe(b, "t", 0)
		if len(got.ActiveProducers) != 1 {
			t.Fatalf("%+v", got)
		}
		p := got.ActiveProducers[0]
		if p.ProducerID != 42 || p.ProducerEpoch != 3 || p.LastSequence != 8 || p.LastTimestamp != 100 || p.CoordinatorEpoch != -1 || p.CurrentTxnStartOffset != -1 {
			t.Errorf("%+v", p)
		}
		if got := describe(b, "t", 5); got.ErrorCode != kerr.UnknownTopicOrPartition.Code || got.ErrorMessage != nil {
			t.Errorf("unknown partition: %+v", got)
		}
		if got := describe(b, "nope", 0); got.ErrorCode != kerr.UnknownTopicOrPartition.Code || said(got.ErrorMessage) != unknownPartition {
			t.Errorf("unknown topic: %+v", got)
		}
		if got := describe(b, "no/topic", 0); got.ErrorCode != kerr.InvalidTopicException.Code {
			t.Errorf("invalid name: %+v", got)
		}
	})
}

// TestDescribeLogDirs is P7.15.
func TestDescribeLogDirs(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 2, 1), topic("s", 1, 1))
		batch := records("a")
		b.wrote("t", 1, batch)
		shown := func(version int16, topics []kmsg.DescribeLogDirsRequestTopic) (names []string, dir kmsg.DescribeLogDirsResponseDir) {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Topics = topics
			resp := ask[*kmsg.DescribeLogDirsResponse](b, version, req)
			if len(resp.Dirs) != 1 || resp.ErrorCode != 0 || resp.Dirs[0].ErrorCode != 0 {
				t.Fatalf("%+v", resp)
			}
			for _, topic := range resp.Dirs[0].Topics {
				names = append(names, topic.Topic)
			}
			return names, resp.Dirs[0]
		}
		for version := int16(1); version <= 5; version++ {
			names, dir := shown(version, nil)
			if !slices.Equal(names, []string{"s", "t"}) || dir.Topics[1].Partitions[1].Size != int64(len(batch)) || dir.Topics[1].Partitions[0].Size != 0 {
				t.Errorf("v%d: %+v", version, dir)
			}
			if known := dir.TotalBytes > 0 && dir.UsableBytes > 0; known != (version >= 4) {
				t.Errorf("v%d: %d bytes, %d usable", version, dir.TotalBytes, dir.UsableBytes)
			}
		}
		one := kmsg.NewDescribeLogDirsRequestTopic()
		one.Topic, one.Partitions = "t", []int32{1, 7}
		if _, dir := shown(5, []kmsg.DescribeLogDirsRequestTopic{one}); len(dir.Topics) != 1 || len(dir.Topics[0].Partitions) != 1 {
			t.Errorf("one: %+v", dir)
		}
		if names, _ := shown(5, []kmsg.DescribeLogDirsRequestTopic{}); len(names) != 0 {
			t.Errorf("no topics: %q", names)
		}
	})
}

// TestOfflinePartition: every access says so, and DescribeLogDirs tells which it is.
func TestOfflinePartition(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	inBrokerOver(t, faults, func(b *testBroker) {
		faults.Fail(vfs.Rule{Op: vfs.OpCreate, Name: "data/bad-0/*", Err: vfs.ErrLocked})
		b.create(topic("bad", 1, 1), topic("good", 1, 1))
		if r := b.produced(b.produceTo(9, "bad", 0, records("a"))); r.ErrorCode != kerr.KafkaStorageError.Code || r.LogStartOffset != -1 {
			t.Errorf("Produce: %+v", r)
		}
		if p := only(t, b.fetched(b.fetchOf(11, fetchFrom{"bad", 0, 0}))); p.ErrorCode != kerr.KafkaStorageError.Code {
			t.Errorf("Fetch: %+v", p)
		}
		if p := only(t, b.fetched(b.fetchOf(5, fetchFrom{"bad", 0, 0}))); p.ErrorCode != kerr.NotLeaderForPartition.Code {
			t.Errorf("Fetch v5: %+v", p)
		}
		if got := b.listed(11, "bad", 0, -1); got != noWhere(kerr.KafkaStorageError.Code) {
			t.Errorf("ListOffsets: %+v", got)
		}
		if _, code := b.deleted(2, "bad", 0, -1); code != kerr.KafkaStorageError.Code {
			t.Errorf("DeleteRecords: %d", code)
		}
		b.wrote("good", 0, records("a"))
		resp := ask[*kmsg.DescribeLogDirsResponse](b, 5, kmsg.NewPtrDescribeLogDirsRequest())
		if len(resp.Dirs) != 2 || resp.Dirs[1].ErrorCode != kerr.KafkaStorageError.Code || !strings.HasSuffix(resp.Dirs[1].Dir, "bad-0") {
			t.Errorf("DescribeLogDirs: %+v", resp.Dirs)
		}
	})
}
