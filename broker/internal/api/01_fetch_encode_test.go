package api

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/broker/internal/storage"
	"github.com/skeinstream/skein/internal/vfs"
)

// pieces is a file from which slices of records are cut.
func pieces(t testing.TB) vfs.File {
	t.Helper()
	f, err := vfs.NewMemory().Create("records")
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 4*copyLimit)
	for i := range content {
		content[i] = byte(i * 7)
	}
	if _, err := f.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	return f
}

// bytesOf is a whole response body.
func bytesOf(t failer, resp server.Response) []byte {
	b := bytes.Clone(resp.Body)
	for _, c := range resp.Chunks {
		b = append(b, c.Bytes...)
		if c.File.Len == 0 {
			continue
		}
		piece := make([]byte, c.File.Len)
		if _, err := c.File.File.ReadAt(piece, c.File.Pos); err != nil {
			t.Fatalf("%v", err)
		}
		b = append(b, piece...)
	}
	return b
}

func drawFetchResult(t *rapid.T, version int16, file vfs.File) fetchResult {
	r := fetchFailure(rapid.SampledFrom([]int16{0, 1, 3}).Draw(t, "code"))
	topics := rapid.IntRange(0, 1).Draw(t, "topic")
	if version < fetchTopicID {
		r.topic = []string{"a", "b"}[topics]
	} else {
		r.id = [16]byte{byte(topics + 1)}
	}
	r.index, r.highWatermark = rapid.Int32().Draw(t, "index"), rapid.Int64().Draw(t, "high watermark")
	r.lastStable = rapid.Int64().Draw(t, "last stable")
	if version >= fetchLogStart {
		r.start = rapid.Int64().Draw(t, "start")
	}
	if r.abortedKnown = rapid.Bool().Draw(t, "committed"); r.abortedKnown {
		for range rapid.IntRange(0, 2).Draw(t, "aborted") {
			r.aborted = append(r.aborted, storage.AbortedTxn{ProducerID: rapid.Int64().Draw(t, "producer"), FirstOffset: rapid.Int64().Draw(t, "first")})
		}
	}
	if n := rapid.SampledFrom([]int{0, 1, 300, copyLimit, copyLimit + 1, 2 * copyLimit}).Draw(t, "length"); n > 0 {
		r.records = storage.Slice{File: file, Pos: rapid.Int64Range(0, copyLimit).Draw(t, "position"), Len: n}
	}
	switch rapid.IntRange(0, 4).Draw(t, "tag") {
	case 0:
		if version >= fetchFlexible {
			r.diverging.epoch, r.divergingEnd = rapid.Int32Range(0, 9).Draw(t, "epoch"), rapid.Int64Range(0, 9).Draw(t, "end")
		}
	case 1:
		if version >= fetchNodeEndpoints {
			r.leader = leaderHint{1, rapid.Int32Range(0, 9).Draw(t, "leader epoch")}
		}
	}
	return r
}

func kmsgFetchResponse(t failer, a *fetchAnswer) *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = a.version
	if a.version >= fetchSession {
		resp.ErrorCode, resp.SessionID = a.code, a.sessionID
	}
	for i := range a.results {
		r := &a.results[i]
		if n := len(resp.Topics); i == 0 || !r.sameTopic(&a.results[i-1]) {
			rt := kmsg.NewFetchResponseTopic()
			rt.Topic, rt.TopicID = r.topic, r.id
			resp.Topics = append(resp.Topics[:n:n], rt)
		}
		rt := &resp.Topics[len(resp.Topics)-1]
		rt.Partitions = append(rt.Partitions, kmsgFetchResult(t, r))
		if r.leader.id >= 0 && len(resp.Brokers) == 0 {
			node := kmsg.NewFetchResponseBroker()
			node.NodeID, node.Host, node.Port = r.leader.id, a.endpoint.Host, a.endpoint.Port
			resp.Brokers = append(resp.Brokers, node)
		}
	}
	return resp
}

