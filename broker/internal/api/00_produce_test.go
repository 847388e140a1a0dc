package api

import (
	"io"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/record"
)

func TestProduceInEveryVersion(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		for version := int16(produceMin); version <= produceMax; version++ {
			r := b.produced(b.produceTo(version, "t", 0, records("v")))
			want := int64(0)
			if version < produceStartOffset {
				want = -1
			}
			if r.ErrorCode != 0 || r.BaseOffset != int64(version-produceMin) || r.LogAppendTime != -1 || r.LogStartOffset != want {
				t.Errorf("v%d: %+v", version, r)
			}
		}
	})
}

// TestProduceRefusals has what Kafka 4.4 answered to the same requests.
func TestProduceRefusals(t *testing.T) {
	two := append(records("a"), records("b")...)
	flipped := records("v")
	flipped[len(flipped)-1] ^= 1
	old := records("v")
	old[16] = 1
	based := records("v")
	record.PatchOffset(based, 5, -1)
	future := record.NewBuilder(0).Append(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), []byte("k"), nil).Bytes()
	tests := []struct {
		name      string
		version   int16
		topic     string
		partition int32
		batch     []byte
		code      int16
		start     int64
	}{
		{"unknown topic", 9, "nope", 0, records("v"), kerr.UnknownTopicOrPartition.Code, -1},
		{"unknown partition", 9, "t", 9, records("v"), kerr.UnknownTopicOrPartition.Code, -1},
		{"negative partition", 9, "t", -1, records("v"), kerr.UnknownTopicOrPartition.Code, -1},
		{"unknown topic id (T13)", 13, "nope", 0, records("v"), kerr.UnknownTopicID.Code, -1},
		{"unknown partition of a topic id", 13, "t", 9, records("v"), kerr.UnknownTopicOrPartition.Code, -1},
		{"no records", 9, "t", 0, []byte{}, kerr.InvalidRecord.Code, -1},
		{"null records", 9, "t", 0, nil, kerr.InvalidRecord.Code, -1},
		{"two batches (T14)", 9, "t", 0, two, kerr.InvalidRecord.Code, -1},
		{"a flipped bit (T14)", 9, "t", 0, flipped, kerr.CorruptMessage.Code, -1},
		{"magic 1", 9, "t", 0, old, kerr.InvalidRecord.Code, -1},
		{"cut short", 9, "t", 0, records("v")[:40], kerr.InvalidRecord.Code, -1},
		{"base offset (T14)", 9, "t", 0, based, kerr.InvalidRecord.Code, 0},
		{"future", 9, "t", 0, future, kerr.InvalidTimestamp.Code, 0},
		{"too large (T17)", 9, "small", 0, records(string(make([]byte, 3000))), kerr.MessageTooLarge.Code, -1},
	}
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1), topic("small", 1, 1, "max.message.bytes", "2000"))
		for _, test := range tests {
			r := b.produced(b.produceTo(test.version, test.topic, test.partition, test.batch))
			if r.ErrorCode != test.code || r.BaseOffset != -1 || r.LogAppendTime != -1 || r.LogStartOffset != test.start {
				t.Errorf("%s: %+v, want code %d and start %d", test.name, r, test.code, test.start)
			}
		}
		if high := b.Table.Topic("t").Partition(0).HighWatermark(); high != 0 {
			t.Errorf("high watermark %d", high)
		}
	})
}

func TestProduceRefusesAcksOutsideTheThree(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 2, 1))
		for _, acks := range []int16{2, -2} {
			req := b.produceTo(9, "t", 0, records("v"))
			req.Acks = acks
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.ProduceRequestTopicPartition{Partition: 1, Records: records("v")})
			for _, p := range ask[*kmsg.ProduceResponse](b, 9, req).Topics[0].Partitions {
				if p.ErrorCode != kerr.InvalidRequiredAcks.Code || p.BaseOffset != -1 {
					t.Errorf("acks %d: %+v", acks, p)
				}
			}
			req = b.produceTo(9, "nope", 0, records("v"))
			req.Acks = acks
			if r := b.produced(req); r.ErrorCode != kerr.UnknownTopicOrPartition.Code {
				t.Errorf("acks %d, unknown topic: %+v", acks, r)
			}
		}
	})
}

// TestProduceRecordErrors is T18 and P7.13: which records of a batch are at fault, from version 8 on.
func TestProduceRecordErrors(t *testing.T) {
	keyless := record.NewBuilder(0).Append(1, nil, []byte("a")).Append(1, []byte("k"), []byte("b")).Append(1, nil, []byte("c")).Bytes()
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1, "cleanup.policy", "compact"))
		r := b.produced(b.produceTo(8, "t", 0, keyless))
		if r.ErrorCode != kerr.InvalidRecord.Code || r.ErrorMessage == nil || len(r.ErrorRecords) != 2 ||
			r.ErrorRecords[0].RelativeOffset != 0 || r.ErrorRecords[1].RelativeOffset != 2 || r.ErrorRecords[0].ErrorMessage == nil {
			t.Errorf("v8: %+v", r)
		}
		if r := b.produced(b.produceTo(7, "t", 0, keyless)); r.ErrorCode != kerr.InvalidRecord.Code || r.ErrorMessage != nil {
			t.Errorf("v7: %+v", r)
		}
	})
}

// TestProduceLogAppendTime is T18: set for such topics, -1 otherwise.
func TestProduceLogAppendTime(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1, "message.timestamp.type", "LogAppendTime"))
		if r := b.produced(b.produceTo(3, "t", 0, records("v"))); r.LogAppendTime != time.Now().UnixMilli() {
			t.Errorf("%+v", r)
		}
	})
}

