package exactlyonce

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// TestJavaGoesBackToWhereACommittedEpochEnded: an offset that is committed with
// a leader epoch of before, as Sarama does, sends a Java consumer back to the end
// of that epoch, over records whose offsets are committed. It asks the broker
// where the epoch ended and takes the rest for cut off; Kafka 4.4.0 tells it the
// same. Without an epoch it begins where the group is.
func TestJavaGoesBackToWhereACommittedEpochEnded(t *testing.T) {
	tools, err := kafka.Install(t.Context(), kafka.V4)
	if err != nil {
		report.MissingPeer(t, "kafka-console-consumer "+kafka.V4, err)
		t.SkipNow()
	}
	broker := target.Start(t, nil)
	if broker.Restart == nil {
		t.Skipf("%s is not started again", broker.Name)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr), kgo.DefaultProduceTopic(inputTopic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := admin.CreateTopics(t.Context(), broker.Addr, 1, nil, inputTopic); err != nil {
		t.Fatal(err)
	}
	const half = 100 // records in each epoch
	write(t, client, half)
	if err := broker.Restart(); err != nil {
		t.Fatal(err)
	}
	write(t, client, half)
	const committed = half + half/2
	for epoch, want := range map[int32]int64{0: half, -1: committed} {
		of := fmt.Sprint(group, epoch)
		var offsets kadm.Offsets
		offsets.AddOffset(inputTopic, 0, committed, epoch)
		if err := kadm.NewClient(client).CommitAllOffsets(t.Context(), of, offsets); err != nil {
			t.Fatal(err)
		}
		said, err := tools.Run(t.Context(), kafka.ConsoleConsumer, "--bootstrap-server", broker.Addr, "--topic", inputTopic, "--group", of,
			"--max-messages", "1", "--timeout-ms", "60000", "--formatter-property", "print.offset=true",
			"--command-property", "auto.offset.reset=earliest")
		if err != nil || !strings.Contains(said, fmt.Sprintf("Offset:%d\t", want)) {
			t.Errorf("%d is committed with epoch %d: the consumer says %q, %v; want offset %d", committed, epoch, said, err, want)
		}
	}
}

func write(t *testing.T, client *kgo.Client, n int) {
	t.Helper()
	for range n {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Value: []byte("0 0")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}
