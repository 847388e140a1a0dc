package load

import (
	"bytes"
	"context"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

func TestValuesAreTheSameInEveryRun(t *testing.T) {
	a, b := Values(100, 50), Values(100, 50)
	for i := range a {
		if len(a[i]) != 100 || !bytes.Equal(a[i], b[i]) {
			t.Fatalf("value %d differs between runs or has %d bytes", i, len(a[i]))
		}
	}
	if bytes.Equal(a[0], a[1]) {
		t.Error("all values are the same")
	}
}

func TestScheduleHoldsItsTimesWhateverIsLate(t *testing.T) {
	began := time.Unix(100, 0)
	s := newSchedule(began, 1000, 2*time.Second)
	if s.count != 2000 || s.leadIn() != 200 {
		t.Errorf("the schedule has %d records, %d of them to warm up", s.count, s.leadIn())
	}
	if got := s.due(1500).Sub(began); got != 1500*time.Millisecond {
		t.Errorf("record 1500 is due after %v", got)
	}
}

func TestNumbersOfOthersAreOfNoRecord(t *testing.T) {
	s := newSchedule(time.Now(), 1000, time.Second)
	s.first = 5000
	if i, ok := s.index(s.number(999)); !ok || i != 999 {
		t.Errorf("the last record is %d, %v", i, ok)
	}
	for _, number := range []uint64{0, 4999, 6000, math.MaxUint64} {
		if i, ok := s.index(number); ok {
			t.Errorf("%d is record %d", number, i)
		}
	}
}

func TestLateSenderSendsAllThatIsDue(t *testing.T) {
	s := newSchedule(time.Now().Add(-time.Hour), 1000, 100*time.Millisecond)
	var sent []int
	if err := s.run(t.Context(), func(i int) { sent = append(sent, i) }); err != nil {
		t.Fatal(err)
	}
	if len(sent) != 100 || sent[99] != 99 {
		t.Errorf("sent %d records", len(sent))
	}
}

func TestJavaSteadyStateIsRead(t *testing.T) {
	out := `Warmup first 10000 records. Steady state results will print after the complete test summary.
30000 records sent, 26478.375993 records/sec (2.53 MB/sec), 272.25 ms avg latency, 619.00 ms max latency, 261 ms 50th, 388 ms 95th, 391 ms 99th, 392 ms 99.9th.
20000 steady state records sent, 44642.857143 records/sec (4.26 MB/sec), 270.31 ms avg latency, 393.00 ms max latency, 259 ms 50th, 390 ms 95th, 392 ms 99th, 392 ms 99.9th.
`
	if rate, err := parseJava(out, 20000); err != nil || rate != 44642.857143 {
		t.Errorf("parseJava = %v, %v", rate, err)
	}
	if _, err := parseJava(out, 20001); err == nil {
		t.Error("records that were not sent are counted")
	}
	if _, err := parseJava("30000 records sent", 20000); err == nil {
		t.Error("a run without its last line is taken")
	}
}

func TestKcatInputHasItsLines(t *testing.T) {
	name, err := Kcat{dir: t.TempDir()}.input(100, 5000)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil || len(text) != 5000*101 || strings.Count(string(text), "\n") != 5000 {
		t.Errorf("%d bytes, %d lines, %v", len(text), strings.Count(string(text), "\n"), err)
	}
}

// The Go client's runs, against a broker in this process.
func TestRunsOfTheGoClient(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	addr := cluster.ListenAddrs()[0]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const topic, count = "all", 3000
	if err := CreateTopic(ctx, addr, topic); err != nil {
		t.Fatal(err)
	}
	for _, codec := range []Codec{Uncompressed, ClientDefault} {
		if rate, err := Produce(ctx, addr, topic, 100, count, codec); err != nil || rate <= 0 {
			t.Errorf("Produce with codec %d = %v, %v", codec, rate, err)
		}
	}
	if rate, err := Consume(ctx, addr, topic, 2*count, 2); err != nil || rate <= 0 {
		t.Errorf("Consume = %v, %v", rate, err)
	}
	if l, err := ProduceLatency(ctx, addr, topic, 1000, 100*time.Millisecond); err != nil || l.P50 <= 0 || l.P999 < l.P99 || l.P99 < l.P50 {
		t.Errorf("ProduceLatency = %+v, %v", l, err)
	}
	runTransactors(t, ctx, addr)
	if err := CreateTopic(ctx, addr, "ends"); err != nil {
		t.Fatal(err)
	}
	if l, err := EndToEndLatency(ctx, addr, "ends", 1000, 100*time.Millisecond); err != nil || l.P50 <= 0 {
		t.Errorf("EndToEndLatency = %+v, %v", l, err)
	}
}

func runTransactors(t *testing.T, ctx context.Context, addr string) {
	t.Helper()
	if err := CreateTopic(ctx, addr, "txns"); err != nil {
		t.Fatal(err)
	}
	for _, transactional := range []bool{true, false} {
		all, err := NewTransactors(addr, "txns", 2, 3, transactional)
		if err != nil {
			t.Fatal(err)
		}
		defer all.Close()
		done, err := all.Run(ctx, 20*time.Millisecond)
		if err != nil || done.Groups < 2 || done.Rate() <= 0 || done.Commit.P50 > 0 != transactional {
			t.Errorf("Run = %+v, %v", done, err)
		}
	}
	fillAndRead(t, ctx, addr)
}

// Of 2 × 25 committed transactions and 2 × 2 aborted ones the reader of
// committed records gets the former, and no more.
func fillAndRead(t *testing.T, ctx context.Context, addr string) {
	t.Helper()
	if err := CreateTopic(ctx, addr, "filled"); err != nil {
		t.Fatal(err)
	}
	all, err := NewTransactors(addr, "filled", 2, 3, true)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if err := all.Fill(ctx, 25); err != nil {
		t.Fatal(err)
	}
	if rate, err := ConsumeCommitted(ctx, addr, "filled", 2*25*3, 2); err != nil || rate <= 0 {
		t.Errorf("ConsumeCommitted = %v, %v", rate, err)
	}
	if rate, err := Consume(ctx, addr, "filled", 2*27*3, 1); err != nil || rate <= 0 {
		t.Errorf("Consume of all = %v, %v", rate, err)
	}
	brief, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := ConsumeCommitted(brief, addr, "filled", 2*25*3+1, 1); err == nil {
		t.Error("an aborted record was read")
	}
}
