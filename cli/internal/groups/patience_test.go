package groups

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestACoordinatorIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		asked := 0
		ask := func(until int) func() error {
			return func() error {
				if asked++; asked < until {
					return fmt.Errorf("describing: %w", kerr.CoordinatorNotAvailable)
				}
				return kerr.GroupIDNotFound
			}
		}
		if err := patiently(ctx, ask(5)); !errors.Is(err, kerr.GroupIDNotFound) || asked != 5 {
			t.Errorf("asked %d times: %v", asked, err)
		}
		began := time.Now()
		err := patiently(ctx, ask(1<<30))
		if !errors.Is(err, kerr.CoordinatorNotAvailable) || time.Since(began) > 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
