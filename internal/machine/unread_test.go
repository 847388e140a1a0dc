package machine

import (
	"errors"
	"fmt"
	"testing"
)

// What could not be read is told once for each reason, whoever was first, and however many reasons there are: some.
func TestUnread(t *testing.T) {
	var u Unread
	if u.Any() || len(u.Take("none")) > 0 {
		t.Error("there is one from the start")
	}
	for range 3 {
		u.Add(errors.New("second"))
	}
	u.Add(errors.New("first"))
	if !u.Any() {
		t.Error("there is none")
	}
	got := fmt.Sprint(u.Take("passed over"))
	if want := "[{WARN passed over [reason=first records=1]} {WARN passed over [reason=second records=3]}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for i := range 1000 {
		u.Add(fmt.Errorf("reason %d", i))
	}
	if n := len(u.Take("again")); n != unreadMost {
		t.Errorf("%d reasons", n)
	}
}
