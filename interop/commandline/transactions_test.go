package commandline

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// TestConsumeStopsBehindTransactionMarkers: the end of a partition may be a
// marker, which no record ever reaches.
func TestConsumeStopsBehindTransactionMarkers(t *testing.T) {
	b := target.Kafka(t, kafka.Options{})
	sh := newShell(t)
	sh.env = []string{"SKEIN_BOOTSTRAP=" + b.Addr}
	for _, c := range []struct {
		topic                  string
		commits                []bool
		committed, uncommitted string
	}{
		{"kept", []bool{true}, "0\n", "0\n"},
		{"dropped", []bool{false}, "", "0\n"},
		{"kept-dropped", []bool{true, false, false}, "0\n", "0\n1\n2\n"},
		{"dropped-kept", []bool{false, true}, "1\n", "0\n1\n"},
	} {
		if out, code := sh.run(t, "", nil, "topic", "create", c.topic); code != 0 {
			t.Fatal(out)
		}
		transact(t, b.Addr, c.topic, c.commits)
		for level, want := range map[string]string{"read_committed": c.committed, "read_uncommitted": c.uncommitted} {
			out, code := sh.run(t, "", nil, "consume", c.topic, "--exit-at-end", "--isolation", level)
			if code != 0 || out != want {
				t.Errorf("%s, %s: exit %d, got %q, want %q", c.topic, level, code, out, want)
			}
		}
	}
}

// transact writes one record a transaction, numbered, and commits or aborts it.
func transact(t *testing.T, address, topic string, commits []bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.TransactionalID(topic), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for i, commit := range commits {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := cl.ProduceSync(ctx, kgo.StringRecord(string(rune('0'+i)))).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := cl.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
			t.Fatal(err)
		}
	}
	awaitMarkers(ctx, t, cl, topic)
}

// awaitMarkers returns once the last transaction's marker is in the log: Kafka
// answers the end of a transaction before it has written it.
func awaitMarkers(ctx context.Context, t *testing.T, cl *kgo.Client, topic string) {
	t.Helper()
	admin := kadm.NewClient(cl)
	for {
		stable, err := admin.ListCommittedOffsets(ctx, topic)
		if err != nil {
			t.Fatal(err)
		}
		end, err := admin.ListEndOffsets(ctx, topic)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := stable.Lookup(topic, 0)
		e, _ := end.Lookup(topic, 0)
		if s.Err == nil && e.Err == nil && s.Offset == e.Offset {
			return
		}
	}
}
