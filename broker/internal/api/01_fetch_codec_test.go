package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

func drawFetch(t *rapid.T, version int16) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.Version = version
	if version < fetchReplicaState {
		r.ReplicaID = rapid.Int32().Draw(t, "replica")
	} else {
		r.ReplicaState.ID = rapid.Int32Range(-1, 5).Draw(t, "replica")
		r.ReplicaState.Epoch = rapid.Int64Range(-1, 5).Draw(t, "replica epoch")
	}
	r.MaxWaitMillis, r.MinBytes, r.MaxBytes = rapid.Int32().Draw(t, "wait"), rapid.Int32().Draw(t, "min"), rapid.Int32().Draw(t, "max")
	r.IsolationLevel = rapid.Int8().Draw(t, "isolation")
	if version >= fetchSession {
		r.SessionID, r.SessionEpoch = rapid.Int32().Draw(t, "session"), rapid.Int32().Draw(t, "epoch")
	}
	for range rapid.IntRange(0, 3).Draw(t, "topics") {
		r.Topics = append(r.Topics, drawFetchTopic(t, version))
	}
	for range rapid.IntRange(0, 2).Draw(t, "forgotten") {
		f := kmsg.NewFetchRequestForgottenTopic()
		f.Topic, f.TopicID = drawTopicKey(t, version)
		f.Partitions = rapid.SliceOf(rapid.Int32()).Draw(t, "forgotten partitions")
		if version >= fetchSession {
			r.ForgottenTopics = append(r.ForgottenTopics, f)
		}
	}
	r.Rack = rapid.String().Draw(t, "rack")
	return r
}

func drawTopicKey(t *rapid.T, version int16) (name string, id [16]byte) {
	if version < fetchTopicID {
		return rapid.String().Draw(t, "name"), id
	}
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	return "", id
}

func drawFetchTopic(t *rapid.T, version int16) kmsg.FetchRequestTopic {
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = drawTopicKey(t, version)
	for range rapid.IntRange(0, 3).Draw(t, "partitions") {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset = rapid.Int32().Draw(t, "partition"), rapid.Int64().Draw(t, "offset")
		p.PartitionMaxBytes = rapid.Int32().Draw(t, "bytes")
		p.LogStartOffset = rapid.Int64().Draw(t, "start")
		if version >= fetchLeaderEpoch {
			p.CurrentLeaderEpoch = rapid.Int32().Draw(t, "leader epoch")
		}
		if version >= fetchFlexible {
			p.LastFetchedEpoch = rapid.Int32().Draw(t, "last epoch")
		}
		if version >= fetchDirectoryID {
			copy(p.ReplicaDirectoryID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "directory"))
		}
		topic.Partitions = append(topic.Partitions, p)
	}
	return topic
}

func compareFetch(t failer, got *fetchRequest, want *kmsg.FetchRequest) {
	t.Helper()
	replica := want.ReplicaID
	if want.Version >= fetchReplicaState {
		replica = want.ReplicaState.ID
	}
	if got.replicaID != replica || got.maxWaitMs != want.MaxWaitMillis || got.minBytes != want.MinBytes || got.maxBytes != want.MaxBytes ||
		got.isolation != want.IsolationLevel || got.sessionID != want.SessionID || got.sessionEpoch != want.SessionEpoch {
		t.Fatalf("head: got %+v, want %+v", got, want)
	}
	if len(got.topics) != len(want.Topics) || len(got.forgotten) != len(want.ForgottenTopics) {
		t.Fatalf("%d topics, %d forgotten, want %d and %d", len(got.topics), len(got.forgotten), len(want.Topics), len(want.ForgottenTopics))
	}
	for i, w := range want.Topics {
		compareFetchTopic(t, got, got.topics[i], w)
	}
	for i, w := range want.ForgottenTopics {
		g := got.forgotten[i]
		if string(g.name) != w.Topic || g.id != w.TopicID || g.end-g.first != len(w.Partitions) {
			t.Fatalf("forgotten: got %+v, want %+v", g, w)
		}
		for j, p := range w.Partitions {
			if got.forgets[g.first+j] != p {
				t.Fatalf("forgotten partition %d, want %d", got.forgets[g.first+j], p)
			}
		}
	}
}

func compareFetchTopic(t failer, got *fetchRequest, g fetchTopic, w kmsg.FetchRequestTopic) {
	t.Helper()
	if string(g.name) != w.Topic || g.id != w.TopicID || g.end-g.first != len(w.Partitions) {
		t.Fatalf("topic: got %+v, want %+v", g, w)
	}
	for i, wp := range w.Partitions {
		want := fetchPartition{wp.Partition, wp.CurrentLeaderEpoch, wp.FetchOffset, wp.LastFetchedEpoch, wp.PartitionMaxBytes}
		if gp := got.partitions[g.first+i]; gp != want {
			t.Fatalf("partition: got %+v, want %+v", gp, want)
		}
	}
}

func TestFetchRequestReadsWhatKmsgWrites(t *testing.T) {
	for version := int16(fetchMin); version <= fetchMax; version++ {
		rapid.Check(t, func(t *rapid.T) {
			want := drawFetch(t, version)
			var got fetchRequest
			if err := got.decode(want.AppendTo(nil), version); err != nil {
				t.Fatal(err)
			}
			compareFetch(t, &got, want)
		})
	}
}

func fetchExample(version int16) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.Version = version
	r.MaxBytes = 1 << 20
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = "t"
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = 7, 1<<20
	topic.Partitions = append(topic.Partitions, p)
	r.Topics = append(r.Topics, topic)
	f := kmsg.NewFetchRequestForgottenTopic()
	f.Topic, f.Partitions = "t", []int32{3}
	if version >= fetchSession {
		r.ForgottenTopics = append(r.ForgottenTopics, f)
	}
	return r
}

func FuzzFetchRequest(f *testing.F) {
	for version := int16(fetchMin); version <= fetchMax; version++ {
		f.Add(version, fetchExample(version).AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < fetchMin || version > fetchMax {
			return
		}
		var got fetchRequest
		if got.decode(body, version) != nil {
			return
		}
		want := kmsg.NewPtrFetchRequest()
		want.Version = version
		if err := want.ReadFrom(body); err != nil {
			t.Fatalf("kmsg refuses what is accepted here: %v", err)
		}
		compareFetch(t, &got, want)
	})
}

func BenchmarkFetchDecode(b *testing.B) {
	body := fetchExample(fetchMax).AppendTo(nil)
	var q fetchRequest
	b.ReportAllocs()
	for b.Loop() {
		_ = q.decode(body, fetchMax)
	}
}
