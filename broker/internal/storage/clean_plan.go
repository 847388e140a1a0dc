package storage

import "math"

// part is what planning knows of a segment.
type part struct {
	base, next int64 // offsets; next is where the following segment begins
	size       int64 // bytes
	indexes    int64 // bytes of the larger of its indexes
	newest     int64 // largest timestamp, ms
	first      int64 // largest timestamp of its first batch, ms
}

// Backlog is how much of a log waits to be cleaned.
type Backlog struct {
	From, To   int64 // the offsets that have never been cleaned and may be
	CleanBytes int64 // of what lies below From
	Bytes      int64 // of what lies between
	// Overdue: a record below To has waited for longer than max.compaction.lag.ms.
	Overdue bool
}

// Ratio is the share of the log, up to To, that is dirty.
func (b Backlog) Ratio() float64 {
	if b.Bytes == 0 {
		return 0
	}
	return float64(b.Bytes) / float64(b.Bytes+b.CleanBytes)
}

// Due reports whether the log should be cleaned (min.cleanable.dirty.ratio).
// Among several, Kafka and we take the one with the highest ratio first.
func (b Backlog) Due(minRatio float64) bool {
	return b.Bytes > 0 && (b.Overdue || b.Ratio() > minRatio)
}

// measure looks at a log of sealed parts. point is the offset up to which it is
// clean, stable the last stable offset.
func measure(parts []part, point, stable, now int64, cfg *Config) Backlog {
	b := Backlog{From: point, To: cleanLimit(parts, point, stable, now, cfg)}
	oldest := int64(math.MaxInt64)
	for _, p := range parts {
		switch {
		case p.next <= point:
			b.CleanBytes += p.size
		case p.next <= b.To:
			b.Bytes += p.size
			if p.first > 0 {
				oldest = min(oldest, p.first)
			}
		}
	}
	b.Overdue = oldest < now-max(cfg.MaxCompactionLagMs, 0)
	return b
}

// cleanLimit is the offset from which nothing may be cleaned: records of open
// transactions and behind them, the active segment, and segments with records
// younger than min.compaction.lag.ms.
func cleanLimit(parts []part, point, stable, now int64, cfg *Config) int64 {
	limit := point
	for _, p := range parts {
		if p.next <= point {
			continue
		}
		if p.next > stable || cfg.MinCompactionLagMs > 0 && p.newest > now-cfg.MinCompactionLagMs {
			break
		}
		limit = p.next
	}
	return limit
}

// groups puts neighbours together whose cleaned records fit one segment, so that
// segments that have become small do not stay many. It returns the lengths of
// the groups.
func groups(parts []part, cfg *Config) []int {
	var lengths []int
	for len(parts) > 0 {
		size, indexes, n := parts[0].size, parts[0].indexes, 1
		for ; n < len(parts); n++ {
			p := parts[n]
			size, indexes = size+p.size, indexes+p.indexes
			if size > cfg.SegmentBytes || size > math.MaxInt32 || indexes > cfg.IndexBytes || p.next-1-parts[0].base > math.MaxInt32 {
				break
			}
		}
		lengths = append(lengths, n)
		parts = parts[n:]
	}
	return lengths
}
