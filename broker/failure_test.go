package broker

import (
	"context"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/vfs"
)

// TestABrokerThatCannotSyncStopsServing: and it tells the program around it.
func TestABrokerThatCannotSyncStopsServing(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	b, err := Open(t.Context(), Config{Dir: dataDir, files: faults})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- b.Serve(l) }()
	w, err := dial(b)
	if err != nil {
		t.Fatal(err)
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t", 1, 1
	create.Topics = append(create.Topics, topic)
	if _, err := ask[*kmsg.CreateTopicsResponse](w, create); err != nil {
		t.Fatal(err)
	}
	if err := b.Err(); err != nil {
		t.Fatalf("a broker that works says %v", err)
	}

	faults.Fail(vfs.Rule{Op: vfs.OpSync, Name: "*.wal", Err: syscall.EIO})
	batch := &toProduce{topic: "t", batch: keyedBatch(rand.New(rand.NewPCG(1, 1)), -1, -1, 1)}
	answer, err := ask[*kmsg.ProduceResponse](w, produceRequest(batch))
	if err == nil {
		if err := batch.take(answer); err != nil || batch.code == 0 {
			t.Errorf("a batch that may not last is answered with code %d, %v", batch.code, err)
		}
	}
	<-b.Failed()
	for what, err := range map[string]error{"Err": b.Err(), "Serve": <-served, "Ready": b.readiness()} {
		if err == nil {
			t.Errorf("%s tells no reason", what)
		}
	}
	w.close()
	_ = b.Shutdown(context.Background()) // with the same error or another
}
