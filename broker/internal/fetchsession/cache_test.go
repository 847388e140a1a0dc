package fetchsession

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// counter draws 1, 2, 3…
func counter() func() int32 {
	n := int32(0)
	return func() int32 { n++; return n }
}

// fill makes a cache whose sessions have so many partitions each; their ids are 1, 2, 3…
func fill(t *testing.T, slots int, now int64, partitions ...int) *Cache {
	t.Helper()
	c := New(slots, counter())
	for i, n := range partitions {
		if id := keep(c, n, now); id != int32(i+1) {
			t.Fatalf("session %d was kept as %d", i+1, id)
		}
	}
	return c
}

func keep(c *Cache, partitions int, now int64) int32 {
	var s Session
	s.Reset(false)
	for i := range partitions {
		s.Put(name(int32(i)), Want{})
	}
	return c.Keep(&s, Head{}, now)
}

// use sends one request of the session at the epoch.
func use(t *testing.T, c *Cache, id, epoch int32, now int64) {
	t.Helper()
	s, err := c.Begin(Head{ID: id, Epoch: epoch}, nil)
	if err != nil {
		t.Fatalf("session %d epoch %d: %v", id, epoch, err)
	}
	if !c.Settle(s, now) {
		t.Fatal("the session ended")
	}
	if c.Return(s) {
		t.Fatal("overtaken")
	}
}

