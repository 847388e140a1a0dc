//go:build synctests

package exactlyonce

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/work"
	"github.com/skeinstream/skein/producer"
)

// TestAnOutputTopicThatNeverComes ends Run, but not before a record has been tried for as long as it may be; and one that comes goes on.
func TestAnOutputTopicThatNeverComes(t *testing.T) {
	for _, comes := range []bool{false, true} {
		inBubble(t, 1, func(w *world) {
			cfg := w.config()
			cfg.Producer.DeliveryTimeout = 30 * time.Second
			w.writes(5)
			began := time.Now()
			n := w.runs("a", cfg, func(_ context.Context, b consumer.Batch, out *Out) error {
				for r := range b.Records() {
					out.Send(&producer.Record{Topic: "later", Value: r.Value})
				}
				return nil
			})
			pass(25 * time.Second)
			if comes {
				_, err := kadm.NewClient(w.admin).CreateTopic(context.Background(), 1, 1, nil, "later")
				w.ok(err)
				pass(5 * time.Minute)
				n.ends()
				if counts, _ := w.reads("later"); len(counts) != 5 {
					t.Errorf("there are %v", counts)
				}
				return
			}
			err := <-n.err
			took := time.Since(began)
			if !errors.Is(err, kerr.UnknownTopicOrPartition) || !strings.Contains(err.Error(), "later") || !strings.Contains(err.Error(), "for 30s (Producer.DeliveryTimeout)") {
				t.Errorf("Run returned %v", err)
			}
			if took < 30*time.Second || took > 90*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestAProducerIsMadeInItsOwnTime, which is not that of a transaction.
func TestAProducerIsMadeInItsOwnTime(t *testing.T) {
	for set, want := range map[time.Duration]time.Duration{0: time.Minute, 3 * time.Second: 3 * time.Second} {
		cfg := Config{Producer: producer.Config{MaxBlock: set, TransactionTimeout: time.Second}}.withDefaults()
		if got := cfg.work().Renew; got != want {
			t.Errorf("with MaxBlock %v it is tried for %v", set, got)
		}
	}
}

// TestTheEndIsHeardWhileAProducerIsMade: there is nothing to commit yet.
func TestTheEndIsHeardWhileAProducerIsMade(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		cfg := w.config()
		cfg.Consumer.Cluster.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done() // brokers that do not even refuse
			return nil, ctx.Err()
		}
		n := w.runs("a", cfg, nil)
		pass(10 * time.Second)
		began := time.Now()
		n.ends()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestWhatIsHopeless ends Run: whatever is done, it would come again.
func TestWhatIsHopeless(t *testing.T) {
	for _, err := range []error{
		kerr.OffsetMetadataTooLarge, kerr.InvalidCommitOffsetSize, kerr.InvalidGroupID, kerr.GroupAuthorizationFailed, kerr.TopicAuthorizationFailed,
	} {
		refused := &producer.Error{Op: "committing", Class: producer.AbortAndContinue, Err: fmt.Errorf("in-0: %w", err)}
		if got := outcome(refused); got != work.Hopeless {
			t.Errorf("%v is %v", refused, got)
		}
	}
	if got := outcome(&producer.Error{Class: producer.AbortAndContinue, Err: kerr.RebalanceInProgress}); got != work.Abortable {
		t.Errorf("a rebalance is %v", got)
	}
}
