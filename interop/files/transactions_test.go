package files

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// transactionFixture is what the transaction coordinator's own tests compare their records with.
const transactionFixture = "internal/txn/testdata/records/kafka-4.4.txt"

const (
	transactionalID  = "tx"
	transactionTopic = "orders"
	transactionState = "__transaction_state"
)

// transactionCommands are commands of the scripts of the transaction coordinator's tests. The first word is who, the rest
// what: "timeout" waits until the coordinator has aborted.
var transactionCommands = []string{
	"A init v=4", "A add orders-0 orders-1 v=3", "A commit v=4", "A add orders-1 v=3", "A abort v=4", "A recover v=4",
	"A add orders-0 payments-0 v=3", "A commit v=5", "A add orders-0 v=3", "A abort v=5", "A abort v=5",
	"A add offsets v=4 __consumer_offsets-0", "A commit v=5", "A add v=3", "A commit v=4",
	"A add orders-0 v=5 implicit", "A commit v=5", "A add orders-0 v=3",
	"B init v=4", "B add orders-0 v=3", "B recover v=4 timeout=2s", "B add orders-1 v=3", "timeout",
	"B abort v=5", "B recover v=5 timeout=2s", "B add orders-0 v=3", "timeout", "B init v=5",
}

// exhaustedCommands are given when the fixture is written, since "exhaust" initialises the producer 32766 times. What that
// leaves is not written down.
var exhaustedCommands = []string{
	"exhaust", "B add orders-0 v=3", "B commit v=5", "B add orders-1 v=3", "B abort v=4",
	"exhaust", "B add orders-0 v=3", "C init v=4", "C add orders-0 v=3", "C commit v=5",
}

// TestTransactionRecords: what Kafka writes to __transaction_state when these commands are given is what our coordinator's
// tests hold it to.
func TestTransactionRecords(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	broker := target.Kafka(t, kafka.Options{Settings: map[string]string{
		"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
	}})
	for _, topic := range []string{transactionTopic, "payments"} {
		if err := admin.CreateTopics(ctx, broker.Addr, 2, nil, topic); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", broker.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	d := &driver{t: t, addr: broker.Addr, conn: conn, producers: map[string]*producer{}, commands: transactionCommands}
	if *update {
		d.commands = append(d.commands, exhaustedCommands...)
	}
	d.find(ctx)
	var ends []int64
	for _, c := range d.commands {
		d.run(ctx, c)
		ends = append(ends, d.settled(ctx))
	}
	d.compare(d.fixture(ctx, ends))
	report.Note(t, report.Shown, "transaction records", "%d commands leave the records that our coordinator is held to", len(d.commands))
}

// producer is who a client was told that it is.
type producer struct {
	id    int64
	epoch int16
}

// driver gives commands to a broker, each with its version of the request.
type driver struct {
	t         *testing.T
	addr      string
	conn      net.Conn
	producers map[string]*producer
	commands  []string
}

// find asks for the coordinator, which makes the topic, and for that of groups.
func (d *driver) find(ctx context.Context) {
	d.t.Helper()
	for kind, key := range []string{"g", transactionalID} {
		for code := int16(-1); code != 0; soon(ctx) {
			r := kmsg.NewPtrFindCoordinatorRequest()
			r.CoordinatorKey, r.CoordinatorType = key, int8(kind)
			code = request[*kmsg.FindCoordinatorResponse](ctx, d, 3, r).ErrorCode
		}
	}
}

func (d *driver) run(ctx context.Context, command string) {
	d.t.Helper()
	words := strings.Fields(command)
	switch words[0] {
	case "timeout":
		d.awaitState(ctx, "CompleteAbort")
		return
	case "exhaust":
		d.exhaust(ctx)
		return
	}
	who := d.producers[words[0]]
	if who == nil {
		who = &producer{-1, -1}
		d.producers[words[0]] = who
	}
	for code := d.send(ctx, who, words); code != 0; code = d.send(ctx, who, words) {
		if code != kerr.ConcurrentTransactions.Code && !starting(code) {
			d.t.Fatalf("%s: %v", command, kerr.ErrorForCode(code))
		}
		soon(ctx)
	}
}

// exhaust initialises the producer until it has the last epoch.
func (d *driver) exhaust(ctx context.Context) {
	d.t.Helper()
	for who := d.producers["B"]; who.epoch < 32766; {
		if code := d.init(ctx, who, false, 4, 60_000); code != 0 {
			d.t.Fatalf("at %+v: %v", *who, kerr.ErrorForCode(code))
		}
	}
}

// starting: the coordinator is not there yet.
func starting(code int16) bool {
	return code == kerr.NotCoordinator.Code || code == kerr.CoordinatorLoadInProgress.Code || code == kerr.CoordinatorNotAvailable.Code
}

// send sends the request of a command once and returns its code.
func (d *driver) send(ctx context.Context, who *producer, words []string) int16 {
	d.t.Helper()
	version, timeout, offsets, rest := int16(0), 60_000, false, []string(nil)
	for _, w := range words[2:] {
		switch name, value, _ := strings.Cut(w, "="); name {
		case "v":
			fmt.Sscan(value, &version)
		case "timeout":
			timeout = 2000
		case "offsets":
			offsets = true
		case "implicit": // what the version says, too
		default:
			rest = append(rest, w)
		}
	}
	switch words[1] {
	case "init", "recover":
		return d.init(ctx, who, words[1] == "recover", version, int32(timeout))
	case "add":
		if offsets {
			return d.addOffsets(ctx, who, version)
		}
		return d.add(ctx, who, version, rest)
	}
	return d.end(ctx, who, version, words[1] == "commit")
}

// request sends a request in one version of it, also one that clients leave to brokers.
func request[R kmsg.Response](ctx context.Context, d *driver, version int16, r kmsg.Request) R {
	d.t.Helper()
	if ctx.Err() != nil {
		d.t.Fatal(ctx.Err())
	}
	conn := d.conn
	r.SetVersion(version)
	if _, err := conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, r, 1)); err != nil {
		d.t.Fatalf("%T v%d: %v", r, version, err)
	}
	var size uint32
	if err := binary.Read(conn, binary.BigEndian, &size); err != nil {
		d.t.Fatalf("%T v%d: %v", r, version, err)
	}
	frame := make([]byte, size)
	if _, err := io.ReadFull(conn, frame); err != nil {
		d.t.Fatalf("%T v%d: %v", r, version, err)
	}
	header := 4
	if r.IsFlexible() {
		header++ // no tagged fields
	}
	response := r.ResponseKind()
	if err := response.ReadFrom(frame[header:]); err != nil {
		d.t.Fatalf("%T v%d: %v", r, version, err)
	}
	return response.(R)
}

