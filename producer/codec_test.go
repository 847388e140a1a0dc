//go:build synctests

package producer

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/broker"
)

// Each codec arrives as it is called, and is read again. It is no bubble, which franz-go's decoders outlive.
func TestCodecs(t *testing.T) {
	b, err := broker.Open(background, broker.Config{})
	ok(t, err)
	reader, err := kgo.NewClient(kgo.SeedBrokers("skein:9092"), kgo.Dialer(b.Dialer()), kgo.ConsumeTopics("out"), kgo.AllowAutoTopicCreation(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ok(t, err)
	defer func() {
		reader.Close()
		ok(t, b.Shutdown(background))
	}()
	for attribute, codec := range []Codec{NoCodec, Gzip, Snappy, LZ4, Zstd} {
		cfg := Config{Codec: codec}
		cfg.Cluster.Brokers, cfg.Cluster.Dial = []string{"skein:9092"}, b.Dialer()
		cfg.Cluster.Options = []kgo.Opt{kgo.AllowAutoTopicCreation()}
		p, err := New(cfg)
		ok(t, err)
		value := strings.Repeat("compressible ", 100+attribute)
		r := record("out", value)
		ok(t, p.SendSync(background, r))
		if got := r.Attrs.CompressionType(); int(got) != attribute {
			t.Errorf("codec %d was written as %d", codec, got)
		}
		var read []*kgo.Record
		for len(read) == 0 {
			read = reader.PollFetches(within(time.Minute)).Records()
		}
		if string(read[0].Value) != value {
			t.Errorf("codec %d: something else is read", codec)
		}
		closes(t, p)
	}
}

// A topic that takes no records of this kind says so; a record goes where its partitioner has it go.
func TestPartitionsOnTheWire(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("out", 4)
		p := w.producer(Config{Partitioner: Manual()})
		defer closes(w.t, p)
		r := &Record{Topic: "out", Partition: 3, Value: []byte("x")}
		ok(w.t, p.SendSync(background, r))
		if r.Partition != 3 {
			t.Errorf("it is in %d", r.Partition)
		}
		is(w.t, p.SendSync(background, &Record{Topic: "out", Partition: 9}), Illegal)
		if got := w.readsWith("out", kgo.ReadUncommitted()); len(got) != 1 {
			t.Errorf("there are %d records", len(got))
		}
	})
}