func kmsgFetchResult(t failer, r *fetchResult) kmsg.FetchResponseTopicPartition {
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.ErrorCode = r.index, r.code
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset = r.highWatermark, r.lastStable, r.start
	p.PreferredReadReplica = -1
	p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = r.diverging.epoch, r.divergingEnd
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = r.leader.id, r.leader.epoch
	if r.abortedKnown {
		p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		for _, txn := range r.aborted {
			pt := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			pt.ProducerID, pt.FirstOffset = txn.ProducerID, txn.FirstOffset
			p.AbortedTransactions = append(p.AbortedTransactions, pt)
		}
	}
	p.RecordBatches = make([]byte, r.records.Len)
	if r.records.Len > 0 {
		if _, err := r.records.ReadAt(p.RecordBatches, 0); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return p
}

func TestFetchResponseIsWhatKmsgWrites(t *testing.T) {
	file := pieces(t)
	for version := int16(fetchMin); version <= fetchMax; version++ {
		rapid.Check(t, func(t *rapid.T) {
			a := fetchAnswer{version: version, endpoint: server.ListenerInfo{Host: "h", Port: 9}}
			a.code, a.sessionID = rapid.Int16().Draw(t, "code"), rapid.Int32().Draw(t, "session")
			for range rapid.IntRange(0, 4).Draw(t, "partitions") {
				a.results = append(a.results, drawFetchResult(t, version, file))
			}
			want := kmsgFetchResponse(t, &a).AppendTo(nil)
			room := a.size()
			got := bytesOf(t, a.encode(make([]byte, 0, room)))
			if !bytes.Equal(got, want) {
				t.Fatalf("v%d\n got %x\nwant %x", version, got, want)
			}
			if len(a.buf) > room {
				t.Fatalf("%d bytes, more than the %d that size promised", len(a.buf), room)
			}
		})
	}
}

// TestFetchCopiesLittle: what a client that does not read holds is bounded, however many partitions it asks for.
func TestFetchCopiesLittle(t *testing.T) {
	file := pieces(t)
	a := fetchAnswer{version: fetchMax}
	for index := range int32(10 * copyTotal / copyLimit) {
		r := fetchFailure(0)
		r.index, r.records = index, storage.Slice{File: file, Pos: int64(index), Len: copyLimit}
		a.results = append(a.results, r)
	}
	want, room := kmsgFetchResponse(t, &a).AppendTo(nil), a.size()
	got := bytesOf(t, a.encode(make([]byte, 0, room)))
	if !bytes.Equal(got, want) {
		t.Error("the answer is not what kmsg writes")
	}
	if most := copyTotal + 200*len(a.results); len(a.buf) > most || room > most {
		t.Errorf("%d bytes in memory, %d promised, want at most %d", len(a.buf), room, most)
	}
}

// TestFetchRecordsThatCannotBeRead become an error of their partition, and nothing else suffers.
func TestFetchRecordsThatCannotBeRead(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	f, err := faults.Create("records")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 100), 0); err != nil {
		t.Fatal(err)
	}
	for version, code := range map[int16]int16{5: kerr.NotLeaderForPartition.Code, 6: kerr.KafkaStorageError.Code} {
		remove := faults.Fail(vfs.Rule{Op: vfs.OpRead, Times: 1, Err: vfs.ErrLocked})
		a := fetchAnswer{version: version}
		for index := range int32(2) {
			r := fetchFailure(0)
			r.topic, r.index, r.highWatermark, r.records = "t", index, 9, storage.Slice{File: f, Len: 100}
			a.results = append(a.results, r)
		}
		resp := kmsg.NewPtrFetchResponse()
		resp.Version = version
		if err := resp.ReadFrom(bytesOf(t, a.encode(nil))); err != nil {
			t.Fatal(err)
		}
		p := resp.Topics[0].Partitions
		if p[0].ErrorCode != code || p[0].HighWatermark != -1 || len(p[0].RecordBatches) != 0 {
			t.Errorf("v%d, the one that fails: %+v", version, p[0])
		}
		if p[1].ErrorCode != 0 || p[1].HighWatermark != 9 || len(p[1].RecordBatches) != 100 {
			t.Errorf("v%d, the other: %+v", version, p[1])
		}
		remove()
	}
}

func BenchmarkFetchEncode(b *testing.B) {
	file := pieces(b)
	r := fetchFailure(0)
	r.id, r.highWatermark, r.records = [16]byte{1}, 100, storage.Slice{File: file, Len: 1000}
	a := fetchAnswer{version: fetchMax, results: []fetchResult{r}}
	buf := make([]byte, 0, a.size())
	b.ReportAllocs()
	for b.Loop() {
		a.encode(buf)
	}
}
