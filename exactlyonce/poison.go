package exactlyonce

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/work"
	"github.com/skeinstream/skein/producer"
)

// PoisonPolicy is what becomes of a record that cannot be processed, of which the function says so by Poison. The transaction is aborted in any
// case, since part of what follows from the record may be in it, and everything else in it is processed again. The zero value ends Run.
type PoisonPolicy struct {
	// Retries is how often the record is tried again before it is given up; less than 0 is for ever, while its partition, and the others that this
	// member has, wait.
	Retries int
	// Backoff is the pause before the first retry, 0 is 100 ms; it doubles up to BackoffMax, 0 is 10 s. Transactions that were refused again are
	// tried again after the same pauses.
	Backoff, BackoffMax time.Duration
	// DeadLetter is the topic that a record is written to which is given up, in the transaction that passes over it, with headers that say where it
	// was and why it was given up. "" has Run end instead.
	DeadLetter string
}

func (p PoisonPolicy) check() error {
	if p.Backoff < 0 || p.BackoffMax < 0 {
		return fmt.Errorf("Poison.Backoff is %v and BackoffMax %v: choose 0, for the default, or more", p.Backoff, p.BackoffMax)
	}
	return nil
}

// Headers of what is written to a dead-letter topic, besides the record's own.
const (
	HeaderTopic     = "skein.dead-letter.topic"
	HeaderPartition = "skein.dead-letter.partition"
	HeaderOffset    = "skein.dead-letter.offset"
	HeaderGroup     = "skein.dead-letter.group"
	HeaderError     = "skein.dead-letter.error"
)

// PoisonError says that a record cannot be processed.
type PoisonError struct {
	Record *consumer.Record
	Err    error
}

// Poison is what the function returns for a record that it cannot process, which is one of its batch. Several may be joined by errors.Join.
func Poison(r *consumer.Record, err error) error { return &PoisonError{Record: r, Err: err} }

// Unwrap returns the cause.
func (e *PoisonError) Unwrap() error { return e.Err }

func (e *PoisonError) Error() string {
	if e.Record == nil {
		return fmt.Sprintf("%s: %v", errNoRecord, e.Err)
	}
	return fmt.Sprintf("processing %s: %s", markOf(e.Record), e.Err)
}

// errStops is why Run ends by a record.
func errStops(err error) error {
	return fmt.Errorf("%w; nothing from it on is committed: mend what it fails by, or give Config.Poison a DeadLetter topic to pass over it", err)
}

func markOf(r *consumer.Record) work.Mark {
	return work.Mark{Partition: work.Partition{Topic: r.Topic, Partition: r.Partition}, At: r.Offset}
}

// poisons finds all of them in an error; the rest is what else there is in it.
func poisons(err error) (found []*PoisonError, rest error) {
	if p, ok := err.(*PoisonError); ok {
		return p.judged()
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range all.Unwrap() {
			f, r := poisons(e)
			found, rest = append(found, f...), errors.Join(rest, r)
		}
		return found, rest
	}
	if p, ok := errors.AsType[*PoisonError](err); ok { // wrapped once more
		return p.judged()
	}
	return nil, err
}

// judged takes one that names no record for any other error.
func (e *PoisonError) judged() (found []*PoisonError, rest error) {
	if e.Record == nil {
		return nil, errors.Join(errNoRecord, e.Err)
	}
	return []*PoisonError{e}, nil
}

var errNoRecord = errors.New("Poison was told of no record: it takes the one of the batch that cannot be processed")

// letter is what is written of a record that is passed over.
func (c Config) letter(r *consumer.Record, why error) *producer.Record {
	header := func(key, value string) kgo.RecordHeader { return kgo.RecordHeader{Key: key, Value: []byte(value)} }
	return &producer.Record{
		Topic: c.Poison.DeadLetter, Key: r.Key, Value: r.Value, Timestamp: r.Timestamp,
		Headers: append(slices.Clone(r.Headers),
			header(HeaderTopic, r.Topic), header(HeaderPartition, strconv.Itoa(int(r.Partition))), header(HeaderOffset, strconv.FormatInt(r.Offset, 10)),
			header(HeaderGroup, c.Consumer.Group), header(HeaderError, text(why))),
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
