package storage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/skeinstream/skein/broker/internal/record"
)

// CleanerConfig is how cleaners work: broker settings, resolved.
type CleanerConfig struct {
	// MapBytes is the most memory that an offset map takes, 24 bytes for each key
	// (log.cleaner.dedupe.buffer.size), 0: 128 MiB. A dirty part with more keys is
	// cleaned in several rounds.
	MapBytes int64
	// MapFill is how full the map may become (log.cleaner.io.buffer.load.factor),
	// 0: 0.9.
	MapFill float64
	// BufferBytes is how much is read at once (log.cleaner.io.buffer.size), 0: 512
	// KiB. A larger batch grows the buffer for as long as the cleaning lasts.
	BufferBytes int
	// Pace is told of every n bytes that were read or written, and may wait
	// (log.cleaner.io.max.bytes.per.second). Its error ends the cleaning. nil: no
	// limit.
	Pace func(ctx context.Context, n int) error
}

const (
	mapBytesDefault    = 128 << 20
	mapFillDefault     = 0.9
	bufferBytesDefault = 512 << 10
)

// Cleaner compacts logs: of the records with the same key it leaves the last one.
// It keeps buffers between logs. A Cleaner is used by one goroutine at a time,
// and a log cleaned by one Cleaner at a time.
type Cleaner struct {
	cfg     CleanerConfig
	buf     []byte
	inflate record.Decompressors
	build   record.Builder
}

// NewCleaner makes a cleaner; the zero configuration has Kafka's defaults.
func NewCleaner(cfg CleanerConfig) *Cleaner {
	if cfg.MapBytes <= 0 {
		cfg.MapBytes = mapBytesDefault
	}
	if cfg.MapFill <= 0 || cfg.MapFill > 1 {
		cfg.MapFill = mapFillDefault
	}
	if cfg.BufferBytes <= 0 {
		cfg.BufferBytes = bufferBytesDefault
	}
	if cfg.Pace == nil {
		cfg.Pace = func(context.Context, int) error { return nil }
	}
	return &Cleaner{cfg: cfg}
}

// CleanReport says what a cleaning did.
type CleanReport struct {
	From, To  int64 // the offsets that are clean now; the next cleaning begins at To
	MapFull   bool  // To is not as far as it might be, since the keys did not fit
	Segments  int   // read
	Replaced  int   // by so many
	BytesRead int64 // in the second pass, which sees the whole log
	BytesKept int64
	Records   int64 // read in the second pass
	Kept      int64
}

// Backlog measures how much of the log waits to be cleaned. point is where the
// last cleaning ended (CleanReport.To, 0 before the first), stable the partition's
// last stable offset, now ms since the epoch.
func (l *Log) Backlog(point, stable, now int64) (Backlog, error) {
	parts, _, err := l.parts()
	if err != nil {
		return Backlog{}, l.wrap("measuring what to clean of log", err)
	}
	return measure(parts, l.cleanPoint(point), stable, now, l.cfg.Load()), nil
}

// cleanPoint is point, or the start of the log if point lies outside of it.
func (l *Log) cleanPoint(point int64) int64 {
	if start := l.start.Load(); point < start || point > l.end.Load() {
		return start
	}
	return point
}

// parts describes the sealed segments. A segment that retention takes away
// meanwhile is an os.ErrNotExist; the caller comes again later.
func (l *Log) parts() ([]part, []*segment, error) {
	list := *l.segments.Load()
	sealed := list[:len(list)-1]
	parts := make([]part, len(sealed))
	for i, s := range sealed {
		newest, err := s.newestStamp()
		if err != nil {
			return nil, nil, err
		}
		parts[i] = part{base: s.base, next: list[i+1].base, size: s.size.Load(), newest: newest.time, first: none}
		parts[i].indexes = int64(max(s.offsets.count()*offsetWidth, s.times.count()*timeWidth))
		if l.cfg.Load().MaxCompactionLagMs < math.MaxInt64 && parts[i].size > 0 {
			if parts[i].first, err = s.firstTime(); err != nil {
				return nil, nil, err
			}
		}
	}
	return parts, sealed, nil
}

// firstTime is the largest timestamp of the first batch.
func (s *segment) firstTime() (first int64, err error) {
	err = s.scan(func(scan *scanner) error {
		h, err := scan.header(0)
		first = h.MaxTimestamp
		return scan.damaged(0, s.base, err)
	})
	return first, err
}

// Clean compacts the log from its start: in a first pass it notes the last offset
// of each key in the dirty part, in a second it writes all segments up to there
// anew, a group of neighbours into one, and puts each in place of the old ones as
// soon as it is durable. A crash or an error leaves every group old or new.
//
// The parameters are those of Backlog. Reads go on, appends too. It stops soon
// after ctx ends or the log is closed; end ctx before you delete the log.
func (c *Cleaner) Clean(ctx context.Context, l *Log, point, stable, now int64) (CleanReport, error) {
	r := &cleaning{Cleaner: c, log: l, now: now}
	err := r.run(ctx, point, stable)
	c.inflate = record.Decompressors{}
	c.build = record.Builder{}
	if cap(c.buf) > c.cfg.BufferBytes {
		c.buf = nil
	}
	if errors.Is(err, os.ErrNotExist) && ctx.Err() == nil {
		err = fmt.Errorf("%w, which retention may have taken: %w", ErrInterrupted, err)
	}
	return r.report, l.wrap("cleaning log", err)
}

// ErrInterrupted says that segments went while they were being cleaned. Nothing
// is wrong; clean again.
var ErrInterrupted = errors.New("a segment has gone meanwhile")

// cleaning is one Clean under way.
type cleaning struct {
	*Cleaner
	log    *Log
	now    int64
	next   int64 // offset behind the last batch read
	report CleanReport
}

func (r *cleaning) run(ctx context.Context, point, stable int64) error {
	l := r.log
	cfg := l.cfg.Load()
	parts, sealed, err := l.parts()
	if err != nil {
		return err
	}
	b := measure(parts, l.cleanPoint(point), stable, r.now, cfg)
	r.report.From, r.report.To = b.From, b.From
	if b.Bytes == 0 {
		return nil
	}
	n := 0
	for n < len(parts) && parts[n].next <= b.To {
		n++
	}
	parts, sealed = parts[:n], sealed[:n]
	latest, err := r.mapKeys(ctx, parts, sealed, b)
	if err != nil {
		return fmt.Errorf("first pass: %w", err)
	}
	end := latest.latest + 1
	for n > 1 && parts[n-1].base >= end {
		n--
	}
	if l.RecoveryPoint() < end { // an older value may go once the newer one is durable
		if err := l.Sync(); err != nil {
			return err
		}
	}
	if err := r.replaceAll(ctx, parts[:n], sealed[:n], latest, cfg); err != nil {
		return fmt.Errorf("second pass: %w", err)
	}
	r.report.To = end
	return nil
}