func (d *driver) init(ctx context.Context, who *producer, recovers bool, version int16, timeout int32) int16 {
	r := kmsg.NewPtrInitProducerIDRequest()
	r.TransactionalID, r.TransactionTimeoutMillis = kmsg.StringPtr(transactionalID), timeout
	if recovers {
		r.ProducerID, r.ProducerEpoch = who.id, who.epoch
	}
	response := request[*kmsg.InitProducerIDResponse](ctx, d, version, r)
	if response.ErrorCode == 0 {
		who.id, who.epoch = response.ProducerID, response.ProducerEpoch
	}
	return response.ErrorCode
}

func (d *driver) add(ctx context.Context, who *producer, version int16, partitions []string) int16 {
	r := kmsg.NewPtrAddPartitionsToTxnRequest()
	r.TransactionalID, r.ProducerID, r.ProducerEpoch = transactionalID, who.id, who.epoch
	for _, p := range partitions {
		topic, number, _ := strings.Cut(p, "-")
		if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != topic {
			r.Topics = append(r.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: topic})
		}
		last := &r.Topics[len(r.Topics)-1]
		last.Partitions = append(last.Partitions, int32(number[0]-'0'))
	}
	if version >= 4 { // as a broker does for a client that produces
		tx := kmsg.AddPartitionsToTxnRequestTransaction{TransactionalID: r.TransactionalID, ProducerID: r.ProducerID, ProducerEpoch: r.ProducerEpoch}
		for _, topic := range r.Topics {
			tx.Topics = append(tx.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic(topic))
		}
		r.Transactions = append(r.Transactions, tx)
	}
	response := request[*kmsg.AddPartitionsToTxnResponse](ctx, d, version, r)
	for _, tx := range response.Transactions {
		for _, topic := range tx.Topics {
			if code := topic.Partitions[0].ErrorCode; code != 0 {
				return code
			}
		}
	}
	for _, topic := range response.Topics {
		for _, p := range topic.Partitions {
			if p.ErrorCode != 0 {
				return p.ErrorCode
			}
		}
	}
	return 0
}

func (d *driver) addOffsets(ctx context.Context, who *producer, version int16) int16 {
	r := kmsg.NewPtrAddOffsetsToTxnRequest()
	r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Group = transactionalID, who.id, who.epoch, "g"
	return request[*kmsg.AddOffsetsToTxnResponse](ctx, d, version, r).ErrorCode
}

