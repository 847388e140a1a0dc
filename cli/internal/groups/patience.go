package groups

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/cli/internal/problem"
)

const askAgain = 200 * time.Millisecond

// patiently asks again while a group has no coordinator: the first question about groups has a cluster make the topic that it
// keeps them in, and the client gives up before that is done.
func patiently(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if !errors.Is(err, kerr.CoordinatorNotAvailable) {
			return err
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return &problem.Error{
				What: "the cluster has no coordinator for the group: " + ReasonText(err),
				Hint: "are enough brokers up for the topic __consumer_offsets and its replicas? their logs tell; --timeout waits longer",
				Err:  err,
			}
		}
	}
}
