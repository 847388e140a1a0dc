package fence

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// What an attempt comes to: CONCURRENT_TRANSACTIONS is not yet the end (R-K30).
func TestAnswers(t *testing.T) {
	for err, want := range map[error]Answer{
		nil:                                     Fenced,
		kerr.ConcurrentTransactions:             Passing,
		kerr.NotCoordinator:                     Passing,
		context.DeadlineExceeded:                Passing,
		kerr.TransactionalIDAuthorizationFailed: Refused,
		kerr.InvalidTransactionTimeout:          Refused,
	} {
		if got := AnswerOf(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