// TestProduceIdempotent is T15 and T16 as a client sees them.
func TestProduceIdempotent(t *testing.T) {
	of := func(epoch int16, sequence int32) []byte {
		b := record.NewBuilder(0)
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = 9, epoch, sequence
		return b.Append(777, []byte("k"), []byte("v")).Append(778, []byte("k"), []byte("v")).Bytes()
	}
	tests := []struct {
		name     string
		epoch    int16
		sequence int32
		code     int16
		base     int64
		time     int64
	}{
		{"first", 3, 7, 0, 0, -1},
		{"duplicate: the original's offset and timestamp", 3, 7, 0, 0, 778},
		{"gap", 3, 12, kerr.OutOfOrderSequenceNumber.Code, -1, -1},
		{"older epoch", 2, 9, kerr.InvalidProducerEpoch.Code, -1, -1},
		{"newer epoch, sequence not 0", 4, 9, kerr.OutOfOrderSequenceNumber.Code, -1, -1},
		{"newer epoch", 4, 0, 0, 2, -1},
	}
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		for _, test := range tests {
			r := b.produced(b.produceTo(9, "t", 0, of(test.epoch, test.sequence)))
			if r.ErrorCode != test.code || r.BaseOffset != test.base || r.LogAppendTime != test.time || r.LogStartOffset != 0 {
				t.Errorf("%s: %+v", test.name, r)
			}
		}
	})
}

// TestProduceTransactional has what Kafka 4.4 answers to who has no transaction.
func TestProduceTransactional(t *testing.T) {
	of := func(producer int64) []byte {
		b := record.NewBuilder(0)
		b.Transactional = true
		if b.ProducerID = producer; producer >= 0 {
			b.ProducerEpoch, b.BaseSequence = 0, 0
		}
		return b.Append(1, []byte("k"), nil).Bytes()
	}
	id, empty := "id", ""
	tests := []struct {
		name string
		id   *string
		b    []byte
		code int16
	}{
		{"no transactional id", nil, of(5), kerr.TransactionalIDAuthorizationFailed.Code},
		{"no transactional id, no producer", nil, of(-1), kerr.TransactionalIDAuthorizationFailed.Code},
		{"empty transactional id", &empty, of(5), kerr.InvalidRequest.Code},
		{"unknown transactional id", &id, of(5), kerr.InvalidProducerIDMapping.Code},
		{"transactional id, but no producer", &id, of(-1), 0},
		{"transactional id, but no transaction", &id, record.NewBuilder(0).Append(1, []byte("k"), nil).Bytes(), 0},
	}
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		for _, test := range tests {
			req := b.produceTo(9, "t", 0, test.b)
			req.TransactionID = test.id
			if r := b.produced(req); r.ErrorCode != test.code {
				t.Errorf("%s: %+v, want %d", test.name, r, test.code)
			}
		}
	})
}

// TestProduceSamePartitionTwice: the last mention counts, and is the only one that is answered.
func TestProduceSamePartitionTwice(t *testing.T) {
	for _, topics := range []int{1, 2, 40} {
		inBroker(t, nil, func(b *testBroker) {
			b.create(topic("t", 2, 1))
			req := b.produceTo(9, "t", 1, records("first"))
			for range topics {
				again := b.produceTo(9, "t", 1, records("again")).Topics[0]
				again.Partitions = append(again.Partitions, kmsg.ProduceRequestTopicPartition{Partition: 0, Records: records("other")})
				req.Topics = append(req.Topics, again)
			}
			resp := ask[*kmsg.ProduceResponse](b, 9, req)
			if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 2 {
				t.Fatalf("%+v", resp)
			}
			for _, p := range resp.Topics[0].Partitions {
				if p.ErrorCode != 0 || p.BaseOffset != 0 {
					t.Errorf("%+v", p)
				}
			}
			got := only(t, b.fetched(b.fetchOf(11, fetchFrom{"t", 1, 0})))
			if values := valuesIn(t, got.RecordBatches); len(values) != 1 || values[0] != "again" {
				t.Errorf("stored %q", values)
			}
		})
	}
}

// TestProduceAcks0 is T6: no answer, and an error closes the connection.
func TestProduceAcks0(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		req := b.produceTo(9, "t", 0, records("v"))
		req.Acks = 0
		b.send(req)
		if r := b.produced(b.produceTo(9, "t", 0, records("w"))); r.BaseOffset != 1 {
			t.Errorf("the next answer on the connection: %+v", r)
		}
		req = b.produceTo(9, "nope", 0, records("v"))
		req.Acks = 0
		b.send(req)
		if _, err := b.conn.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("after an error: %v", err)
		}
	})
}

func TestMalformedProduceClosesTheConnection(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		b.sendBody(0, 9, true, b.produceTo(9, "t", 0, records("v")).AppendTo(nil)[:20])
		if _, err := b.conn.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%v", err)
		}
	})
}

func TestProduceWithoutTopicsIsAnsweredEmpty(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		req := kmsg.NewPtrProduceRequest()
		req.Acks = 5
		if resp := ask[*kmsg.ProduceResponse](b, 9, req); len(resp.Topics) != 0 {
			t.Errorf("%+v", resp)
		}
	})
}

// TestProduceVersionsThatAreOnlyAdvertised is T3: 0 to 2 close the connection, as in Kafka 4.
func TestProduceVersionsThatAreOnlyAdvertised(t *testing.T) {
	inBroker(t, nil, func(b *testBroker) {
		b.create(topic("t", 1, 1))
		for version := range int16(produceMin) {
			c := b.another()
			c.sendBody(0, version, false, b.produceTo(version, "t", 0, records("v")).AppendTo(nil))
			if _, err := c.conn.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("v%d: %v", version, err)
			}
		}
	})
}
