package broker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// wire is a client that does what it is told and nothing by itself: requests leave in the order of send, and receive
// returns the answers in that order. It may be used by one goroutine.
type wire struct {
	conn    net.Conn
	sent    []kmsg.Request // not answered yet
	next    int32
	old     bool // it speaks oldVersions
	answers chan answer
}

// answer is the body of a response, or why there are no more.
type answer struct {
	body []byte
	err  error
}

// versions are those that wire speaks, all but ApiVersions: the newest that name topics by their names.
func versions() map[int16]int16 {
	return map[int16]int16{0: 12, 1: 12, 2: 7, 3: 12, 8: 9, 9: 9, 10: 4, 11: 9, 12: 4, 13: 5, 14: 5, 15: 6, 16: 5, 19: 7, 20: 5, 21: 2, 22: 4, 23: 4, 24: 3, 25: 3, 26: 5, 27: 1, 28: 5, 32: 4, 37: 3, 42: 3, 44: 1, 47: 0, 61: 0, 65: 0, 66: 1}
}

// oldVersions are those of clients before KIP-890, where they are others.
func oldVersions() map[int16]int16 { return map[int16]int16{0: 10, 26: 3, 28: 3} }

func (w *wire) version(key int16) int16 {
	if v, old := oldVersions()[key]; old && w.old {
		return v
	}
	return versions()[key]
}

func dial(b *Broker) (*wire, error) {
	conn, err := b.Dial(context.Background())
	if err != nil {
		return nil, err
	}
	w := &wire{conn: conn, answers: make(chan answer, 1000)}
	go w.read()
	return w, nil
}

// close ends the connection, and with it read.
func (w *wire) close() {
	_ = w.conn.Close()
	for a := range w.answers {
		_ = a
	}
}

// read takes what comes as it comes: nothing is buffered on the way, and the broker may answer before it reads on.
func (w *wire) read() {
	defer close(w.answers)
	for {
		var size [4]byte
		if _, err := io.ReadFull(w.conn, size[:]); err != nil {
			w.answers <- answer{err: err}
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(size[:]))
		_, err := io.ReadFull(w.conn, body)
		w.answers <- answer{body, err}
	}
}

func (w *wire) send(req kmsg.Request) error {
	req.SetVersion(w.version(req.Key()))
	w.sent = append(w.sent, req)
	w.next++
	_ = w.conn.SetWriteDeadline(time.Now().Add(patience))
	_, err := w.conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("crash")).AppendRequest(nil, req, w.next))
	return err
}

// patience bounds the wait for the broker: in a bubble time would pass for ever.
const patience = time.Minute

func (w *wire) receive() (kmsg.Response, error) {
	req := w.sent[0]
	w.sent = w.sent[1:]
	var body []byte
	select {
	case a := <-w.answers:
		if a.err != nil {
			return nil, a.err
		}
		body = a.body
	case <-time.After(patience):
		return nil, fmt.Errorf("no answer to request %d after %v", req.Key(), patience)
	}
	skip := 4 // the correlation id
	if req.IsFlexible() {
		skip++ // no tagged fields
	}
	if len(body) < skip {
		return nil, errors.New("a short response")
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(body[skip:]); err != nil {
		return nil, fmt.Errorf("reading a response to request %d: %w", req.Key(), err)
	}
	return resp, nil
}

// ask sends one request and returns the answer to it.
func ask[R kmsg.Response](w *wire, req kmsg.Request) (resp R, err error) {
	if err := w.send(req); err != nil {
		return resp, err
	}
	got, err := w.receive()
	if err != nil {
		return resp, err
	}
	return got.(R), nil
}

// failed is the error of a code, nil for 0.
func failed(code int16) error { return kerr.ErrorForCode(code) }

// produceRequest appends one batch to each of some partitions.
func produceRequest(parts ...*toProduce) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 30_000
	for _, p := range parts {
		t := kmsg.NewProduceRequestTopic()
		t.Topic = p.topic
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = p.index, p.batch
		t.Partitions = append(t.Partitions, rp)
		req.Topics = append(req.Topics, t)
	}
	return req
}

// toProduce is a batch and where it goes, and what came of it.
type toProduce struct {
	topic string
	index int32
	batch []byte

	code    int16
	base    int64
	message string
}

// take reads the outcome of each batch. A topic stands once in the answer, whatever the request had.
func (p *toProduce) take(resp *kmsg.ProduceResponse) error {
	for _, t := range resp.Topics {
		for _, r := range t.Partitions {
			if t.Topic == p.topic && r.Partition == p.index {
				p.code, p.base = r.ErrorCode, r.BaseOffset
				if r.ErrorMessage != nil {
					p.message = *r.ErrorMessage
				}
				return nil
			}
		}
	}
	return fmt.Errorf("no answer for %s-%d", p.topic, p.index)
}

// fetched is what a fetch of one partition returned.
type fetched struct {
	records       []byte
	highWatermark int64
	start         int64
}

func (w *wire) fetch(topic string, index int32, offset int64) (f fetched, err error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MaxWaitMillis, req.SessionEpoch = 64<<20, 0, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = index, offset, 16<<20
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.FetchResponse](w, req)
	if err != nil {
		return f, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return f, fmt.Errorf("fetching %s-%d: %v, an answer about %d topics", topic, index, failed(resp.ErrorCode), len(resp.Topics))
	}
	r := resp.Topics[0].Partitions[0]
	return fetched{r.RecordBatches, r.HighWatermark, r.LogStartOffset}, failed(r.ErrorCode)
}

// startOf is the first offset of a partition.
func (w *wire) startOf(topic string, index int32) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.CurrentLeaderEpoch = index, -2, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.ListOffsetsResponse](w, req)
	if err != nil {
		return 0, err
	}
	r := resp.Topics[0].Partitions[0]
	return r.Offset, failed(r.ErrorCode)
}
