package exactlyonce

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/producer"
)

// A topic that is not there is waited for from the first record on that has failed for it, whatever is written to others.
func TestHowLongATopicIsAbsent(t *testing.T) {
	start := time.Unix(1000, 0)
	fresh := func() *absent {
		return newAbsent(Config{Producer: producer.Config{DeliveryTimeout: time.Minute}}.withDefaults())
	}
	for _, c := range []struct {
		name  string
		lives func(a *absent)
		want  string
	}{
		{"one that is tried", func(*absent) {}, "late"},
		{"another is there", func(a *absent) { a.is("early") }, "late"},
		{"it was there", func(a *absent) { a.is("late") }, ""},
		{"another is not", func(a *absent) { a.isNot("never", start.Add(30*time.Second)) }, "late"},
		{"something else has failed", func(a *absent) { a.heard("late", errors.New("brokers are away")) }, "late"},
	} {
		a := fresh()
		for at := time.Duration(0); at < 60*time.Second; at += 10 * time.Second {
			a.isNot("late", start.Add(at))
		}
		if topic, is := a.inVain(); is {
			t.Errorf("%s: %q is given up early", c.name, topic)
		}
		c.lives(a)
		a.isNot("late", start.Add(60*time.Second))
		if topic, is := a.inVain(); topic != c.want || is != (c.want != "") {
			t.Errorf("%s: %q is given up, %t", c.name, topic, is)
		}
	}
	a := fresh()
	a.isNot("late", start)
	a.isNot("late", start.Add(time.Hour))
	if topic, is := a.inVain(); is {
		t.Errorf("%q is given up, which nobody has tried for an hour", topic)
	}
}

// Of what has become of a record, two things tell.
func TestWhatTellsThatATopicIsAbsent(t *testing.T) {
	a := newAbsent(Config{}.withDefaults())
	a.heard("out", &producer.Error{Op: "sending", Class: producer.AbortAndContinue, Err: kerr.UnknownTopicOrPartition})
	if len(a.topics) != 1 {
		t.Error("nobody has heard of it")
	}
	a.heard("out", kerr.NotLeaderForPartition)
	if len(a.topics) != 1 {
		t.Error("an election says that it is there")
	}
	a.heard("out", nil)
	if len(a.topics) != 0 {
		t.Error("it is absent, with a record in it")
	}
}
