//go:build synctests

package exactlyonce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/producer"
)

// diary is a log that can be read while it is written.
type diary struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (d *diary) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(b)
}

func (d *diary) logger() *slog.Logger { return slog.New(slog.NewTextHandler(d, nil)) }

// says looks for words in the log, and for others that must not be there.
func (d *diary) says(t *testing.T, words, never []string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	text := strings.ReplaceAll(d.text.String(), `\"`, `"`)
	for _, part := range words {
		if !strings.Contains(text, part) {
			t.Errorf("the log has no %q:\n%s", part, text)
		}
	}
	for _, part := range never {
		if strings.Contains(text, part) {
			t.Errorf("the log has %q:\n%s", part, text)
		}
	}
}

// TestTopicsThatAreNotThere are named, with what to do.
func TestTopicsThatAreNotThere(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		var log diary
		cfg := w.config()
		cfg.Logger, cfg.Consumer.Logger = log.logger(), log.logger()
		cfg.Topics = []string{"in", "inn"}
		n := w.runs("a", cfg, func(_ context.Context, b consumer.Batch, out *Out) error {
			for range b.Records() {
				out.Send(&producer.Record{Topic: "outt"})
			}
			return nil
		})
		w.writes(1)
		pass(10 * time.Second)
		n.quit()
		w.ok(<-n.err)
		log.says(t, []string{"a record to outt was not written", "create the topic first", "topic=inn"}, []string{"topic=in "})
	})
}

// TestATimeoutThatTheBrokerRefuses ends Run with one sentence, and with no promise to try again.
func TestATimeoutThatTheBrokerRefuses(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		var log diary
		cfg := w.config()
		cfg.Logger, cfg.Producer.TransactionTimeout = log.logger(), time.Hour
		err := <-w.runs("a", cfg, nil).err
		if !errors.Is(err, kerr.InvalidTransactionTimeout) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "call it again") {
			t.Errorf("Run returned %v", err)
		}
		log.says(t, nil, []string{"trying again"})
	})
}

// TestWhoIsPutOutSaysSoOnce, and not again for the consumer that is closed.
func TestWhoIsPutOutSaysSoOnce(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		cfg := w.config()
		cfg.Consumer.InstanceID = "host-1"
		a := w.runs("a", cfg, nil)
		pass(5 * time.Second)
		b := w.runs("b", cfg, nil)
		pass(30 * time.Second)
		if err := <-a.err; !errors.Is(err, kerr.FencedInstanceID) || strings.Count(err.Error(), "FENCED_INSTANCE_ID") != 1 {
			t.Errorf("Run returned %v", err)
		}
		b.ends()
	})
}

// TestALetterIsInTheLog, and nobody is told to set what is set.
func TestALetterIsInTheLog(t *testing.T) {
	inBubble(t, 1, func(w *world) {
		var log diary
		cfg := w.config()
		cfg.Logger, cfg.Poison = log.logger(), PoisonPolicy{Retries: 1, DeadLetter: "dead"}
		n := w.runs("a", cfg, chokes(100, "0#2"))
		w.writes(4)
		pass(10 * time.Second)
		n.ends()
		log.says(t, []string{"a record is given up", `record="in-0 at offset 2"`, "topic=dead", errPoison.Error()}, []string{"give Config.Poison a DeadLetter"})
	})
}

// TestSettingsThatCannotBe are named in the error.
func TestSettingsThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"Consumer.Group":              func(c *Config) { c.Consumer.Group = "" },
		"Producer.TransactionTimeout": func(c *Config) { c.Producer.TransactionTimeout = -time.Second },
		"Interval":                    func(c *Config) { c.Interval = time.Minute },
		"TransactionalIDPrefix":       func(c *Config) { c.TransactionalIDPrefix = "app" },
		"TransactionalIDOf": func(c *Config) {
			c.TransactionalIDOf = func(tp consumer.TopicPartition) string { return fmt.Sprint(tp) }
		},
		"Producers: OnePerPartition": func(c *Config) { c.UpgradeFrom = "2.4" },
		"Producer: BatchBytes":       func(c *Config) { c.Producer.BatchBytes = 10 },
		"Producer: MaxBlock":         func(c *Config) { c.Producer.MaxBlock = -1 },
		"Consumer.Publish":           func(c *Config) { c.Consumer.Publish = []byte("mine") },
	} {
		cfg := Config{Consumer: consumer.Config{Group: "g"}, Topics: []string{"in"}}
		change(&cfg)
		if _, err := New(cfg, copies); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
