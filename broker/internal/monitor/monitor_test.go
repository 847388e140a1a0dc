package monitor

import (
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get asks the monitor's handler for a page.
func get(t *testing.T, m *Monitor, path string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	b, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(b)
}

// wantMetrics checks that each line is on the metrics page.
func wantMetrics(t *testing.T, m *Monitor, lines ...string) {
	t.Helper()
	status, body := get(t, m, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	page := strings.Split(body, "\n")
	for _, l := range lines {
		if !slices.Contains(page, l) {
			name, _, _ := strings.Cut(l, "{")
			t.Errorf("no line %q; of this metric there are:\n%s", l, grep(page, name))
		}
	}
}

func grep(page []string, name string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(page), func(l string) bool { return !strings.HasPrefix(l, name) }), "\n")
}

func TestRequestsAreCountedByAPIAndError(t *testing.T) {
	m := New(Config{})
	for range 3 {
		m.RequestFinished(Request{Key: 0, Handling: 50 * time.Microsecond, Total: 100 * time.Microsecond, BytesIn: 1000, BytesOut: 10})
	}
	m.RequestFinished(Request{Key: 0, ErrorCode: 6, Handling: time.Second, Total: time.Minute})
	m.RequestFinished(Request{Key: 18, ErrorCode: 35})
	m.RequestFinished(Request{Key: 3, ErrorCode: -1})
	m.RequestFinished(Request{Key: 3, ErrorCode: 250})
	m.RequestFinished(Request{Key: 3, ErrorCode: 32767})
	m.RequestFinished(Request{Key: 9999})
	wantMetrics(t, m,
		`skein_requests_total{api="Produce",error="NONE"} 3`,
		`skein_requests_total{api="Produce",error="NOT_LEADER_FOR_PARTITION"} 1`,
		`skein_requests_total{api="ApiVersions",error="UNSUPPORTED_VERSION"} 1`,
		`skein_requests_total{api="Metadata",error="UNKNOWN_SERVER_ERROR"} 1`,
		`skein_requests_total{api="Metadata",error="250"} 1`,
		`skein_requests_total{api="Metadata",error="other"} 1`,
		`skein_requests_total{api="other",error="NONE"} 1`,
		`skein_request_bytes_total{api="Produce"} 3000`,
		`skein_response_bytes_total{api="Produce"} 30`,
		`skein_request_duration_seconds_bucket{api="Produce",le="6.4e-05"} 0`,
		`skein_request_duration_seconds_bucket{api="Produce",le="0.000128"} 3`,
		`skein_request_duration_seconds_bucket{api="Produce",le="8.388608"} 3`,
		`skein_request_duration_seconds_bucket{api="Produce",le="+Inf"} 4`,
		`skein_request_duration_seconds_sum{api="Produce"} 60.0003`,
		`skein_request_handling_seconds_bucket{api="Produce",le="6.4e-05"} 3`,
		`skein_request_handling_seconds_bucket{api="Produce",le="1.048576"} 4`,
	)
}

func TestHistogramBounds(t *testing.T) {
	for i := range histogramBuckets {
		d := time.Duration(bound(i) * float64(time.Second))
		if bucketOf(d) != i || bucketOf(d+1) != i+1 {
			t.Errorf("%v is in bucket %d and a little more in %d, want %d and %d", d, bucketOf(d), bucketOf(d+1), i, i+1)
		}
	}
	if bucketOf(0) != 0 || bucketOf(-time.Second) != 0 || bucketOf(1<<62) != histogramBuckets {
		t.Error("the ends are open")
	}
}

func TestConnections(t *testing.T) {
	m := New(Config{RequestMemory: func() int64 { return 4711 }, RequestMemoryLimit: 1 << 20})
	m.ConnectionOpened("PLAINTEXT")
	m.ConnectionOpened("PLAINTEXT")
	m.ConnectionOpened("SSL")
	m.ConnectionClosed("PLAINTEXT", "idle")
	m.ConnectionRefused("PLAINTEXT", "limit")
	wantMetrics(t, m,
		`skein_connections{listener="PLAINTEXT"} 1`,
		`skein_connections{listener="SSL"} 1`,
		`skein_connections_opened_total{listener="PLAINTEXT"} 2`,
		`skein_connections_closed_total{listener="PLAINTEXT",reason="idle"} 1`,
		`skein_connections_closed_total{listener="PLAINTEXT",reason="limit"} 1`,
		`skein_request_memory_bytes 4711`,
		`skein_request_memory_limit_bytes 1.048576e+06`,
	)
}

