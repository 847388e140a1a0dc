//go:build synctests

package consumer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// A group works on brokers of every age, and says what an old one cannot do: static members are refused before Kafka 2.3 (KIP-345), stable
// offsets are missed before 2.5 (KIP-447).
func TestGroupsOnBrokersOfEveryAge(t *testing.T) {
	for _, c := range []struct {
		release        string
		static, stable bool
	}{
		{"0.11", false, false}, {"1.0", false, false}, {"2.1", false, false}, {"2.2", false, false},
		{"2.3", true, false}, {"2.4", true, false},
		{"2.5", true, true}, {"3.9", true, true}, {"4.0", true, true}, {"4.4", true, true},
	} {
		t.Run(c.release, func(t *testing.T) {
			inBubbleWith(t, map[string]string{"skein.emulate.kafka.version": c.release}, func(w *world) {
				w.topic("t", 4)
				for i := range int32(4) {
					w.writes("t", i, 5)
				}
				var log lines
				cfg := w.config()
				cfg.ReadCommitted, cfg.Logger = true, log.logger()
				a := w.member("a", cfg, "t")
				b := w.member("b", cfg, "t")
				pass(20 * time.Second)
				if got := len(a.Assignment()); got != 2 || len(b.Assignment()) != 2 {
					t.Errorf("the members have %d and %d of 4 partitions", got, len(b.Assignment()))
				}
				a.close()
				b.close()
				if a.count()+b.count() < 20 {
					t.Errorf("%d and %d of 20 records", a.count(), b.count())
				}
				if told := strings.Contains(log.take(), "knows no stable offsets"); told == c.stable {
					t.Errorf("it was told that the broker knows no stable offsets: %t", told)
				}
				again := w.member("again", w.config(), "t")
				pass(20 * time.Second)
				again.close()
				if again.count() != 0 {
					t.Errorf("%d records were read again", again.count())
				}
				w.static(c.static)
			})
		})
	}
}

// static expects that a static member is let in, or told that there is no such thing.
func (w *world) static(let bool) {
	w.t.Helper()
	cfg := w.config()
	cfg.InstanceID = "one"
	m := w.idler("static", cfg, "t")
	defer func() { _ = m.Close(context.Background()) }() // an error, when it was refused
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err := m.Poll(ctx)
	if refused := errors.Is(err, kerr.UnsupportedVersion); refused == let {
		w.t.Errorf("a static member: %v", err)
	}
	if got := len(m.Assignment()); (got == 4) != let {
		w.t.Errorf("a static member has %d partitions", got)
	}
}
