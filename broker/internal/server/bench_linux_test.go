package server

import (
	"net"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkIdleConnections reports what an idle connection that has been used costs in our memory. Its clients are bare
// sockets, so that none of that is theirs. It takes twice as many file descriptors as connections.
func BenchmarkIdleConnections(b *testing.B) {
	const connections = 9900
	_, addr := benchServer(b, handle(echo))
	for b.Loop() {
		before := memoryInUse()
		closeAll, err := bareClients(addr, connections, frame(keyMetadata, 0, 1, strings.Repeat("x", 200)))
		if err != nil {
			b.Skip(err)
		}
		after := memoryInUse()
		closeAll()
		b.ReportMetric(float64(after.heap-before.heap)/connections, "heap-B/conn")
		b.ReportMetric(float64(after.stacks-before.stacks)/connections, "stack-B/conn")
	}
}

type memory struct{ heap, stacks int64 }

func memoryInUse() memory {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{int64(m.HeapInuse), int64(m.StackInuse)}
}

// bareClients connects n sockets that the Go runtime knows nothing of, and exchanges one request on each.
func bareClients(addr string, n int, f []byte) (closeAll func(), err error) {
	var fds []int
	closeAll = func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, err
	}
	to := &unix.SockaddrInet4{Port: tcp.Port, Addr: [4]byte(tcp.IP.To4())}
	answer := make([]byte, 4096)
	for range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err == nil {
			fds = append(fds, fd)
			err = unix.Connect(fd, to)
		}
		if err == nil {
			_, err = unix.Write(fd, f)
		}
		if err == nil {
			_, err = unix.Read(fd, answer)
		}
		if err != nil {
			closeAll()
			return nil, err
		}
	}
	return closeAll, nil
}
