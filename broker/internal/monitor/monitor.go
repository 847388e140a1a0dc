package monitor

import (
	"iter"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Config says what a Monitor shows. The zero value runs and shows less.
type Config struct {
	// Started is when the broker began to start.
	Started time.Time

	// RequestMemory returns how many bytes the requests in flight hold, RequestMemoryLimit how many they may.
	RequestMemory      func() int64
	RequestMemoryLimit int64
	// Logs yields every partition's log. It is called at each scrape, from many goroutines at a time.
	Logs func() iter.Seq[Log]
	// Space returns the size of the log directory's file system and what is free of it, in bytes.
	Space func() (total, free int64, err error)
	// Groups tells of the consumer groups. It may take a moment.
	Groups func() Groups
	// Transactions tells of the transactions, likewise.
	Transactions func() Transactions

	// Healthy returns why the process should be replaced, and Ready why clients should not come (yet), or nil.
	Healthy, Ready func() error
	// Profiles turns on /debug/pprof, which shows memory and costs time: not for everybody.
	Profiles bool

	Logger *slog.Logger // default: nothing is logged
}

// Log is one partition's log at the time of a scrape.
type Log struct {
	Topic         string
	Partition     int32
	Bytes         int64 // of all its segments
	Segments      int
	StartOffset   int64
	HighWatermark int64
	Unstable      int64 // how many offsets lie behind the last stable one
	Online        bool
	Damaged       bool // somebody has read something that is no record, though it is online
}

// Monitor collects what one broker reports. Make one with New; its methods may be called by any goroutine.
type Monitor struct {
	cfg      Config
	registry *prometheus.Registry

	requests    requests
	connections connections
	commits     commits
	upkeep      upkeep
	loads       histogram
}

// New returns a monitor over cfg.
func New(cfg Config) *Monitor {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Monitor{cfg: cfg, registry: prometheus.NewRegistry(), connections: newConnections()}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&m.requests, &m.commits, &m.upkeep,
		m.connections.open, m.connections.opened, m.connections.closed,
		buildInfo(), startTime(cfg.Started),
	)
	m.registerSources()
	return m
}

// registerSources registers what is asked for at a scrape.
func (m *Monitor) registerSources() {
	if f := m.cfg.RequestMemory; f != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "skein_request_memory_bytes", Help: "Memory held by requests that are being read or answered.",
		}, func() float64 { return float64(f()) }), constant("skein_request_memory_limit_bytes",
			"From how much request memory on connections are not read until some is free (queued.max.request.bytes); -1 when there is no limit.", nil, float64(m.cfg.RequestMemoryLimit)))
	}
	if m.cfg.Logs != nil {
		m.registry.MustRegister(logs{m.cfg.Logs})
	}
	if m.cfg.Space != nil {
		m.registry.MustRegister(space{m.cfg.Space})
	}
	if m.cfg.Groups != nil {
		m.registry.MustRegister(groups{m.cfg.Groups, &m.loads})
	}
	if m.cfg.Transactions != nil {
		m.registry.MustRegister(transactions{m.cfg.Transactions})
	}
}

func constant(name, help string, labels prometheus.Labels, v float64) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels})
	g.Set(v)
	return g
}

func startTime(t time.Time) prometheus.Collector {
	return constant("skein_start_time_seconds", "When the broker was started, in seconds since 1970.", nil, float64(t.UnixMilli())/1000)
}

func buildInfo() prometheus.Collector {
	labels := prometheus.Labels{"version": "", "revision": "", "go_version": ""}
	if bi, ok := debug.ReadBuildInfo(); ok {
		labels["version"], labels["go_version"] = bi.Main.Version, bi.GoVersion
		for _, s := range bi.Settings {
			if s.Key == "vcs.revision" {
				labels["revision"] = s.Value
			}
		}
	}
	return constant("skein_build_info", "What the broker was built from; always 1.", labels, 1)
}