func TestEpochsOrderRequests(t *testing.T) {
	c := fill(t, 1, 0, 1)
	for epoch := int32(1); epoch < 4; epoch++ {
		use(t, c, 1, epoch, 0)
	}
	tests := []struct {
		name string
		head Head
		want error
	}{
		{"an old epoch", Head{ID: 1, Epoch: 3}, ErrEpoch},
		{"an epoch too many", Head{ID: 1, Epoch: 5}, ErrEpoch},
		{"an unknown session", Head{ID: 2, Epoch: 4}, ErrNotFound},
		{"no session but an epoch", Head{ID: 0, Epoch: 4}, ErrNotFound},
		{"a negative epoch", Head{ID: 0, Epoch: -5}, ErrNotFound},
		{"topic ids in a session by name", Head{ID: 1, Epoch: 4, ByID: true}, ErrTopicIDs},
	}
	for _, test := range tests {
		if _, err := c.Begin(test.head, nil); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	use(t, c, 1, 4, 0) // a refused request moves nothing
}

func TestEpochWrapsToOne(t *testing.T) {
	if got := nextEpoch(math.MaxInt32); got != 1 {
		t.Errorf("%d follows the last epoch, want 1", got)
	}
}

func TestFullRequestEndsTheSessionItNames(t *testing.T) {
	for _, epoch := range []int32{epochInitial, epochFinal} {
		c := fill(t, 2, 0, 1)
		var scratch Session
		s, err := c.Begin(Head{ID: 1, Epoch: epoch}, &scratch)
		if err != nil || s != &scratch || s.Incremental() {
			t.Fatalf("epoch %d: %v, %v", epoch, s, err)
		}
		if n, _ := c.Stats(); n != 0 {
			t.Errorf("epoch %d: the session is still there", epoch)
		}
		kept := c.Keep(s, Head{Epoch: epoch}, 0)
		if (kept != 0) != (epoch == epochInitial) {
			t.Errorf("epoch %d: session %d", epoch, kept)
		}
	}
}

func TestSessionWithoutPartitionsEnds(t *testing.T) {
	c := fill(t, 1, 0, 2)
	s, _ := c.Begin(Head{ID: 1, Epoch: 1}, nil)
	s.Forget(name(0))
	s.Forget(name(1))
	if c.Settle(s, 0) {
		t.Error("it goes on")
	}
	if n, partitions := c.Stats(); n != 0 || partitions != 0 {
		t.Errorf("%d sessions of %d partitions are left", n, partitions)
	}
}

// TestOvertakenFetch: the client gave up on a fetch and sends the next one on another connection.
func TestOvertakenFetch(t *testing.T) {
	c := fill(t, 1, 0, 1)
	s, err := c.Begin(Head{ID: 1, Epoch: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Settle(s, 0)
	if _, err := c.Begin(Head{ID: 1, Epoch: 2}, nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("the second: %v", err)
	}
	if !c.Return(s) {
		t.Error("the first may still answer")
	}
}

func TestEviction(t *testing.T) {
	const later = EvictAfter + 1
	t.Run("young sessions stay", func(t *testing.T) {
		c := fill(t, 2, 0, 1, 1)
		if id := keep(c, 100, EvictAfter); id != 0 {
			t.Errorf("session %d was kept", id)
		}
	})
	t.Run("an unused one goes", func(t *testing.T) {
		c := fill(t, 2, 0, 5, 5)
		use(t, c, 1, 1, later)
		if keep(c, 1, later) == 0 {
			t.Error("no room was made")
		}
		if _, err := c.Begin(Head{ID: 2, Epoch: 1}, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("the unused session: %v", err)
		}
		use(t, c, 1, 2, later)
	})
	t.Run("a smaller old one goes, an equal one stays", func(t *testing.T) {
		c := fill(t, 2, 0, 3, 9)
		use(t, c, 1, 1, later)
		use(t, c, 2, 1, later)
		if keep(c, 3, later) != 0 {
			t.Error("pushed out one of the same size")
		}
		if keep(c, 4, later) == 0 {
			t.Error("no room was made")
		}
		if _, err := c.Begin(Head{ID: 1, Epoch: 2}, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("the small session: %v", err)
		}
	})
	t.Run("no slots, no sessions", func(t *testing.T) {
		if keep(New(0, counter()), 1, 0) != 0 {
			t.Error("kept")
		}
	})
}

func TestIDsAreNeverTakenTwiceNorZero(t *testing.T) {
	draws := []int32{0, math.MinInt32, 5, 5, -5}
	c := New(3, func() int32 { d := draws[0]; draws = draws[1:]; return d })
	for _, want := range []int32{5, math.MaxInt32 - 4} {
		if got := keep(c, 1, 0); got != want {
			t.Errorf("id %d, want %d", got, want)
		}
	}
}

func TestStats(t *testing.T) {
	c := fill(t, 4, 0, 2, 3)
	s, _ := c.Begin(Head{ID: 1, Epoch: 1}, nil)
	s.Put(name(50), Want{})
	c.Settle(s, 0)
	if n, partitions := c.Stats(); n != 2 || partitions != 6 {
		t.Errorf("%d sessions of %d partitions, want 2 of 6", n, partitions)
	}
}

var megabyte = strings.Repeat("m", 1<<20)

// TestMemoryOfAllSessionsIsBounded: a few clients must not hold it all, by partitions, by names or by what they forgot.
func TestMemoryOfAllSessionsIsBounded(t *testing.T) {
	const partitions = 10_000
	for name, build := range map[string]func(*Session){
		"partitions": func(s *Session) {
			for i := range int32(partitions) {
				s.Put(name(i), Want{})
			}
		},
		"names": func(s *Session) { s.Put(Key{Topic: megabyte}, Want{}) },
		"forgotten": func(s *Session) {
			for i := range int32(partitions) {
				s.Put(name(i), Want{})
			}
			for i := range int32(partitions - 1) {
				s.Forget(name(i))
			}
		},
	} {
		var s Session
		s.Reset(false)
		build(&s)
		c := New(math.MaxInt32, counter())
		kept := 0
		for ; kept <= bytesMax; kept++ {
			if copied := s; c.Keep(&copied, Head{}, 0) == 0 {
				break
			}
		}
		if most := bytesMax / s.memory(); kept != most || c.bytes > bytesMax {
			t.Errorf("%s: %d sessions were kept, with %d bytes; want %d", name, kept, c.bytes, most)
		}
		if id := keep(c, 1, EvictAfter+1); id == 0 {
			t.Errorf("%s: those that nobody uses stay", name)
		}
	}
}

// TestGrownSessionEndsWhenThereIsNoRoom: its client begins anew, without one.
func TestGrownSessionEndsWhenThereIsNoRoom(t *testing.T) {
	c := New(2, counter())
	keep(c, 1, 0)
	s, err := c.Begin(Head{ID: 1, Epoch: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(bytesMax >> 20) {
		s.Put(Key{Topic: megabyte, Index: i}, Want{})
	}
	if !c.Settle(s, 0) || !c.Return(s) {
		t.Error("the answer is sent, want it taken back")
	}
	if sessions, partitions := c.Stats(); sessions != 0 || partitions != 0 || c.bytes != 0 {
		t.Errorf("%d sessions, %d partitions and %d bytes are left", sessions, partitions, c.bytes)
	}
}
