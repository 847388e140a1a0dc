//go:build unix

package broker_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker"
)

// The benchmarks of groups run the broker in a process of its own, so that what they report as its cost is not the
// client's.

const benchDir = "SKEIN_BENCH_BROKER_DIR"

// TestServeForBenchmarks is that process. It prints its address, and the CPU time that it has used for each line it reads.
func TestServeForBenchmarks(t *testing.T) {
	dir := os.Getenv(benchDir)
	if dir == "" {
		t.Skip("only as the child of a benchmark")
	}
	b := open(t, broker.Config{Dir: dir, Settings: map[string]string{
		"listeners": "PLAINTEXT://127.0.0.1:0", "group.initial.rebalance.delay.ms": "0",
	}})
	listeners, err := b.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- b.Serve(listeners[0]) }()
	createTopic(t, client(t, b), "t", 1)
	fmt.Println("address", listeners[0].Addr())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			t.Fatal(err)
		}
		fmt.Println("cpu", used.Utime.Nano()+used.Stime.Nano())
	}
	shutdown(t, b)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// benchBroker is a broker in a process of its own.
type benchBroker struct {
	b       *testing.B
	address string
	in      io.WriteCloser
	out     *bufio.Scanner
}

func startBenchBroker(b *testing.B) *benchBroker {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestServeForBenchmarks$")
	cmd.Env = append(os.Environ(), benchDir+"="+b.TempDir())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	s := &benchBroker{b: b, in: in, out: bufio.NewScanner(out)}
	s.address = s.read("address")
	b.Cleanup(func() {
		_ = in.Close()
		for s.out.Scan() {
			continue // until it ends
		}
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// read is the rest of the next line that begins with a word.
func (s *benchBroker) read(word string) string {
	for s.out.Scan() {
		if rest, ok := strings.CutPrefix(s.out.Text(), word+" "); ok {
			return rest
		}
	}
	s.b.Fatalf("the broker has ended before it said its %s", word)
	return ""
}

// cpu is how much CPU time it has used, in nanoseconds.
func (s *benchBroker) cpu() (used int64) {
	_, err := fmt.Fprintln(s.in)
	if err == nil {
		_, err = fmt.Sscan(s.read("cpu"), &used)
	}
	if err != nil {
		s.b.Fatal(err)
	}
	return used
}

// clients sends b.N requests, each on a connection of its own and so many of them at once, and reports what one costs the broker.
func (s *benchBroker) clients(requests []kmsg.Request, deep int) {
	conns := make([]*benchConn, len(requests))
	for i, req := range requests {
		conns[i] = s.dial()
		conns[i].must(req)
	}
	before := s.cpu()
	s.b.ResetTimer()
	var all sync.WaitGroup
	for i, c := range conns {
		n := s.b.N / len(conns)
		if i < s.b.N%len(conns) {
			n++
		}
		all.Go(func() { c.repeat(requests[i], n, deep) })
	}
	all.Wait()
	s.b.StopTimer()
	s.b.ReportMetric(float64(s.cpu()-before)/float64(s.b.N)/1000, "broker-cpu-µs/op")
}

// benchConn is a client that costs little.
type benchConn struct {
	b      *testing.B
	conn   net.Conn
	in     *bufio.Reader
	answer [64 << 10]byte
}

func (s *benchBroker) dial() *benchConn {
	s.b.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		s.b.Fatal(err)
	}
	s.b.Cleanup(func() { _ = conn.Close() })
	return &benchConn{b: s.b, conn: conn, in: bufio.NewReader(conn)}
}

// must asks until the answer is one without an error: the coordinator may be loading.
func (c *benchConn) must(req kmsg.Request) kmsg.Response {
	c.b.Helper()
	resp := req.ResponseKind()
	for range 100 {
		body, err := c.exchange(frameOf(req))
		if err == nil {
			resp.SetVersion(req.GetVersion())
			err = resp.ReadFrom(body[len(body)-bodySize(body, resp):])
		}
		if err == nil {
			err = kerr.ErrorForCode(codeOf(resp))
		}
		switch err {
		case nil:
			return resp
		case kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.CoordinatorNotAvailable:
			<-time.After(50 * time.Millisecond)
		default:
			c.b.Fatal(err)
		}
	}
	c.b.Fatal("the coordinator is not there")
	return nil
}

func frameOf(req kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, req, 1)
}

// bodySize is how long the body of a response is: without the correlation id and the tags of the header.
func bodySize(answer []byte, resp kmsg.Response) int {
	if resp.IsFlexible() {
		return len(answer) - 5
	}
	return len(answer) - 4
}

func (c *benchConn) exchange(frame []byte) ([]byte, error) {
	if _, err := c.conn.Write(frame); err != nil {
		return nil, err
	}
	return c.answered()
}

// answered reads one answer. It is valid until the next.
func (c *benchConn) answered() ([]byte, error) {
	if _, err := io.ReadFull(c.in, c.answer[:4]); err != nil {
		return nil, err
	}
	body := c.answer[:binary.BigEndian.Uint32(c.answer[:])]
	_, err := io.ReadFull(c.in, body)
	return body, err
}

// repeat sends a request n times, so many at once. The last answer must be without an error.
func (c *benchConn) repeat(req kmsg.Request, n, deep int) {
	frames := bytes.Repeat(frameOf(req), deep)
	size := len(frames) / deep
	for left := n; left > 0; left -= deep {
		at := min(deep, left)
		if _, err := c.conn.Write(frames[:at*size]); err != nil {
			c.b.Error(err)
			return
		}
		for range at {
			if _, err := c.answered(); err != nil {
				c.b.Error(err)
				return
			}
		}
	}
	c.must(req)
}

func codeOf(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.OffsetCommitResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.HeartbeatResponse:
		return r.ErrorCode
	case *kmsg.JoinGroupResponse:
		return r.ErrorCode
	case *kmsg.SyncGroupResponse:
		return r.ErrorCode
	default:
		return 0
	}
}

