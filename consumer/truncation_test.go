//go:build synctests

package consumer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// committedBeyond is a topic of ten records of whose partition the group has read thirty, of the same leader's epoch: the leader has lost some.
func committedBeyond(w *world) {
	w.t.Helper()
	w.topic("t", 1)
	w.writes("t", 0, 10)
	var o kadm.Offsets
	o.Add(kadm.Offset{Topic: "t", At: 30, LeaderEpoch: 0})
	if err := kadm.NewClient(w.admin).CommitAllOffsets(context.Background(), "g", o); err != nil {
		w.t.Fatal(err)
	}
}

// KIP-320: a log that has lost records which were read is read on from where it was cut, and the gap is told.
func TestATruncatedLog(t *testing.T) {
	inBubble(t, func(w *world) {
		committedBeyond(w)
		var gaps []Gap
		cfg := w.config()
		cfg.Hooks.Gap = func(g Gap) { gaps = append(gaps, g) }
		a := w.member("a", cfg, "t")
		pass(5 * time.Second)
		w.write("t", 0, "after the cut")
		pass(5 * time.Second)
		if a.count() != 1 {
			t.Errorf("%d records came, not the one that is new", a.count())
		}
		if want := []Gap{{TopicPartition{Topic: "t"}, 30, 10}}; fmt.Sprint(gaps) != fmt.Sprint(want) {
			t.Errorf("it was told of the gaps %v, not %v", gaps, want)
		}
		a.close()
		w.hasCommitted("t", map[int32]int64{0: 11})
	})
}

// With no policy the user has to know.
func TestATruncatedLogWithoutAResetPolicy(t *testing.T) {
	inBubble(t, func(w *world) {
		committedBeyond(w)
		cfg := w.config()
		cfg.Reset = None
		a := w.idler("a", cfg, "t")
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := a.Poll(ctx)
		loss, ok := errors.AsType[*kgo.ErrDataLoss](err)
		if !ok || loss.ConsumedTo != 30 || loss.ResetTo != 10 {
			t.Errorf("polling: %v", err)
		}
		a.close()
	})
}
