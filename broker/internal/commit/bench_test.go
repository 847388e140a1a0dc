package commit

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

// sink is a partition that only counts, so that the benchmark measures the log and the rounds.
type sink struct {
	key      Key
	answered chan struct{}
	base     int64
}

func (s *sink) Key() Key                  { return s.key }
func (s *sink) WriteSegment(*Write) error { return nil }
func (s *sink) SyncSegment() error        { return nil }
func (s *sink) Committed(ws []*Write) {
	for range ws {
		s.answered <- struct{}{}
	}
}
func (s *sink) Failed([]*Write, error)  {}
func (s *sink) Dropped([]*Write, error) {}

// BenchmarkCommit has producers that each wait for the answer to one append before they send the next. On Disk the time is
// that of an fdatasync; on Memory it is what the committer itself costs.
func BenchmarkCommit(b *testing.B) {
	for _, fs := range []string{"disk", "memory"} {
		for _, producers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/producers=%d/bytes=128", fs, producers), func(b *testing.B) {
				if fs == "disk" {
					benchmark(b, vfs.Disk(), b.TempDir(), producers, 128)
				} else {
					benchmark(b, vfs.NewMemory(), "", producers, 128)
				}
			})
		}
	}
}

func benchmark(b *testing.B, fs vfs.FS, dir string, producers, size int) {
	rounds, logged := 0, int64(0)
	cfg := Config{
		SyncSegments: func() error { return nil },
		Events:       Events{Round: func(s RoundStats) { rounds++; logged += s.WALBytes }},
	}
	c, err := Open(fs, filepath.Join(dir, "wal"), cfg, nil)
	check(b, err)
	result := make(chan error, 1)
	go func() { result <- c.Run(b.Context()) }()
	payload := make([]byte, size)
	b.ReportAllocs()
	b.ResetTimer()
	var group sync.WaitGroup
	for i := range producers {
		s := &sink{key: Key{Partition: int32(i)}, answered: make(chan struct{}, 1)}
		n := b.N / producers
		if i < b.N%producers {
			n++
		}
		group.Go(func() { s.produce(b, c, payload, n) })
	}
	group.Wait()
	b.StopTimer()
	check(b, c.Shutdown(b.Context()))
	check(b, <-result)
	b.ReportMetric(float64(b.N)/float64(max(rounds, 1)), "writes/round")
	b.ReportMetric(float64(logged)/float64(b.N), "logbytes/op")
}

func (s *sink) produce(b *testing.B, c *Committer, payload []byte, n int) {
	var w Write // as a partition has it inside of its own request
	for range n {
		w = Write{Target: s, Base: s.base, Last: s.base, Bytes: payload}
		s.base++
		if err := c.Enqueue(&w); err != nil {
			b.Error(err)
			return
		}
		<-s.answered
	}
}
