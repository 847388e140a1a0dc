//go:build synctests

package consumer

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// calls are the rosters of a group, whoever leads it.
type calls struct {
	mu   sync.Mutex
	told []string
}

// publisher is a member that publishes its name.
func (c *calls) publisher(w *world, name string) *member {
	cfg := w.config()
	cfg.Publish, cfg.SessionTimeout, cfg.HeartbeatInterval = []byte(name), 6*time.Second, time.Second
	cfg.Hooks.Roster = func(r Roster) {
		c.mu.Lock()
		defer c.mu.Unlock()
		told := fmt.Sprintf("%s: %s, missing %s", name, r.Present, r.Missing)
		if !slices.Contains(c.told, told) { // the rounds of one change of the group say the same
			c.told = append(c.told, told)
		}
	}
	return w.member(name, cfg, "t")
}

func (c *calls) are(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.Join(c.told, "\n") != strings.Join(want, "\n") {
		t.Errorf("rosters were\n%s\ninstead of\n%s", strings.Join(c.told, "\n"), strings.Join(want, "\n"))
	}
	c.told = nil
}

// again is a rebalance for no reason.
func again(t *testing.T, m *member) {
	t.Helper()
	if err := m.EnforceRebalance("nothing has changed"); err != nil {
		t.Fatal(err)
	}
	pass(5 * time.Second)
}

// Whoever leads sees who publishes, and misses each that has gone: also one that led, and has told the others; and one that comes and leads at once
// knows what they know. In the next round that one is missed once more, since the leader may have died over it (R-F8), and then no more.
func TestRosters(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 6)
		var c calls
		a := c.publisher(w, "a")
		pass(5 * time.Second)
		b := c.publisher(w, "b")
		pass(5 * time.Second)
		plain := w.member("plain", w.config(), "t")
		pass(5 * time.Second)
		c.are(t, "a: [a], missing []", "a: [a b], missing []")
		a.close()
		pass(5 * time.Second)
		c.are(t, "b: [b], missing [a]")
		again(t, b)
		c.are(t, "b: [b], missing [a]")
		again(t, b)
		c.are(t, "b: [b], missing []")
		d := c.publisher(w, "d")
		pass(5 * time.Second)
		c.are(t, "b: [b d], missing []")
		b.close()
		plain.close()
		pass(5 * time.Second)
		c.are(t, "d: [d], missing [b]")
		again(t, d)
		c.are(t, "d: [d], missing [b]")
		again(t, d)
		c.are(t, "d: [d], missing []")
		d.close()
	})
}

// A member that was taken for dead, and joins under another name of the broker's, is nobody new; while it was away it was missed.
func TestARosterKnowsWhoComesBack(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 6)
		var c calls
		cut := c.publisher(w, "cut")
		pass(5 * time.Second)
		w.mu.Lock()
		mine := w.conns
		w.conns = nil
		w.mu.Unlock()
		other := c.publisher(w, "other")
		pass(5 * time.Second)
		c.are(t, "cut: [cut], missing []", "cut: [cut other], missing []")
		first := cut.GroupMetadata().Member
		again(t, cut)
		c.are(t, "cut: [cut other], missing []")
		for _, conn := range mine { // it dials again: nobody misses it for that
			_ = conn.Close()
		}
		pass(5 * time.Second)
		c.are(t)
		cut.stops() // and does not poll: it leaves after the poll interval, and is back with the next poll
		pass(6 * time.Minute)
		c.are(t, "other: [other], missing [cut]")
		cut.starts()
		pass(5 * time.Second)
		c.are(t, "other: [cut other], missing []")
		if again := cut.GroupMetadata().Member; again == first {
			t.Errorf("it is %q again", again)
		}
		cut.close()
		other.close()
	})
}
