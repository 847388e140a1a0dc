package api

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/skeinstream/skein/broker/internal/record"
)

// failer is what rapid and fuzz tests have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// drawProduce draws a request of any content.
func drawProduce(t *rapid.T, version int16) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Version = version
	if rapid.Bool().Draw(t, "transactional") {
		r.TransactionID = kmsg.StringPtr(rapid.String().Draw(t, "tid"))
	}
	r.Acks = rapid.Int16().Draw(t, "acks")
	r.TimeoutMillis = rapid.Int32().Draw(t, "timeout")
	for range rapid.IntRange(0, 3).Draw(t, "topics") {
		topic := kmsg.NewProduceRequestTopic()
		if version >= produceTopicID {
			copy(topic.TopicID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		} else {
			topic.Topic = rapid.String().Draw(t, "name")
		}
		for range rapid.IntRange(0, 3).Draw(t, "partitions") {
			p := kmsg.NewProduceRequestTopicPartition()
			p.Partition = rapid.Int32().Draw(t, "partition")
			p.Records = rapid.SliceOf(rapid.Byte()).Draw(t, "records")
			if len(p.Records) == 0 && rapid.Bool().Draw(t, "null") {
				p.Records = nil
			}
			topic.Partitions = append(topic.Partitions, p)
		}
		r.Topics = append(r.Topics, topic)
	}
	return r
}

func compareProduce(t failer, got *produceRequest, want *kmsg.ProduceRequest) {
	t.Helper()
	if got.acks != want.Acks || got.timeoutMs != want.TimeoutMillis || (got.transactionalID != nil) != (want.TransactionID != nil) {
		t.Fatalf("head: got %+v, want %+v", got, want)
	}
	if len(got.topics) != len(want.Topics) {
		t.Fatalf("%d topics, want %d", len(got.topics), len(want.Topics))
	}
	for i, wt := range want.Topics {
		gt := got.topics[i]
		if string(gt.name) != wt.Topic || gt.id != wt.TopicID || gt.end-gt.first != len(wt.Partitions) {
			t.Fatalf("topic %d: got %+v, want %+v", i, gt, wt)
		}
		for j, wp := range wt.Partitions {
			gp := got.partitions[gt.first+j]
			if gp.index != wp.Partition || !bytes.Equal(gp.records, wp.Records) || (gp.records == nil) != (wp.Records == nil) {
				t.Fatalf("partition %d of topic %d: got %v, want %v", j, i, gp, wp)
			}
		}
	}
}

func TestProduceRequestReadsWhatKmsgWrites(t *testing.T) {
	for version := int16(produceMin); version <= produceMax; version++ {
		rapid.Check(t, func(t *rapid.T) {
			want := drawProduce(t, version)
			var got produceRequest
			if err := got.decode(want.AppendTo(nil), version); err != nil {
				t.Fatal(err)
			}
			compareProduce(t, &got, want)
		})
	}
}

func FuzzProduceRequest(f *testing.F) {
	for version := int16(produceMin); version <= produceMax; version++ {
		r := kmsg.NewPtrProduceRequest()
		r.Version = version
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic = "t"
		topic.Partitions = append(topic.Partitions, kmsg.ProduceRequestTopicPartition{Partition: 1, Records: []byte("abc")})
		r.Topics = append(r.Topics, topic)
		f.Add(version, r.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < produceMin || version > produceMax {
			return
		}
		var got produceRequest
		if got.decode(body, version) != nil {
			return
		}
		want := kmsg.NewPtrProduceRequest()
		want.Version = version
		if err := want.ReadFrom(body); err != nil {
			t.Fatalf("kmsg refuses what is accepted here: %v", err)
		}
		compareProduce(t, &got, want)
	})
}

func TestProduceResponseIsWhatKmsgWrites(t *testing.T) {
	for version := int16(produceMin); version <= produceMax; version++ {
		rapid.Check(t, func(t *rapid.T) {
			req := drawProduce(t, version)
			var q produceRequest
			if err := q.decode(req.AppendTo(nil), version); err != nil {
				t.Fatal(err)
			}
			results := make([]produceResult, len(q.partitions))
			for i := range results {
				results[i] = drawProduceResult(t, version)
			}
			throttle := rapid.Int32().Draw(t, "throttle")
			got := q.appendResponse(nil, version, results, throttle)
			want := kmsgProduceResponse(req, results, throttle).AppendTo(nil)
			if !bytes.Equal(got, want) {
				t.Fatalf("v%d\n got %x\nwant %x", version, got, want)
			}
		})
	}
}

func drawProduceResult(t *rapid.T, version int16) produceResult {
	r := produceResult{
		code:          rapid.Int16().Draw(t, "code"),
		baseOffset:    rapid.Int64().Draw(t, "base"),
		logAppendTime: rapid.Int64().Draw(t, "time"),
		startOffset:   rapid.Int64().Draw(t, "start"),
		message:       rapid.String().Draw(t, "message"),
		leader:        noLeaderHint(),
	}
	if version >= produceCurrentLeader {
		r.leader = leaderHint{rapid.Int32Range(-1, 2).Draw(t, "leader"), rapid.Int32Range(-1, 2).Draw(t, "epoch")}
	}
	for range rapid.IntRange(0, 2).Draw(t, "errors") {
		r.records = append(r.records, record.RecordError{Index: rapid.Int32().Draw(t, "index"), Message: rapid.String().Draw(t, "why")})
	}
	return r
}

func kmsgProduceResponse(req *kmsg.ProduceRequest, results []produceResult, throttle int32) *kmsg.ProduceResponse {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	resp.ThrottleMillis = throttle
	n := 0
	for _, t := range req.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, kmsgProduceResult(p.Partition, results[n]))
			n++
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func kmsgProduceResult(partition int32, r produceResult) kmsg.ProduceResponseTopicPartition {
	p := kmsg.NewProduceResponseTopicPartition()
	p.Partition, p.ErrorCode, p.BaseOffset, p.LogAppendTime, p.LogStartOffset = partition, r.code, r.baseOffset, r.logAppendTime, r.startOffset
	p.ErrorMessage = nullString(r.message)
	for _, e := range r.records {
		pe := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		pe.RelativeOffset, pe.ErrorMessage = e.Index, nullString(e.Message)
		p.ErrorRecords = append(p.ErrorRecords, pe)
	}
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = r.leader.id, r.leader.epoch
	return p
}

func nullString(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func TestProduceDecodeAllocatesNothingPerPartition(t *testing.T) {
	r := kmsg.NewPtrProduceRequest()
	r.Version = produceMax
	topic := kmsg.NewProduceRequestTopic()
	for i := range int32(50) {
		topic.Partitions = append(topic.Partitions, kmsg.ProduceRequestTopicPartition{Partition: i, Records: make([]byte, 100)})
	}
	r.Topics = append(r.Topics, topic)
	body := r.AppendTo(nil)
	var q produceRequest
	allocs := testing.AllocsPerRun(100, func() {
		if err := q.decode(body, produceMax); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations a request", allocs)
	}
}

func BenchmarkProduceDecode(b *testing.B) {
	r := kmsg.NewPtrProduceRequest()
	r.Version = produceMax
	topic := kmsg.NewProduceRequestTopic()
	topic.Partitions = append(topic.Partitions, kmsg.ProduceRequestTopicPartition{Records: make([]byte, 100)})
	r.Topics = append(r.Topics, topic)
	body := r.AppendTo(nil)
	var q produceRequest
	b.ReportAllocs()
	for b.Loop() {
		_ = q.decode(body, produceMax)
	}
}
