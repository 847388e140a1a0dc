//go:build synctests

package exactlyonce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/consumer"
)

var errPoison = errors.New("no invoice has minus three items")

// chokes cannot process some records, after it has sent part of what follows from them; times is how often, of each.
func chokes(times int32, on ...string) Func {
	tried := map[string]*atomic.Int32{}
	for _, name := range on {
		tried[name] = new(atomic.Int32)
	}
	return func(ctx context.Context, b consumer.Batch, out *Out) (err error) {
		_ = copies(ctx, b, out)
		for r := range b.Records() {
			if n := tried[string(r.Value)]; n != nil && n.Add(1) <= times {
				err = errors.Join(err, Poison(r, errPoison))
			}
		}
		return err
	}
}

func TestAPoisonRecordEndsRun(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.writes(10)
		n := w.runs("a", w.config(), chokes(1, "0#7"))
		err := <-n.err
		if !errors.Is(err, errPoison) || !strings.Contains(err.Error(), "in-0 at offset 7") || !strings.Contains(err.Error(), "DeadLetter") {
			t.Errorf("Run returned %v", err)
		}
		if counts, _ := w.reads("out"); len(counts) > 0 {
			t.Errorf("%d records are seen", len(counts))
		}
	})
}

// TestAPoisonRecordIsTriedAgain, with nothing of what was sent before it being seen.
func TestAPoisonRecordIsTriedAgain(t *testing.T) {
	inBubble(t, 2, func(w *world) {
		w.writes(20)
		cfg := w.config()
		cfg.Poison = PoisonPolicy{Retries: 5, Backoff: time.Second}
		n := w.runs("a", cfg, chokes(3, "0#7"))
		pass(5 * time.Second)
		if counts, _ := w.reads("out"); counts["0#7"] > 0 {
			t.Error("it was processed too early")
		}
		pass(10 * time.Second)
		w.judges()
		if s := n.Stats(); s.Poisoned != 3 || s.Aborted[Poisoned] != 3 {
			t.Errorf("the figures are %+v", s)
		}
		n.ends()
	})
}

// TestPoisonRecordsArePassedOver in the transaction of those around them, and written down.
func TestPoisonRecordsArePassedOver(t *testing.T) {
	inBubble(t, 2, func(w *world) {
		w.writes(20)
		cfg := w.config()
		cfg.Poison = PoisonPolicy{Retries: 1, DeadLetter: "dead"}
		n := w.runs("a", cfg, chokes(100, "0#7", "0#8", "1#19"))
		pass(10 * time.Second)
		counts, _ := w.reads("out")
		_, dead := w.reads("dead")
		for p := range w.sent {
			for i := range 20 {
				want := 1
				if name := fmt.Sprintf("%d#%d", p, i); name == "0#7" || name == "0#8" || name == "1#19" {
					want = 0
				}
				if got := counts[fmt.Sprintf("%d#%d", p, i)]; got != want {
					t.Errorf("%d#%d is there %d times", p, i, got)
				}
			}
		}
		var letters []string
		for _, r := range dead {
			letters = append(letters, letterOf(r))
		}
		slices.Sort(letters)
		if want := []string{
			"0#7 of in-0 at 7 in g: " + errPoison.Error(), "0#8 of in-0 at 8 in g: " + errPoison.Error(), "1#19 of in-1 at 19 in g: " + errPoison.Error(),
		}; !slices.Equal(letters, want) {
			t.Errorf("the letters are %q", letters)
		}
		if s := n.Stats(); s.DeadLetters != 3 || s.RecordsIn != 40 || s.RecordsOut != 40 {
			t.Errorf("the figures are %+v", s)
		}
		n.ends()
	})
}

func letterOf(r *kgo.Record) string {
	h := map[string]string{}
	for _, x := range r.Headers {
		h[x.Key] = string(x.Value)
	}
	return fmt.Sprintf("%s of %s-%s at %s in %s: %s", r.Value, h[HeaderTopic], h[HeaderPartition], h[HeaderOffset], h[HeaderGroup], h[HeaderError])
}

// TestPoisonUnderConcurrency: the other calls are told to end, and their records processed again.
func TestPoisonUnderConcurrency(t *testing.T) {
	inBubble(t, 4, func(w *world) {
		w.writes(20)
		cfg := w.config()
		cfg.Concurrency, cfg.Poison = 4, PoisonPolicy{Retries: 3}
		n := w.runs("a", cfg, chokes(2, "0#7", "3#0"))
		pass(10 * time.Second)
		w.judges()
		n.ends()
	})
}

func TestPoisonsAreFoundInErrors(t *testing.T) {
	r := &consumer.Record{Topic: "in", Offset: 3}
	poison := Poison(r, errPoison)
	other := errors.New("other")
	for name, c := range map[string]struct {
		err   error
		found int
		rest  bool
	}{
		"none":    {nil, 0, false},
		"one":     {poison, 1, false},
		"joined":  {errors.Join(poison, poison), 2, false},
		"wrapped": {fmt.Errorf("batch 3: %w", poison), 1, false},
		"mixed":   {errors.Join(poison, other), 1, true},
		"other":   {other, 0, true},
	} {
		found, rest := poisons(c.err)
		if len(found) != c.found || (rest != nil) != c.rest {
			t.Errorf("%s: %d found, and %v", name, len(found), rest)
		}
	}
}
