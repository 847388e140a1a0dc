package exactlyonce

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/work"
	"github.com/skeinstream/skein/producer"
)

// producing is what the loop needs of its producer, or producers.
type producing interface {
	// begin begins a transaction, unless one is open.
	begin(ctx context.Context) error
	// send sends a record that follows from one of a partition. It calls done once, maybe before it returns.
	send(ctx context.Context, from consumer.TopicPartition, r *producer.Record, done func(error))
	// commit commits the transaction, which it begins if none is open. It may be called again after producer.ErrGroupMoved and after an error that
	// is Retriable, with the same offsets.
	commit(ctx context.Context, offsets consumer.Offsets, as consumer.GroupMetadata) error
	abort(ctx context.Context) error
	close(ctx context.Context) error
}

// keeper is a producing that has something to do with partitions that come and go.
type keeper interface {
	// taken makes partitions this member's in the eyes of the transaction coordinator. The group's offsets are asked for after it.
	taken(ctx context.Context, list []consumer.TopicPartition) error
	// dropped is told of partitions whose transactions are over.
	dropped(ctx context.Context, list []consumer.TopicPartition)
}

// produce makes what the loop produces by. It has its transactional ids when it returns: what another of theirs has left open is ended.
func (c Config) produce(ctx context.Context) (producing, error) {
	if err := c.fences(ctx); err != nil {
		return nil, err
	}
	if c.Producers == OnePerPartition {
		return newPerPartition(c), nil
	}
	p, err := producer.New(c.Producer)
	if err != nil {
		return nil, err
	}
	s := &solo{p: p}
	if err := s.begin(ctx); err != nil {
		_ = p.Close(gone()) // which says no more than that it did not wait
		return nil, err
	}
	return s, nil
}

// gone is a context that has ended, for a Close that is to let go of everything at once.
func gone() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// solo is one producer.
type solo struct {
	p    *producer.Producer
	open bool // its transaction is begun
	// undecided is that the last commit is to be asked for again.
	undecided bool
}

func (s *solo) begin(ctx context.Context) error {
	if s.open {
		return nil
	}
	err := s.p.Begin(ctx)
	s.open = err == nil
	return err
}

func (s *solo) send(ctx context.Context, _ consumer.TopicPartition, r *producer.Record, done func(error)) {
	s.p.Send(ctx, r, func(_ *producer.Record, err error) { done(err) })
}

func (s *solo) commit(ctx context.Context, offsets consumer.Offsets, as consumer.GroupMetadata) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	// A Commit that has not said what became of the transaction takes no offsets, and none are missing (producer.Commit).
	if err := s.p.SendOffsets(ctx, offsets, as); err != nil && !(s.undecided && producer.ClassOf(err) == producer.Illegal) {
		return err
	}
	err := s.p.Commit(ctx)
	s.open, s.undecided = err != nil, producer.ClassOf(err) == producer.Retriable
	return err
}

func (s *solo) abort(ctx context.Context) error {
	err := s.p.Abort(ctx)
	s.open = err != nil
	return err
}

func (s *solo) close(ctx context.Context) error { return s.p.Close(ctx) }

// outcome is what an error of a producer means to the loop.
func outcome(err error) work.Outcome {
	switch {
	case err == nil:
		return work.Done
	case errors.Is(err, producer.ErrGroupMoved):
		return work.GroupMoved
	case hopeless(err):
		return work.Hopeless
	}
	switch producer.ClassOf(err) {
	case producer.Retriable:
		return work.Again
	case producer.AbortAndContinue:
		return work.Abortable
	}
	if errors.Is(err, producer.ErrOutcomeUnknown) {
		return work.Unknown
	}
	return work.Fatal
}

// sendOutcome is what it means that a record was not written.
func sendOutcome(err error) work.Outcome {
	switch {
	case hopeless(err):
		return work.Hopeless
	case producer.ClassOf(err) == producer.Fatal:
		return work.Fatal
	}
	return work.Abortable
}

// hopeless says that an error will come again, whatever is done: only the user can end it.
func hopeless(err error) bool {
	if errors.Is(err, producer.ErrFenced) || errors.Is(err, producer.ErrOutcomeUnknown) {
		return false // whatever else was found out on the way there
	}
	for _, e := range []error{
		producer.ErrCannotFence, errOutlived,
		kerr.TransactionalIDAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState,
		kerr.InvalidTransactionTimeout, kerr.InvalidCommitOffsetSize, kerr.OffsetMetadataTooLarge, kerr.InvalidGroupID,
		kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.InvalidTopicException, kerr.PolicyViolation, kerr.UnsupportedForMessageFormat,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
