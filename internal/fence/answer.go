package fence

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// AnswerOf sorts what came of an attempt: the error of InitProducerId, or that there was no answer. A transaction that is being ended is answered with
// CONCURRENT_TRANSACTIONS, and until the next answer its producer might still go on with another one (R-K30).
func AnswerOf(err error) Answer {
	var refused *kerr.Error
	switch {
	case err == nil:
		return Fenced
	case !errors.As(err, &refused), refused.Retriable, refused == kerr.ConcurrentTransactions:
		return Passing
	}
	return Refused
}