func (d *driver) end(ctx context.Context, who *producer, version int16, commit bool) int16 {
	r := kmsg.NewPtrEndTxnRequest()
	r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Commit = transactionalID, who.id, who.epoch, commit
	response := request[*kmsg.EndTxnResponse](ctx, d, version, r)
	if response.ErrorCode == 0 && version >= 5 {
		who.id, who.epoch = response.ProducerID, response.ProducerEpoch
	}
	return response.ErrorCode
}

func (d *driver) state(ctx context.Context, id string) string {
	d.t.Helper()
	r := kmsg.NewPtrDescribeTransactionsRequest()
	r.TransactionalIDs = []string{id}
	response := request[*kmsg.DescribeTransactionsResponse](ctx, d, 0, r)
	return response.TransactionStates[0].State
}

func (d *driver) awaitState(ctx context.Context, state string) {
	d.t.Helper()
	for d.state(ctx, transactionalID) != state {
		if ctx.Err() != nil {
			d.t.Fatalf("the transaction is never %s", state)
		}
		soon(ctx)
	}
}

// settle waits until no markers of an id are to be written.
func (d *driver) settle(ctx context.Context, id string) {
	d.t.Helper()
	for strings.HasPrefix(d.state(ctx, id), "Prepare") && ctx.Err() == nil {
		soon(ctx)
	}
}

// settled waits until markers are written and returns where the log of states ends then.
func (d *driver) settled(ctx context.Context) int64 {
	d.t.Helper()
	d.settle(ctx, transactionalID)
	client, err := kgo.NewClient(kgo.SeedBrokers(d.addr))
	if err != nil {
		d.t.Fatal(err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, transactionState)
	if err != nil {
		d.t.Fatal(err)
	}
	end, _ := ends.Lookup(transactionState, 0)
	return end.Offset
}

// fixture reads the log of states and writes each command down with the records that it has left.
func (d *driver) fixture(ctx context.Context, ends []int64) string {
	d.t.Helper()
	start := map[string]map[int32]kgo.Offset{transactionState: {0: kgo.NewOffset().AtStart()}}
	client, err := kgo.NewClient(kgo.SeedBrokers(d.addr), kgo.ConsumePartitions(start))
	if err != nil {
		d.t.Fatal(err)
	}
	defer client.Close()
	text := map[int]string{}
	for next := int64(0); next < ends[len(ends)-1]; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			d.t.Fatalf("reading %s: %v", transactionState, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			i := 0
			for ends[i] <= r.Offset {
				i++
			}
			if d.commands[i] != "exhaust" {
				text[i] += fmt.Sprintf("key %x\nvalue %x\n", r.Key, r.Value)
			}
			next = r.Offset + 1
		})
	}
	all := "# Requests about transactions, and the records that Apache Kafka " + kafka.V4 + " made of them, in hex.\n# Written by interop: go test ./files -run TransactionRecords -update\n"
	for i, c := range d.commands {
		all += c + "\n" + text[i]
	}
	return all
}

// compare looks for differences between the fixture and what Kafka does now, or writes the fixture.
func (d *driver) compare(text string) {
	d.t.Helper()
	source, err := root.Skein()
	if err != nil {
		d.t.Fatal(err)
	}
	name := filepath.Join(source, filepath.FromSlash(transactionFixture))
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			d.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		d.t.Fatal(err)
	}
	if got, want := timeless(d.t, text), timeless(d.t, string(want)); got != want && (*update || !strings.HasPrefix(want, got)) {
		d.t.Errorf("Kafka does\n%s\n%s has\n%s", got, transactionFixture, want)
	}
}

// timeless is a fixture without times, and with topics in order: Kafka's order is that of a hash map.
func timeless(t *testing.T, text string) string {
	t.Helper()
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		digits, ok := strings.CutPrefix(l, "value ")
		if !ok {
			continue
		}
		b, err := hex.DecodeString(digits)
		v := kmsg.NewTxnMetadataValue()
		if err != nil || v.ReadFrom(b) != nil {
			t.Fatalf("no value: %s", l)
		}
		v.LastUpdateTimestamp = 0
		v.StartTimestamp = min(v.StartTimestamp, 0)
		lines[i] = fmt.Sprintf("value %+v (%d bytes)", v, len(b))
	}
	return strings.Join(lines, "\n")
}

// soon is between two looks at a broker that is not done.
func soon(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
}
