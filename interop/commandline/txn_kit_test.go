package commandline

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// txnsTool is Kafka's own tool for transactions.
const txnsTool = "org.apache.kafka.tools.TransactionsCommand"

// producer is a transactional producer from before KIP-890 that does what it is told, also what no client does: its requests
// are made by hand.
type producer struct {
	t        *testing.T
	cl       *kgo.Client
	name     string
	id       int64
	epoch    int16
	sequence map[int32]int32 // by partition, of the only topic
	written  time.Time       // what its records say
}

const producedTo = "orders"

// producer is one whose id the coordinator has just given.
func (x both) producer(name string, written time.Time) *producer {
	x.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(x.addr), kgo.MaxVersions(kversion.V3_0_0()))
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(cl.Close)
	p := &producer{t: x.t, cl: cl, name: name, sequence: map[int32]int32{}, written: written}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &p.name, 900_000
	resp, err := req.RequestWith(p.context(), cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		x.t.Fatalf("%s: %v", name, err)
	}
	p.id, p.epoch = resp.ProducerID, resp.ProducerEpoch
	return p
}

func (p *producer) context() context.Context {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	p.t.Cleanup(cancel)
	return ctx
}

// done fails the test unless a request went well.
func (p *producer) done(act string, code int16, err error) {
	p.t.Helper()
	if err == nil {
		err = kerr.ErrorForCode(code)
	}
	if err != nil {
		p.t.Fatalf("%s: %s: %v", p.name, act, err)
	}
}

// add adds a partition to the transaction, which begins with it. Kafka may still write the markers of the last one.
func (p *producer) add(partition int32) {
	p.t.Helper()
	for {
		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.name, p.id, p.epoch
		req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: producedTo, Partitions: []int32{partition}}}
		resp, err := req.RequestWith(p.context(), p.cl)
		if err != nil {
			p.t.Fatal(err)
		}
		code := resp.Topics[0].Partitions[0].ErrorCode
		if code == kerr.ConcurrentTransactions.Code {
			continue
		}
		p.done("adding", code, nil)
		return
	}
}

// send writes one record as part of a transaction, whether the coordinator knows it or not.
func (p *producer) send(partition int32) {
	p.t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.TransactionID, req.Acks, req.TimeoutMillis = &p.name, -1, 30_000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: producedTo, Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: p.batch(partition)}}}}
	resp, err := p.cl.SeedBrokers()[0].Request(p.context(), req)
	if err != nil {
		p.t.Fatal(err)
	}
	p.done("sending", resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode, nil)
	p.sequence[partition]++
}

func (p *producer) batch(partition int32) []byte {
	const transactional = 1 << 4
	record := kmsg.Record{Value: []byte("of " + p.name)}
	inner := record.AppendTo(nil)[1:] // a length of 0 takes one byte
	batch := kmsg.RecordBatch{
		Magic: 2, PartitionLeaderEpoch: -1, Attributes: transactional, FirstTimestamp: p.written.UnixMilli(), MaxTimestamp: p.written.UnixMilli(),
		ProducerID: p.id, ProducerEpoch: p.epoch, FirstSequence: p.sequence[partition], NumRecords: 1,
		Records: append(binary.AppendVarint(nil, int64(len(inner))), inner...),
	}
	const lengthAt, lengthEnd, crcAt, crcEnd = 8, 12, 17, 21
	b := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(b[lengthAt:], uint32(len(b)-lengthEnd))
	binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[crcEnd:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func (p *producer) end(commit bool) {
	p.t.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.name, p.id, p.epoch, commit
	resp, err := req.RequestWith(p.context(), p.cl)
	if err != nil {
		p.t.Fatal(err)
	}
	p.done("ending", resp.ErrorCode, nil)
}

// kafkaTxns runs Kafka's tool and returns the rows of its table, by their headings.
func (x both) kafkaTxns(args ...string) []map[string]string {
	x.t.Helper()
	ctx, cancel := x.context()
	defer cancel()
	out, err := x.tools.Run(ctx, txnsTool, append([]string{"--bootstrap-server", x.addr}, args...)...)
	if err != nil {
		x.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	x.t.Logf("kafka-transactions %v\n%s", args, out)
	return tabbed(out)
}

// tabbed reads a table whose columns end with tabs; other lines are passed over.
func tabbed(text string) []map[string]string {
	var headings []string
	var rows []map[string]string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "\t") {
			continue
		}
		cells := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if headings == nil {
			headings = cells
			continue
		}
		row := map[string]string{}
		for i, cell := range cells {
			row[strings.TrimSpace(headings[i])] = strings.TrimSpace(cell)
		}
		rows = append(rows, row)
	}
	return rows
}

type foundTxn struct {
	Topic            string
	Partition        int32
	ProducerID       int64      `json:"producer_id"`
	Epoch            int16      `json:"producer_epoch"`
	CoordinatorEpoch int32      `json:"coordinator_epoch"`
	LastTimestamp    *time.Time `json:"last_timestamp"`
	LastSequence     int32      `json:"last_sequence"`
	Start            *int64     `json:"start_offset"`
	Verdict, Why     string
	ID               string     `json:"transactional_id"`
	Since            *time.Time `json:"open_since"`
	Blocked          int64      `json:"blocked_offsets"`
	Holds            bool       `json:"holds_last_stable_offset"`
	Abort            string     `json:"abort_command"`
}

type describedTxn struct {
	ID          string `json:"transactional_id"`
	State       string
	ProducerID  int64 `json:"producer_id"`
	Epoch       int16 `json:"producer_epoch"`
	Timeout     int64 `json:"timeout_ms"`
	Started     *time.Time
	Age         *int64 `json:"age_ms"`
	Coordinator struct{ ID int32 }
	Partitions  map[string][]int32
}

// read runs the skein command with --json and reads what it prints.
func read[T any](x both, args ...string) (out T) {
	x.t.Helper()
	text := x.skein(append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		x.t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return out
}
