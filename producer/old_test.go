//go:build synctests

package producer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// R-F5: a broker that cannot fence offsets by the group's generation is found out before anything is sent, its version named.
func TestABrokerThatCannotFence(t *testing.T) {
	inBubble(t, map[string]string{"skein.emulate.kafka.version": "2.4"}, func(w *world) {
		w.topic("in", 1)
		w.topic("out", 1)
		c := w.member("g", "in")
		defer func() { _ = c.Close(background) }()

		eager := w.producer(Config{TransactionalID: "eager", Group: "g"})
		defer func() { _ = eager.Close(background) }()
		err := eager.Begin(background)
		is(w.t, err, Fatal, ErrCannotFence)
		if !strings.Contains(err.Error(), "Kafka") || !strings.Contains(err.Error(), "upgrade the brokers") {
			w.t.Errorf("it says %v", err)
		}
		if w.count(kmsg.InitProducerID) > 0 {
			w.t.Error("a transaction was begun")
		}

		p := w.producer(Config{TransactionalID: "id"})
		defer func() { _ = p.Close(background) }()
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x")
		is(w.t, p.SendOffsets(background, offsets("in", 5), c.GroupMetadata()), Fatal, ErrCannotFence)
		is(w.t, p.Commit(background), Fatal, ErrCannotFence)
		if w.count(kmsg.TxnOffsetCommit) > 0 {
			w.t.Error("offsets were sent without a fence")
		}
		w.has("out")
	})
}

// The same where it is the client that may not speak the newer version.
func TestAClientThatMayNotFence(t *testing.T) {
	inBubble(t, nil, func(w *world) {
		w.topic("in", 1)
		c := w.member("g", "in")
		defer func() { _ = c.Close(background) }()
		cfg := Config{TransactionalID: "id"}
		cfg.Cluster.Options = []kgo.Opt{kgo.MaxVersions(kversion.V2_4_0())}
		p := w.producer(cfg)
		defer func() { _ = p.Close(background) }()
		ok(w.t, p.Begin(background))
		is(w.t, p.SendOffsets(background, offsets("in", 5), c.GroupMetadata()), Fatal, ErrCannotFence)
	})
}

// Unfenced offsets, and records, do on old brokers, too.
func TestOldBrokers(t *testing.T) {
	for _, release := range []string{"2.4", "2.5", "2.8", "3.9"} {
		t.Run(release, func(t *testing.T) {
			inBubble(t, map[string]string{"skein.emulate.kafka.version": release}, func(w *world) {
				w.topic("in", 1)
				w.topic("out", 1)
				p := w.transactional()
				defer closes(w.t, p)
				for i := range int64(3) {
					ok(w.t, p.Begin(background))
					sends(w.t, p, "out", "x")
					ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", i)))
					ok(w.t, p.Commit(background))
					ok(w.t, p.Begin(background))
					ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", 10+i)))
					ok(w.t, p.Commit(background))
				}
				w.has("out", "x", "x", "x")
				if got := w.committed("g", "in"); got != 12 {
					w.t.Errorf("the offset is %d", got)
				}
			})
		})
	}
}

// Without KIP-360 (Kafka before 2.5) nobody can prove to be still the producer: what was refused is the end of it, not of its successor.
func TestAnOldBrokerRefuses(t *testing.T) {
	inBubble(t, map[string]string{"skein.emulate.kafka.version": "2.4"}, func(w *world) {
		w.topic("out", 1)
		old, next := w.transactional(), w.transactional()
		defer func() { _ = old.Close(background) }()
		defer closes(w.t, next)
		ok(w.t, old.Begin(background))
		sends(w.t, old, "out", "old")
		ok(w.t, next.Begin(background))
		sends(w.t, next, "out", "new")
		is(w.t, old.Commit(background), Fatal, ErrFenced)
		ok(w.t, next.Commit(background))
		w.has("out", "new")
	})
}

// There the end of a transaction may be lost, too, and records be refused.
func TestLostEndsAtAnOldBroker(t *testing.T) {
	inBubble(t, map[string]string{"skein.emulate.kafka.version": "2.4"}, func(w *world) {
		w.topic("in", 1)
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		for i, loses := range []func(kmsg.Key){w.losesAnswer, w.losesRequest, w.losesAnswer} {
			ok(w.t, p.Begin(background))
			sends(w.t, p, "out", fmt.Sprint(i))
			loses(kmsg.EndTxn)
			ok(w.t, p.Commit(background))
			ok(w.t, p.Begin(background))
			sends(w.t, p, "out", "x")
			loses(kmsg.EndTxn)
			ok(w.t, p.Abort(background))
			ok(w.t, p.Begin(background))
			is(w.t, p.SendSync(background, record("nowhere", "x")), AbortAndContinue)
			ok(w.t, p.Abort(background))
			ok(w.t, p.Begin(background))
			ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", int64(i))))
			loses(kmsg.EndTxn)
			ok(w.t, p.Commit(background))
			w.meddles(nil, nil)
		}
		w.has("out", "0", "1", "2")
		if got := w.committed("g", "in"); got != 2 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}
