package txns

import (
	"regexp"
	"testing"
	"time"
)

func TestListsShowWhomTheyShould(t *testing.T) {
	l := Listed{ID: "orders-1", State: "Ongoing", ProducerID: 7, Coordinator: Broker{ID: 1}}
	for _, c := range []struct {
		f    Filter
		want bool
	}{
		{Filter{}, true},
		{Filter{States: []string{"Empty", "Ongoing"}}, true},
		{Filter{States: []string{"Empty"}}, false},
		{Filter{Producers: []int64{6, 7}}, true},
		{Filter{Producers: []int64{8}}, false},
		{Filter{Pattern: "orders-*"}, true},
		{Filter{Pattern: "orders-?"}, true},
		{Filter{Pattern: "orders"}, false},
		{Filter{Pattern: "orders-[2-9]"}, false},
		{Filter{Longer: time.Minute}, true},
	} {
		if got := c.f.Fits(l); got != c.want {
			t.Errorf("%+v: %v", c.f, got)
		}
	}
	for state, want := range map[string]bool{"Ongoing": true, "PrepareCommit": true, "PrepareAbort": true, "Empty": false, "CompleteCommit": false, "CompleteAbort": false, "Dead": false} {
		l.State = state
		if got := (Filter{Longer: time.Second}).Fits(l); got != want {
			t.Errorf("%s has an open transaction: %v", state, got)
		}
	}
}

func TestAgesAreThoseOfOpenTransactions(t *testing.T) {
	for _, c := range []struct {
		t       Transaction
		open    bool
		longer  time.Duration
		fits    bool
		overdue bool
	}{
		{idOf(7, 3, "Ongoing"), true, time.Minute, true, false},
		{idOf(7, 3, "Ongoing"), true, 2 * time.Minute, true, false},
		{idOf(7, 3, "Ongoing"), true, 3 * time.Minute, false, false},
		{hasty(idOf(7, 3, "Ongoing")), true, 0, true, true},
		{hasty(idOf(7, 3, "PrepareAbort")), true, 0, true, false},
		{idOf(7, 3, "CompleteAbort"), false, time.Minute, false, false},
		{idOf(7, 3, "CompleteAbort"), false, 0, true, false},
		{Transaction{State: "Ongoing"}, false, time.Minute, false, false},
	} {
		c.t.At(epoch0)
		age, open := c.t.Age()
		if open != c.open || open && age != 2*time.Minute || c.t.Overdue != c.overdue || (Filter{Longer: c.longer}).FitsAge(c.t) != c.fits {
			t.Errorf("%+v, longer than %v: age %v, %v", c.t, c.longer, age, open)
		}
	}
	late := hasty(idOf(7, 3, "Ongoing"))
	if late.At(late.Started.Add(-time.Hour)); *late.AgeMs != 0 {
		t.Errorf("%d: a clock behind the coordinator's", *late.AgeMs)
	}
}

// TestBrokersSearchForNoLess than what is asked for.
func TestBrokersSearchForNoLess(t *testing.T) {
	for pattern, id := range map[string]string{"orders-*": "orders-1", "*": "x", "a.b?": "a.bc", "(x)+*": "(x)+y", "ä*": "äb", "$": "$"} {
		f := Filter{Pattern: pattern}
		re, err := regexp.Compile("^(?:" + f.Regexp() + ")$")
		if err != nil || !re.MatchString(id) || !f.Fits(Listed{ID: id}) {
			t.Errorf("%s is %s, %v", pattern, f.Regexp(), err)
		}
	}
	if got := (Filter{Pattern: "a.b"}).Regexp(); got != `a\.b` {
		t.Errorf("%s", got)
	}
	for _, pattern := range []string{"", "[ab]*", `a\*`} {
		if got := (Filter{Pattern: pattern}).Regexp(); got != "" {
			t.Errorf("%s is %s", pattern, got)
		}
	}
}
