package txn

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/scripts"
)

// kafkaRecords are records that a Kafka wrote (R-E2): interop's TestTransactionRecords made the file.
const kafkaRecords = "testdata/records/kafka-4.4.txt"

// step of a fixture: a command and the records that it has left.
type kafkaStep struct {
	command string
	records []machine.Record
}

func readKafka(t testing.TB) []kafkaStep {
	t.Helper()
	f, err := os.Open(kafkaRecords)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var steps []kafkaStep
	var key []byte
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		kind, digits, _ := strings.Cut(lines.Text(), " ")
		b, _ := hex.DecodeString(digits)
		switch kind {
		case "#":
		case "key":
			key = b
		case "value":
			last := &steps[len(steps)-1]
			last.records = append(last.records, machine.Record{Key: key, Value: b})
		default:
			steps = append(steps, kafkaStep{command: lines.Text()})
		}
	}
	return steps
}

// TestRecordsAreKafkas: the commands that were given to a Kafka leave the same bytes here but for producer ids, times and the
// order of topics, which in Kafka is that of a hash map. What is ours is in tagged fields, and only where it is needed.
func TestRecordsAreKafkas(t *testing.T) {
	s := &script{stage: newStage(t, testSettings())}
	tagged, ids := 0, theirs{noProducerID: noProducerID}
	for n, step := range readKafka(t) {
		s.advance(s.now.Add(time.Millisecond)) // so that times tell which command they are of
		s.fresh = nil
		switch step.command {
		case "timeout":
			s.advance(s.m.transactions["tx"].deadline())
			s.finish(scripts.Parse(s, nil))
		case "exhaust": // Kafka was asked for epochs until there was none left
			s.rewind("tx", epochMax)
			s.become(s.client("B"), s.m.transactions["tx"].String())
		default:
			s.run(n+1, strings.Fields(step.command))
		}
		if len(s.fresh) != len(step.records) {
			t.Fatalf("%s: %d records, Kafka has %d", step.command, len(s.fresh), len(step.records))
		}
		for i, ours := range s.fresh {
			got, tags := ids.alike(t, ours, step.records[i])
			if want := fmt.Sprintf("%x %x", step.records[i].Key, step.records[i].Value); got != want {
				t.Errorf("%s: record %d is\n%s\nKafka has\n%s", step.command, i, got, want)
			}
			tagged += tags
			if strings.HasSuffix(step.command, "commit v=5") && tags > 0 {
				t.Errorf("%s: a commit has fields of ours", step.command)
			}
		}
	}
	if tagged == 0 {
		t.Error("none has a field of ours")
	}
}

// theirs are Kafka's producer ids by ours.
type theirs map[int64]int64

// of is Kafka's id for one of ours: the one that it has where ours was first seen.
func (ids theirs) of(ours, kafkas int64) int64 {
	if _, known := ids[ours]; !known {
		ids[ours] = kafkas
	}
	return ids[ours]
}

// alike is our record with what it need not have in common with theirs taken from theirs, in hex, and how many fields of
// ours it had.
func (ids theirs) alike(t *testing.T, ours, theirs machine.Record) (string, int) {
	t.Helper()
	o, k := kmsg.NewTxnMetadataValue(), kmsg.NewTxnMetadataValue()
	if err := o.ReadFrom(ours.Value); err != nil {
		t.Fatal(err)
	}
	if err := k.ReadFrom(theirs.Value); err != nil {
		t.Fatal(err)
	}
	completed := k.State == kmsg.TransactionStateCompleteCommit || k.State == kmsg.TransactionStateCompleteAbort
	began := func(v *kmsg.TxnMetadataValue) bool { return v.StartTimestamp == v.LastUpdateTimestamp }
	if (o.StartTimestamp < 0) != (k.StartTimestamp < 0) || began(&o) != began(&k) && !completed {
		t.Errorf("times are %d, %d; Kafka has %d, %d", o.StartTimestamp, o.LastUpdateTimestamp, k.StartTimestamp, k.LastUpdateTimestamp)
	}
	o.StartTimestamp, o.LastUpdateTimestamp = k.StartTimestamp, k.LastUpdateTimestamp
	o.ProducerID = ids.of(o.ProducerID, k.ProducerID)
	o.PreviousProducerID = ids.of(o.PreviousProducerID, k.PreviousProducerID)
	o.NextProducerID = ids.of(o.NextProducerID, k.NextProducerID)
	tags := o.UnknownTags.Len()
	o.UnknownTags = kmsg.Tags{}
	if k.Topics != nil {
		slices.SortFunc(o.Topics, func(a, b kmsg.TxnMetadataValueTopic) int { return indexOf(k.Topics, a) - indexOf(k.Topics, b) })
	}
	return fmt.Sprintf("%x %x", ours.Key, nullTopics(ours.Value, o)), tags
}

func indexOf(topics []kmsg.TxnMetadataValueTopic, of kmsg.TxnMetadataValueTopic) int {
	return slices.IndexFunc(topics, func(t kmsg.TxnMetadataValueTopic) bool { return t.Topic == of.Topic })
}

// nullTopics is v's bytes. kmsg reads null as an empty list.
func nullTopics(was []byte, v kmsg.TxnMetadataValue) []byte {
	const at = 2 + 8 + 2 + 4 + 1
	if was[at] == 0 {
		v.Topics = nil
	}
	return v.AppendTo(nil)
}

// TestLoadOfKafkasLog: a machine that takes over a log of Kafka's knows what Kafka knew, and finishes what it left.
func TestLoadOfKafkasLog(t *testing.T) {
	steps := readKafka(t)
	st := newStage(t, testSettings())
	for _, step := range steps {
		for _, r := range step.records {
			st.log = append(st.log, r)
			var v kmsg.TxnMetadataValue
			if err := v.ReadFrom(r.Value); err != nil {
				t.Fatal(err)
			}
			st.restart()
			got := st.m.transactions["tx"]
			if got.state != v.State || got.identity != (identity{v.ProducerID, v.ProducerEpoch}) || int32(got.timeout.Milliseconds()) != v.TimeoutMillis {
				t.Fatalf("%s: %v", step.command, sayValue(got.value))
			}
			if asked := len(st.asks) == 1; asked != got.decided() {
				t.Fatalf("%s: %d asks for %v", step.command, len(st.asks), sayValue(got.value))
			}
		}
	}
	// The answer to an EndTxn v5 may have been lost when the broker was changed: the retry is known from the record alone.
	for i, step := range steps {
		if step.command != "A commit v=5" {
			continue
		}
		again := newStage(t, testSettings())
		for _, earlier := range steps[:i+1] {
			again.log = append(again.log, earlier.records...)
		}
		again.restart()
		is := again.m.transactions["tx"].identity
		in := End{Caller: Caller{Version: 5}, TransactionalID: "tx", ProducerID: is.ProducerID, Epoch: is.Epoch - 1, Commit: true}
		if got := again.step(in).(Ended); got != (Ended{ProducerID: is.ProducerID, Epoch: is.Epoch}) {
			t.Errorf("the retry of %v is answered %+v", is, got)
		}
	}
}