func TestCommits(t *testing.T) {
	m := New(Config{})
	m.RoundCommitted(Round{Writes: 10, WALBytes: 1000, WALSync: 150 * time.Microsecond, Took: 200 * time.Microsecond})
	m.RoundCommitted(Round{Writes: 2, SegmentBytes: 1 << 20, Took: 3 * time.Millisecond})
	m.SegmentSynced(2 * time.Millisecond)
	m.WritesRefused(5)
	wantMetrics(t, m,
		`skein_commit_rounds_total 2`,
		`skein_commit_writes_total 12`,
		`skein_commit_refused_total 5`,
		`skein_commit_bytes_total{road="wal"} 1000`,
		`skein_commit_bytes_total{road="segment"} 1.048576e+06`,
		`skein_commit_round_seconds_count 2`,
		`skein_fsync_seconds_bucket{file="wal",le="0.000256"} 1`,
		`skein_fsync_seconds_count{file="wal"} 1`,
		`skein_fsync_seconds_count{file="segment"} 1`,
	)
}

func TestUpkeepIsCounted(t *testing.T) {
	m := New(Config{})
	m.Swept(3)
	m.Swept(0)
	m.Cleaned(1000, 400)
	m.Cleaned(10, 10)
	wantMetrics(t, m,
		`skein_retention_rounds_total 2`,
		`skein_retention_segments_total 3`,
		`skein_compactions_total 2`,
		`skein_compaction_bytes_total{kind="read"} 1010`,
		`skein_compaction_bytes_total{kind="kept"} 410`,
	)
}

func TestLogsAreAskedForAtTheScrape(t *testing.T) {
	sizes := []Log{
		{Topic: "a", Partition: 0, Bytes: 100, Segments: 2, StartOffset: 3, HighWatermark: 9, Online: true},
		{Topic: "a", Partition: 1},
		{Topic: "a", Partition: 2, Online: true, Damaged: true},
	}
	m := New(Config{
		Logs:  func() iter.Seq[Log] { return slices.Values(sizes) },
		Space: func() (int64, int64, error) { return 1000, 250, nil },
	})
	wantMetrics(t, m, `skein_log_size_bytes{partition="0",topic="a"} 100`)
	sizes[0].Bytes = 200
	wantMetrics(t, m,
		`skein_log_size_bytes{partition="0",topic="a"} 200`,
		`skein_log_segments{partition="0",topic="a"} 2`,
		`skein_log_start_offset{partition="0",topic="a"} 3`,
		`skein_log_high_watermark{partition="0",topic="a"} 9`,
		`skein_partitions{state="online"} 1`,
		`skein_partitions{state="offline"} 1`,
		`skein_partitions{state="damaged"} 1`,
		`skein_disk_bytes{kind="total"} 1000`,
		`skein_disk_bytes{kind="free"} 250`,
	)
}

// A disk that cannot be asked spoils its own line, not the page.
func TestFailingSourceLeavesThePage(t *testing.T) {
	m := New(Config{Space: func() (int64, int64, error) { return 0, 0, errors.New("no disk") }})
	wantMetrics(t, m, `skein_commit_rounds_total 0`)
}

func TestWhatRuns(t *testing.T) {
	m := New(Config{Started: time.UnixMilli(1500)})
	wantMetrics(t, m, `skein_start_time_seconds 1.5`)
	_, body := get(t, m, "/metrics")
	for _, part := range []string{`skein_build_info{go_version="go1.`, `version="`, "go_goroutines ", "process_start_time_seconds "} {
		if !strings.Contains(body, part) {
			t.Errorf("no %q", part)
		}
	}
}

func TestSeveralMonitorsInOneProcess(t *testing.T) {
	first, second := New(Config{}), New(Config{})
	first.RequestFinished(Request{Key: 1})
	wantMetrics(t, first, `skein_requests_total{api="Fetch",error="NONE"} 1`)
	if _, body := get(t, second, "/metrics"); strings.Contains(body, "Fetch") {
		t.Error("the second monitor shows the first one's requests")
	}
}

func TestCountingWhileScraping(t *testing.T) {
	m := New(Config{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 500 {
				m.RequestFinished(Request{Key: int16(i % 5), Handling: time.Duration(i) * time.Microsecond})
				m.ConnectionOpened("l")
				m.RoundCommitted(Round{Writes: 1, WALSync: 1})
			}
		})
	}
	for range 5 {
		if status, body := get(t, m, "/metrics"); status != http.StatusOK {
			t.Errorf("status %d: %s", status, body)
		}
	}
	wg.Wait()
	wantMetrics(t, m, `skein_requests_total{api="Fetch",error="NONE"} 400`, `skein_connections{listener="l"} 2000`, `skein_commit_writes_total 2000`)
}

func BenchmarkRequestFinished(b *testing.B) {
	m := New(Config{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.RequestFinished(Request{Key: 0, Handling: 150 * time.Microsecond, Total: 200 * time.Microsecond, BytesIn: 1000, BytesOut: 50})
		}
	})
}
