package wire

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestTheFirstRecordIsReadable(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	addr := cluster.ListenAddrs()[0]
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := AwaitFirstProduce(ctx, addr, "seen"); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics("seen"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	records := client.PollFetches(ctx).Records()
	if len(records) != 1 || string(records[0].Value) != "first" {
		t.Errorf("read %v", records)
	}
}

func TestNobodyThereIsAnErrorWhenTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := AwaitFirstProduce(ctx, "127.0.0.1:1", "seen"); err == nil {
		t.Error("a broker that is not there has accepted a record")
	}
}