// BenchmarkOffsetCommit commits single offsets, each connection those of a group of its own. A million may cost the broker
// 10 seconds of CPU time, that is 10 µs each.
func BenchmarkOffsetCommit(b *testing.B) {
	for _, c := range []struct{ connections, deep int }{{1, 1}, {10, 1}, {100, 1}, {1000, 1}, {10, 20}} {
		b.Run(fmt.Sprintf("%dx%d", c.connections, c.deep), func(b *testing.B) {
			requests := make([]kmsg.Request, c.connections)
			for i := range requests {
				requests[i] = commitRequest(fmt.Sprint("group-", i))
			}
			startBenchBroker(b).clients(requests, c.deep)
		})
	}
}

func commitRequest(group string) kmsg.Request {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 8, group, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = "t"
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.LeaderEpoch, p.Metadata = 123456, 1, kmsg.StringPtr("")
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// BenchmarkHeartbeat is what a member that stays costs: by default it sends one each 3 seconds.
func BenchmarkHeartbeat(b *testing.B) {
	for _, connections := range []int{1, 100} {
		b.Run(fmt.Sprint(connections, "-connections"), func(b *testing.B) {
			s := startBenchBroker(b)
			requests := make([]kmsg.Request, connections)
			for i := range requests {
				requests[i] = s.member(fmt.Sprint("group-", i))
			}
			s.clients(requests, 1)
		})
	}
}

// member makes a group of one member and returns its heartbeat.
func (s *benchBroker) member(group string) kmsg.Request {
	s.b.Helper()
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.ProtocolType = 3, group, "consumer"
	join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 1_800_000, 30_000
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	c := s.dial()
	id := c.must(join).(*kmsg.JoinGroupResponse).MemberID
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Version, sync.Group, sync.Generation, sync.MemberID = 3, group, 1, id
	sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: id}}
	c.must(sync)
	heartbeat := kmsg.NewPtrHeartbeatRequest()
	heartbeat.Version, heartbeat.Group, heartbeat.Generation, heartbeat.MemberID = 3, group, 1, id
	return heartbeat
}
