package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/skeinstream/skein/broker/internal/record"
)

// replaceAll is the second pass: group by group, what is to be kept of the
// segments is written into one new segment, which takes their place.
func (r *cleaning) replaceAll(ctx context.Context, parts []part, sealed []*segment, latest *offsetMap, cfg *Config) error {
	end := latest.latest + 1
	// Of all that is read, also behind what the map covers.
	aborted, err := r.log.AbortedTransactions(parts[0].base, parts[len(parts)-1].next)
	if err != nil {
		return err
	}
	v := &sieve{
		latest: latest, txns: newCleanTxns(aborted), last: r.lastOfProducers(), end: end,
		now: r.now, retain: cfg.DeleteRetentionMs, inflate: &r.inflate, build: &r.build,
	}
	at := 0
	for _, n := range groups(parts, cfg) {
		if err := r.replaceGroup(ctx, sealed[at:at+n], v, cfg); err != nil {
			return err
		}
		at += n
		r.report.Replaced++
	}
	return nil
}

// lastOfProducers is what must stay of the producers that the log knows.
func (r *cleaning) lastOfProducers() map[int64]lastOfProducer {
	last := map[int64]lastOfProducer{}
	for _, e := range r.log.Producers() {
		l := lastOfProducer{offset: none, epoch: e.Epoch}
		if b, ok := e.Last(); ok {
			l.offset = b.LastOffset
		}
		last[e.ProducerID] = l
	}
	return last
}

// replaceGroup cleans one group.
func (r *cleaning) replaceGroup(ctx context.Context, old []*segment, v *sieve, cfg *Config) error {
	s, err := r.begin(old[0].base)
	if err != nil {
		return err
	}
	for _, from := range old {
		if err = r.copy(ctx, from, s, v, cfg); err != nil {
			break
		}
		r.report.Segments++
	}
	if err == nil {
		err = complete(s)
	}
	s.close()
	if err == nil {
		err = r.log.replace(old, s)
	}
	if err != nil {
		return errors.Join(err, removeCleaned(r.log, old[0].base))
	}
	return nil
}

// begin makes an empty segment with a name that recovery throws away. Whatever an
// earlier attempt left goes first.
func (r *cleaning) begin(base int64) (*segment, error) {
	if err := removeCleaned(r.log, base); err != nil {
		return nil, err
	}
	s := newSegment(r.log.files, r.log.dir, base, cleanedSuffix)
	if err := s.open(r.now); err != nil {
		return nil, err
	}
	return s, nil
}

func removeCleaned(l *Log, base int64) error {
	var errs []error
	for _, suffix := range segmentSuffixes {
		errs = append(errs, removeFile(l.fs, fileName(l.dir, base, suffix+cleanedSuffix)))
	}
	return errors.Join(errs...)
}

// complete makes the cleaned segment whole and durable, its indexes too.
func complete(s *segment) error {
	if err := s.seal(); err != nil {
		return err
	}
	if err := syncFile(s.file.file); err != nil {
		return fmt.Errorf("cleaned segment %d: %w", s.base, err)
	}
	return s.finish()
}

// copy appends to s what is kept of the segment from.
func (r *cleaning) copy(ctx context.Context, from, s *segment, v *sieve, cfg *Config) error {
	return r.each(ctx, from, func(b record.Batch, h record.Header) error {
		r.report.BytesRead += int64(len(b))
		r.report.Records += int64(h.Count)
		kept, err := v.sift(b, h)
		if err != nil || kept.batch == nil {
			return err
		}
		r.report.Kept += int64(kept.records)
		r.report.BytesKept += int64(len(kept.batch))
		return r.append(ctx, s, kept, cfg)
	})
}

func (r *cleaning) append(ctx context.Context, s *segment, kept sifted, cfg *Config) error {
	h := kept.batch.Header()
	if !s.fits(len(kept.batch), h.LastOffset()) {
		return fmt.Errorf("cleaned segment %d has no room for offset %d", s.base, h.LastOffset())
	}
	if kept.aborted != nil {
		if err := s.aborted.prepare(*kept.aborted); err != nil {
			return err
		}
	}
	if err := s.append(kept.batch, h, cfg.IndexInterval); err != nil {
		return err
	}
	if kept.aborted != nil {
		s.aborted.publish(*kept.aborted)
	}
	return r.cfg.Pace(ctx, len(kept.batch))
}
