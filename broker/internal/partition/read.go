package partition

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/storage"
)

var errMaxBytes = errors.New("the most bytes to read are negative")

// ReadOptions says what a reader wants.
type ReadOptions struct {
	Offset           int64
	MaxBytes         int
	MinOne           bool  // the first batch may be larger than MaxBytes (T21)
	Committed        bool  // read_committed
	LeaderEpoch      int32 // that the reader knows, negative: none
	LastFetchedEpoch int32 // of the reader's last record, negative: none
	Follower         bool  // the reader says that it is a replica; this one is the only one
}

// ReadResult is what a reader gets. With a Code all offsets are -1.
type ReadResult struct {
	Code                             int16
	HighWatermark, LastStable, Start int64
	// Diverging says that the reader has records of another history: both agree up to DivergingEnd, in DivergingEpoch.
	Diverging      bool
	DivergingEpoch int32
	DivergingEnd   int64
	Aborted        []storage.AbortedTxn // with Committed: those that overlap Records, by first offset (T23)
	Records        storage.Slice        // whole batches; release them
}

func unreadable(code int16) ReadResult {
	return ReadResult{Code: code, HighWatermark: -1, LastStable: -1, Start: -1}
}

// Read returns what there is to read from an offset on. It waits for nothing but the disk.
func (p *Partition) Read(o ReadOptions) ReadResult {
	if code := p.Refusal(); code != 0 {
		return unreadable(code)
	}
	if o.LeaderEpoch >= 0 {
		if code := p.CheckEpoch(o.LeaderEpoch); code != 0 {
			return unreadable(code)
		}
	}
	if o.Follower {
		return unreadable(kerr.NotLeaderForPartition.Code)
	}
	r := ReadResult{HighWatermark: p.HighWatermark(), LastStable: p.LastStableOffset(), Start: p.log.StartOffset()}
	if o.LastFetchedEpoch >= 0 {
		if code := p.diverge(o, &r); code != 0 {
			return unreadable(code)
		}
		if r.Diverging {
			return r
		}
	}
	if err := p.read(o, &r); err != nil {
		return unreadable(p.readFailed(err))
	}
	return r
}

// diverge compares the reader's history with the log's.
func (p *Partition) diverge(o ReadOptions, r *ReadResult) int16 {
	epoch, end := p.log.EndOffsetForEpoch(o.LastFetchedEpoch, p.epoch)
	if epoch < 0 || end < 0 || o.Offset < r.Start {
		return kerr.OffsetOutOfRange.Code
	}
	if epoch < o.LastFetchedEpoch || end < o.Offset {
		r.Diverging, r.DivergingEpoch, r.DivergingEnd = true, epoch, end
	}
	return 0
}

func (p *Partition) read(o ReadOptions, r *ReadResult) error {
	if o.Offset < r.Start || o.Offset > max(r.HighWatermark, p.log.EndOffset()) {
		return storage.ErrOffsetOutOfRange
	}
	bound := r.HighWatermark
	if o.Committed {
		bound = r.LastStable
	}
	if o.Offset >= bound {
		return nil
	}
	if o.MaxBytes < 0 {
		return errMaxBytes
	}
	s, err := p.log.Read(o.Offset, bound, o.MaxBytes, o.MinOne)
	if err != nil {
		return err
	}
	if o.Committed && s.Len > 0 {
		if r.Aborted, err = p.log.AbortedTransactions(o.Offset, s.End); err != nil {
			s.Release()
			return err
		}
	}
	r.Records = s
	return nil
}

// readFailed is the code for an error of the log.
func (p *Partition) readFailed(err error) int16 {
	switch {
	case errors.Is(err, storage.ErrOffsetOutOfRange):
		return kerr.OffsetOutOfRange.Code
	case errors.Is(err, errMaxBytes):
		return kerr.UnknownServerError.Code // as Kafka answers
	case errors.Is(err, storage.ErrClosed):
		return kerr.UnknownTopicOrPartition.Code
	}
	if p.table.readFailed(p, err) {
		return kerr.CorruptMessage.Code // as Kafka answers; clients tell of it where they try again silently for a storage error
	}
	return kerr.KafkaStorageError.Code
}
