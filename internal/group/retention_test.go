package group

import (
	"testing"
	"time"
)

// R-D19: what an offset's time is counted from, by the group's type and state. A loaded group of an old record does not
// know since when it is Empty.
func TestExpirationBase(t *testing.T) {
	since := time.UnixMilli(1000)
	for _, c := range []struct {
		protocolType string
		state        State
		since        time.Time
		want         expiration
	}{
		{"", Empty, time.Time{}, sinceCommit},
		{"", Empty, since, sinceCommit}, // its first Join was refused (R-K2)
		{"consumer", Empty, since, sinceEmpty},
		{"connect", Empty, since, sinceEmpty},
		{"consumer", Empty, time.Time{}, sinceCommit},
		{"consumer", Stable, since, sinceCommit},
		{"consumer", PreparingRebalance, since, never},
		{"consumer", CompletingRebalance, since, never},
		{"connect", Stable, since, never},
	} {
		g := &Group{protocolType: c.protocolType, state: c.state, stateSince: c.since}
		if got := g.expiration(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// R-D19: an offset ends when the retention is over, to the millisecond; its own expiry goes before the group's.
func TestHasExpired(t *testing.T) {
	g := &Group{stateSince: time.UnixMilli(5000)}
	own := &commitDetail{expires: 9000}
	for _, c := range []struct {
		of   committed
		base expiration
		now  int64
		want bool
	}{
		{committed{at: 1000}, sinceCommit, 1999, false},
		{committed{at: 1000}, sinceCommit, 2000, true},
		{committed{at: 1000}, sinceEmpty, 5999, false},
		{committed{at: 1000}, sinceEmpty, 6000, true},
		{committed{at: 7000}, sinceEmpty, 6000, true}, // committed to the group as it is now
		{committed{at: 1000, more: own}, sinceCommit, 8999, false},
		{committed{at: 1000, more: own}, sinceEmpty, 9000, true},
		{committed{at: 1000, more: &commitDetail{metadata: "m", expires: noExpiry}}, sinceCommit, 2000, true},
	} {
		if got := g.hasExpired(&c.of, c.base, time.UnixMilli(c.now), time.Second); got != c.want {
			t.Errorf("%+v since %d at %d: %v", c.of, c.base, c.now, got)
		}
	}
}

// A check looks at every group but writes in order of their names, whatever order a map has.
func TestExpiryIsInOrder(t *testing.T) {
	w := newWorld(t, offsetSettings())
	for _, g := range []string{"c", "a", "e", "b", "d"} {
		for _, topic := range []string{"y", "x"} {
			w.commit(commitOf(g, topic, 1, 1))
			w.commit(commitOf(g, topic, 0, 1))
		}
	}
	w.last = nil
	w.advance(w.settings.OffsetsRetention + w.settings.OffsetsRetentionCheck)
	var got []string
	for _, r := range w.last {
		got = append(got, describeRecord(r))
	}
	var want []string
	for _, g := range []string{"a", "b", "c", "d", "e"} {
		for _, place := range []string{"x/0", "x/1", "y/0", "y/1"} {
			want = append(want, "offset of "+g+" in "+place+": tombstone")
		}
		want = append(want, "group: tombstone")
	}
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d: %q", len(got), len(want), got)
	}
	for i := range want {
		expect(t, "record", got[i], want[i])
	}
	expect(t, "counted", w.m.totals.expired, 20)
	if counts := w.ask(Count{}).(Counts); counts.Offsets != 0 || counts.Expired != 20 || counts.Commits != 20 {
		t.Errorf("%+v", counts)
	}
	expect(t, "groups left", len(w.m.groups), 0)
}
