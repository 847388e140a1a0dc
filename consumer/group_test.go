//go:build synctests

package consumer

import (
	"testing"
	"time"
)

func TestOneMember(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.writes("t", 0, 10)
		w.writes("t", 1, 10)
		a := w.member("a", w.config(), "t")
		pass(5 * time.Second)
		a.did("assigned [t-0 t-1]")
		if a.count() != 20 {
			t.Errorf("%d records of 20", a.count())
		}
		a.close()
		a.did("revoked [t-0 t-1]")
	})
}

// Two members share a topic, one comes, one goes; every record is handled once.
func TestTwoMembers(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 4)
		a := w.member("a", w.config(), "t")
		pass(5 * time.Second)
		a.did("assigned [t-0 t-1 t-2 t-3]")
		b := w.member("b", w.config(), "t")
		pass(20 * time.Second)
		a.did("revoked [t-2 t-3]", "assigned []", "assigned []")
		b.forget("assigned []") // of the first round, unless a has begun the second before b had its answer
		b.did("assigned [t-2 t-3]")
		for p := range int32(4) {
			w.writes("t", p, 10)
		}
		pass(5 * time.Second)
		if a.count() != 20 || b.count() != 20 {
			t.Errorf("%d and %d records", a.count(), b.count())
		}
		a.close()
		a.did("revoked [t-0 t-1]")
		pass(20 * time.Second)
		b.did("assigned [t-0 t-1]")
		b.close()
	})
}
