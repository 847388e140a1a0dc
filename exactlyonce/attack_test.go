//go:build synctests

package exactlyonce

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/producer"
)

// breaksOff runs a program that ends in the middle of its third call by what is given, after it has sent half of what follows from it.
func (w *world) breaksOff(cfg Config, how func()) {
	w.t.Helper()
	calls := 0
	cfg.Consumer.Cluster = client.Config{Brokers: []string{"skein:9092"}, Dial: w.b.Dialer()}
	cfg.Consumer.MaxPollRecords, cfg.Interval = 2, 5*time.Second
	p, err := New(cfg, func(ctx context.Context, b consumer.Batch, out *Out) error {
		for r := range b.Records() {
			out.Send(&producer.Record{Topic: "out", Key: r.Key, Value: r.Value})
			if calls++; calls == 5 {
				how()
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() { _ = recover() }()
		err := p.Run(context.Background())
		w.t.Errorf("Run has returned %v", err)
	}()
	<-over
}

// A function that panics, or ends its goroutine, has half of what follows from a batch in the transaction. What was processed before it is in the same
// one, and is not committed with that on the way out.
func TestAFunctionThatPanicsCommitsNothingOfItsBatch(t *testing.T) {
	for name, how := range map[string]func(){"panic": func() { panic("by the user") }, "Goexit": runtime.Goexit} {
		for mode, producers := range map[string]Producers{"one": OnePerMember, "lanes": OnePerPartition} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				inBubble(t, 1, func(w *world) {
					w.writes(10)
					cfg := w.config()
					cfg.Producers = producers
					w.breaksOff(cfg, how)
					n := w.runs("b", w.config(), nil)
					pass(time.Minute)
					n.ends()
					w.judges()
				})
			})
		}
	}
}

// A call beside others that ends its goroutine is none that has gone well.
func TestACallThatDoesNotReturnEndsRun(t *testing.T) {
	inBubble(t, 2, func(w *world) {
		w.writes(5)
		cfg := w.config()
		cfg.Concurrency = 2
		n := w.runs("a", cfg, func(ctx context.Context, b consumer.Batch, out *Out) error {
			_ = copies(ctx, b, out)
			runtime.Goexit()
			return nil
		})
		if err := <-n.err; !errors.Is(err, errGone) {
			w.t.Errorf("Run has returned %v", err)
		}
		n = w.runs("b", w.config(), nil)
		pass(time.Minute)
		n.ends()
		w.judges()
	})
}

// What a function does wrong for good ends Run with a word about it, and neither a panic nor tries for ever.
func TestNonsenseOfTheFunctionEndsRun(t *testing.T) {
	for name, c := range map[string]struct {
		process Func
		want    error
	}{
		"poison of no record": {func(context.Context, consumer.Batch, *Out) error { return Poison(nil, errors.New("x")) }, errNoRecord},
		"no record":           {func(_ context.Context, _ consumer.Batch, out *Out) error { out.Send(nil); return nil }, kerr.InvalidTopicException},
		"no topic": {func(_ context.Context, _ consumer.Batch, out *Out) error { out.Send(new(producer.Record)); return nil },
			kerr.InvalidTopicException},
		"too large": {func(_ context.Context, _ consumer.Batch, out *Out) error {
			out.Send(&producer.Record{Topic: "out", Value: make([]byte, 2<<20)})
			return nil
		}, kerr.MessageTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(w *world) {
				w.writes(3)
				n := w.runs("a", w.config(), c.process)
				select {
				case err := <-n.err:
					if !errors.Is(err, c.want) {
						w.t.Errorf("Run has returned %v", err)
					}
				case <-time.After(5 * time.Minute):
					w.t.Error("Run goes on")
					n.quit()
					<-n.err
				}
			})
		})
	}
}

// No record is none, too, of a call that has returned: that ends Run, and not the goroutine that has sent it.
func TestNoRecordAfterTheCall(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		w.writes(3)
		kept := make(chan *Out, 1)
		n := w.runs("a", w.config(), func(_ context.Context, _ consumer.Batch, out *Out) error {
			select {
			case kept <- out:
			default:
			}
			return nil
		})
		pass(5 * time.Second)
		(<-kept).Send(nil)
		w.writes(3)
		if err := <-n.err; !errors.Is(err, errOutlived) {
			w.t.Errorf("Run has returned %v", err)
		}
	})
}

// A consumer that is closed ends a Run that goes on after errors of Poll.
func TestAConsumerThatIsClosedEndsRun(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		cfg := w.config()
		cfg.Consumer.Reset = consumer.None // and there is no offset: an error of Poll
		made := make(chan *node, 1)
		cfg.PollError = func(error) error {
			n := <-made
			w.ok(n.Consumer().Close(context.Background()))
			return nil
		}
		n := w.runs("a", cfg, nil)
		made <- n
		if err := <-n.err; !errors.Is(err, consumer.ErrClosed) {
			w.t.Errorf("Run has returned %v", err)
		}
	})
}

// Keys are dealt out to no more calls than there are records.
func TestAnyConcurrency(t *testing.T) {
	inBubble(t, 2, func(w *world) {
		w.writes(20)
		cfg := w.config()
		cfg.By, cfg.Concurrency, cfg.Interval, cfg.MaxRecords = ByKey, math.MaxInt, -1, 7
		n := w.runs("a", cfg, nil)
		pass(time.Minute)
		n.ends()
		w.judges()
	})
}

func TestChoicesThatThereAreNot(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"no By 2": func(c *Config) { c.By = 2 }, "no Producers 2": func(c *Config) { c.Producers = 2 },
	} {
		cfg := Config{Consumer: consumer.Config{Group: "g"}, Topics: []string{"in"}}
		change(&cfg)
		if _, err := New(cfg, copies); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
